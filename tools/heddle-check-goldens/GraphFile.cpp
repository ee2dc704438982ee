//===- GraphFile.cpp - checks a block that is written as a graph ----------===//
//
// FILE.mlir beside FILE.safetensors has one entry, `block`, whose arguments and
// results have the names of the file's tensors: input.*, weights, output.*.
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include "ArgumentSet.h"
#include "Tokens.h"
#include "Tolerance.h"

namespace heddle::goldens {

static Status runGraph(const SafetensorsFile &file, const run::Module &module, Session &session,
                       Report &report) {
  Result<Tolerance> limits = Tolerance::ofBlocks(metadataText(file, "tolerance"));
  if (!limits)
    return limits.failure();
  Result<const run::Entry *> entry = module.findEntry("block");
  if (!entry)
    return entry.failure();
  run::ArgumentSet arguments(**entry);
  for (const auto &[name, tensor] : file.tensors()) {
    const run::Argument *argument = (*entry)->find(name);
    if (!argument)
      return Failure{"the graph has no place for " + name};
    if (argument->kind == run::Kind::Output)
      continue;
    if (Status status = arguments.giveOwned(name, convert(tensor, argument->dtype), name); !status)
      return status;
  }
  if (Status status = arguments.allocate(nullptr); !status)
    return status;
  if (Status status = arguments.call(module, {session.threads}); !status)
    return status;
  for (const auto &[name, tensor] : file.tensors())
    if ((*entry)->find(name)->kind == run::Kind::Output)
      report.compare(name, arguments.view(name), tensor,
                     name == "output.lse"
                         ? Tolerance::ofOperation().limit(session.type, Quantity::LogSumExp)
                         : limits->limit(session.type));
  return {};
}

void checkGraphFile(const SafetensorsFile &file, const std::string &graph, Session &session,
                    Report &report) {
  Result<std::string> text = readGraph(graph, session.type);
  if (!text)
    return report.fail("graph", "can't interpret: " + text.error());
  session.forEachVariant(report, [&](const LoadOptions &options) -> Status {
    Result<mlir::OwningOpRef<mlir::ModuleOp>> parsed = session.loader.parse(*text, graph);
    if (!parsed)
      return parsed.failure();
    Result<run::Module> module = session.load(**parsed, options);
    return module ? runGraph(file, *module, session, report) : module.failure();
  });
}

} // namespace heddle::goldens
