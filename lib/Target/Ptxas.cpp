//===- Ptxas.cpp - PTX to machine code ------------------------------------===//

#include "heddle/Target/Ptxas.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace heddle {
namespace {

/// Takes "<number><unit>" off the front of `item`, a part of a line such as "Used 254 registers, used 1 barriers, 504 bytes cmem[0]".
bool takeNumber(llvm::StringRef item, llvm::StringRef unit, int64_t &number) {
  item = item.trim();
  if (!item.consume_front("Used "))
    item.consume_front("used ");
  int64_t value;
  if (item.consumeInteger(10, value) || item.trim() != unit)
    return false;
  number = value;
  return true;
}

void parseFacts(llvm::StringRef line, PtxasReport &report) {
  llvm::SmallVector<llvm::StringRef> items;
  line.split(items, ',');
  for (llvm::StringRef item : items) {
    int64_t constants;
    if (takeNumber(item, "registers", report.registers) ||
        takeNumber(item, "barriers", report.barriers) ||
        takeNumber(item, "bytes stack frame", report.stackBytes) ||
        takeNumber(item, "bytes spill stores", report.spillStores) ||
        takeNumber(item, "bytes spill loads", report.spillLoads) ||
        takeNumber(item, "bytes smem", report.sharedBytes))
      continue;
    // Constants come by bank.
    llvm::StringRef bank = item.trim();
    if (bank.consume_back("]") && takeNumber(bank.rtrim("0123456789"), "bytes cmem[", constants))
      report.constantBytes += constants;
  }
}

/// The part of a line behind "ptxas <kind>    : ", or behind "ptxas /path/file.ptx, line 12; <kind>    : ", of which the position in a
/// temporary file says nothing.
std::optional<llvm::StringRef> messageOf(llvm::StringRef line, llvm::StringRef kind) {
  if (!line.consume_front("ptxas "))
    return std::nullopt;
  size_t position = line.find("; ");
  if (!line.starts_with(kind) && position != llvm::StringRef::npos)
    line = line.drop_front(position + 2);
  if (!line.consume_front_insensitive(kind) || !line.ltrim().consume_front(":"))
    return std::nullopt;
  return line.ltrim().drop_front().trim();
}

} // namespace

PtxasReport parsePtxasOutput(llvm::StringRef text, llvm::StringRef kernel) {
  PtxasReport report;
  // Facts follow the name of the function that they are about.
  bool isOther = false;
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    if (line.starts_with(" ") && !isOther)
      parseFacts(line, report);
    if (std::optional<llvm::StringRef> warning = messageOf(line, "warning")) {
      report.warnings.push_back(warning->str());
      continue;
    }
    std::optional<llvm::StringRef> info = messageOf(line, "info");
    if (!info)
      continue;
    llvm::StringRef message = *info;
    if (message.consume_front("Compiling entry function '"))
      isOther = message.take_until([](char c) { return c == '\''; }) != kernel;
    else if (message.consume_front("Function properties for "))
      isOther = message.trim().trim('\'') != kernel;
    else if (message.contains("Potential Performance Loss") || message.starts_with("(C75"))
      report.performanceLosses.push_back(message.str());
    else if (!isOther)
      parseFacts(message, report);
  }
  return report;
}

static llvm::Expected<Cubin> runPtxas(const CUDATools &tools, llvm::StringRef inputPath,
                                      llvm::StringRef chip, llvm::StringRef kernel,
                                      llvm::ArrayRef<llvm::StringRef> options) {
  TemporaryFile output;
  if (llvm::Error error = output.create("cubin"))
    return error;
  std::vector<std::string> arguments{"-v", ("-arch=" + chip).str(), inputPath.str(), "-o",
                                     output.getPath().str()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  llvm::Expected<std::string> text = runTool(tools.ptxas, arguments);
  if (!text)
    return llvm::createStringError("ptxas does not take the kernel '" + kernel + "' for " + chip +
                                   ":\n" + llvm::toString(text.takeError()));
  llvm::Expected<std::string> bytes = output.readOutputOf("ptxas");
  if (!bytes)
    return bytes.takeError();
  return Cubin{std::move(*bytes), parsePtxasOutput(*text, kernel)};
}

llvm::Expected<Cubin> runPtxas(const CUDATools &tools, llvm::StringRef ptx, llvm::StringRef chip,
                               llvm::StringRef kernel) {
  TemporaryFile input;
  if (llvm::Error error = input.create("ptx", ptx))
    return error;
  auto run = [&](llvm::ArrayRef<llvm::StringRef> options) {
    return runPtxas(tools, input.getPath(), chip, kernel, options);
  };
  llvm::Expected<Cubin> best = run({"-O3"});
  if (!best)
    return best;
  // Near the limit of 255 registers ptxas' allocation is chaotic: a kernel that spills at one level of aggressiveness often does not at
  // another. With fewer registers it spills to make room for one more CTA, which takes the higher level. -O1 needs fewer registers, but leaves
  // fewer instructions between loads and their use, so it comes last. A release of ptxas that lacks an option keeps what there is.
  constexpr int64_t squeezed = 240;
  bool higherFirst = best->report.registers < squeezed;
  using Options = std::vector<llvm::StringRef>;
  for (const Options &options :
       {Options{"--register-usage-level", higherFirst ? "7" : "3"},
        Options{"--register-usage-level", higherFirst ? "3" : "7"}, Options{"-O1"}}) {
    if (!best->report.hasSpills())
      break;
    llvm::Expected<Cubin> other = run(options);
    if (!other) {
      llvm::consumeError(other.takeError());
      continue;
    }
    auto spilled = [](const PtxasReport &report) { return report.spillStores + report.spillLoads; };
    if (spilled(other->report) < spilled(best->report))
      best = std::move(other);
  }
  return best;
}

} // namespace heddle
