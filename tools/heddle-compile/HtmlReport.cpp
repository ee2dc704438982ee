//===- HtmlReport.cpp - what --report writes ------------------------------===//
//
// A page of tables about one module: entries, layers, caches in several forms of attention, work of each entry and what bounds it on a
// chip. Everything is in the one file: style, drawings, no scripts.
//
//===----------------------------------------------------------------------===//

#include "HtmlReport.h"
#include "Html.h"

#include "heddle/TensorIO/File.h"
#include "heddle/Transforms/EntryAttributes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace heddle::html;

namespace heddle {
namespace {

/// Peak of the tensor cores over that of other arithmetic: near enough for all chips of the table.
constexpr double tensorAdvantage = 16;

class Page {
public:
  Page(ModuleOp module, const ReportOptions &options) : module(module), options(options) {
    for (func::FuncOp entry : getEntries(module))
      entries.push_back(countEntry(entry, options.extents));
  }

  std::string text() {
    Writer page;
    page.begin(options.title);
    writeModel(page);
    writeEntries(page);
    writeLayers(page);
    writeForms(page);
    for (const EntryCost &entry : entries)
      writeWork(page, entry);
    writeNotes(page);
    return page.end();
  }

private:
  //===--------------------------------------------------------------------===//
  // The model
  //===--------------------------------------------------------------------===//

  std::optional<int64_t> modelNumber(StringRef name) {
    auto model = module->getAttrOfType<DictionaryAttr>(modelAttr);
    auto number = model ? model.getAs<IntegerAttr>(name) : nullptr;
    return number ? std::optional(number.getInt()) : std::nullopt;
  }

  void writeModel(Writer &page) {
    auto model = module->getAttrOfType<DictionaryAttr>(modelAttr);
    if (!model)
      return;
    page.heading("Model");
    page.table({"", ""});
    for (NamedAttribute fact : model) {
      std::string value;
      if (auto text = dyn_cast<StringAttr>(fact.getValue()))
        value = text.str();
      else if (auto number = dyn_cast<IntegerAttr>(fact.getValue()))
        value = count(double(number.getInt()));
      if (!value.empty())
        page.row({StringRef(fact.getName().getValue()).str(), value});
    }
    page.endTable();
  }

  void writeEntries(Writer &page) {
    page.heading("Entries");
    page.table({"entry", "counted at", "inputs", "weights", "caches", "outputs", "matrix FLOP",
                "other FLOP", "bytes"});
    for (const EntryCost &entry : entries) {
      OpWork all = total(entry);
      page.row({entry.name, extentText(entry), count(double(entry.inputs)),
                count(double(entry.weights)), count(double(entry.caches)),
                count(double(entry.outputs)), scaled(all.matrixFlops) + mark(all),
                scaled(all.otherFlops) + mark(all), bytes(all.bytes) + mark(all)});
    }
    page.endTable();
  }

  static OpWork total(const EntryCost &entry) {
    OpWork all;
    for (const OpWork &work : entry.work) {
      all.count += work.count;
      all.matrixFlops += work.matrixFlops;
      all.otherFlops += work.otherFlops;
      all.bytes += work.bytes;
      all.isComplete &= work.isComplete;
    }
    return all;
  }

  /// Dimensions without a name have the batch or the length.
  std::string extentText(const EntryCost &entry) const {
    std::string text;
    if (entry.extents.empty())
      text = llvm::formatv("batch {0}, length {1}", options.extents.batch, options.extents.length);
    for (auto &[name, extent] : entry.extents)
      text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(extent);
    return text;
  }

  static std::string mark(const OpWork &work) { return work.isComplete ? "" : " +"; }

  //===--------------------------------------------------------------------===//
  // Layers
  //===--------------------------------------------------------------------===//

  /// Runs of layers that are alike are one row.
  void writeLayers(Writer &page) {
    if (entries.empty())
      return;
    // Entries of a model share its layers: those of the one with the most weights stand for all.
    const EntryCost &entry = *std::max_element(
        entries.begin(), entries.end(),
        [](const EntryCost &a, const EntryCost &b) { return a.weights < b.weights; });
    page.heading("Layers of " + entry.name);
    page.table(
        {"layer", "ops", "parameters", "bytes of them", "cache a token", "state a sequence"});
    LayerParts sum;
    for (size_t i = 0; i < entry.layers.size();) {
      size_t end = i + 1;
      while (entry.layers[i].number && end < entry.layers.size() &&
             entry.layers[end].isLike(entry.layers[i]))
        ++end;
      const LayerParts &layer = entry.layers[i];
      std::string ops;
      for (auto &[name, number] : layer.ops)
        ops += (ops.empty() ? "" : ", ") + std::to_string(number) + " " + name.str();
      page.row({layerText(entry, i, end), ops, count(layer.parameters), bytes(layer.parameterBytes),
                bytes(layer.cacheBytesPerToken), bytes(layer.stateBytesPerSequence)});
      for (; i < end; ++i) {
        const LayerParts &own = entry.layers[i];
        sum.parameters += own.parameters;
        sum.parameterBytes += own.parameterBytes;
        sum.cacheBytesPerToken += own.cacheBytesPerToken;
        sum.stateBytesPerSequence += own.stateBytesPerSequence;
      }
    }
    page.row({"all", "", count(sum.parameters), bytes(sum.parameterBytes),
              bytes(sum.cacheBytesPerToken), bytes(sum.stateBytesPerSequence)},
             /*isTotal=*/true);
    page.endTable();
  }

  static std::string layerText(const EntryCost &entry, size_t begin, size_t end) {
    if (!entry.layers[begin].number)
      return "outside";
    std::string first = std::to_string(*entry.layers[begin].number);
    if (end == begin + 1)
      return first;
    return first + " to " + std::to_string(*entry.layers[end - 1].number) + ", each";
  }

  //===--------------------------------------------------------------------===//
  // MHA, GQA, MQA, MLA
  //===--------------------------------------------------------------------===//

  struct Form {
    std::string name, what;
    double cached = 0; ///< elements a token and layer
    double weights = 0;
  };

  /// The attention of `heads` with keys and values for every query head, for groups, for all at once, and from a latent.
  static std::vector<Form> formsOf(const AttentionHeads &heads, double hidden) {
    double q = double(heads.queryHeads), dk = double(heads.keyDim), dv = double(heads.valueDim);
    // The part of a key that comes from a latent, and the rotated one beside it.
    bool isLatent = heads.latentDim > 0;
    double rank = isLatent ? double(heads.latentDim) : 4 * dk;
    double rope = isLatent ? double(heads.ropeDim) : std::floor(dk / 2);
    double nope = isLatent ? dk - rope : dk;
    auto grouped = [&](std::string name, double keyHeads) {
      Form form;
      form.name = std::move(name);
      form.what = llvm::formatv("{0:F0} key {1} of {2:F0} + {3:F0}", keyHeads,
                                keyHeads == 1 ? "head" : "heads", dk, dv)
                      .str();
      form.cached = keyHeads * (dk + dv);
      form.weights = hidden * (q * dk + keyHeads * (dk + dv) + q * dv);
      return form;
    };
    std::vector<Form> forms = {grouped("MHA", q)};
    // A model of groups has its own, others get groups of 4.
    double groups = heads.keyHeads > 1 && heads.keyHeads < heads.queryHeads
                        ? double(heads.keyHeads)
                        : std::max(1.0, std::floor(q / 4));
    if (groups < q && groups > 1)
      forms.push_back(grouped("GQA", groups));
    if (q > 1)
      forms.push_back(grouped("MQA", 1));
    Form latent;
    latent.name = "MLA";
    latent.what = llvm::formatv("a latent of {0:F0} and a rope key of {1:F0}", rank, rope).str();
    latent.cached = rank + rope;
    latent.weights = hidden * (q * (nope + rope) + rank + rope + q * dv) + rank * q * (nope + dv);
    forms.push_back(latent);
    return forms;
  }

  static bool isOwn(const Form &form, const AttentionHeads &heads) {
    if (form.name == "MLA" || heads.latentDim > 0)
      return form.name == "MLA" && heads.latentDim > 0;
    return form.cached == double(heads.keyHeads) * double(heads.keyDim + heads.valueDim);
  }

  void writeForms(Writer &page) {
    SmallVector<std::pair<AttentionHeads, int64_t>> attention;
    // Entries of a model have the same layers: each form counts as often as in the entry that has most of it.
    for (const EntryCost &entry : entries)
      for (const auto &own : entry.attention) {
        auto *known = llvm::find_if(attention, [&](auto &each) { return each.first == own.first; });
        if (known == attention.end())
          attention.push_back(own);
        else
          known->second = std::max(known->second, own.second);
      }
    std::optional<int64_t> hidden = modelNumber("hidden_size");
    for (auto &[heads, layers] : attention) {
      std::vector<Form> forms = formsOf(heads, double(hidden.value_or(0)));
      std::string keys =
          heads.latentDim ? "a latent" : std::to_string(heads.keyHeads) + " key heads";
      page.heading(
          llvm::formatv("Attention of {0} query heads, {1}, in other forms", heads.queryHeads, keys)
              .str());
      page.table({"form", "cached of a token in a layer", "cache a token", "parameters",
                  "cache at the length", ""});
      double largest = 0;
      for (const Form &form : forms)
        largest = std::max(largest, form.cached);
      for (const Form &form : forms) {
        double token = form.cached * double(heads.elementBytes * layers);
        page.row({form.name + (isOwn(form, heads) ? " (this model)" : ""), form.what, bytes(token),
                  hidden ? count(form.weights * double(layers)) : "-",
                  bytes(token * double(options.extents.batch * options.extents.length)),
                  Writer::bar(form.cached / largest)},
                 isOwn(form, heads));
      }
      page.endTable();
      page.note(llvm::formatv(
                    "{0} attention ops with {1}-byte keys. Parameters are those of the "
                    "projections to queries, keys, values and back{2}. {3}",
                    layers, heads.elementBytes,
                    hidden ? "" : ", which need the model's hidden_size: unknown here",
                    heads.latentDim
                        ? "A latent of the query is not counted."
                        : "MLA as in DeepSeek-V2: a latent of 4 key dims and a rope key of half a "
                          "key dim, here without a latent of the query.")
                    .str());
    }
  }

  //===--------------------------------------------------------------------===//
  // Work
  //===--------------------------------------------------------------------===//

  double computeSeconds(const OpWork &work) const {
    return (work.matrixFlops + work.otherFlops * tensorAdvantage) / options.chip->tensorFlops;
  }
  double memorySeconds(const OpWork &work) const {
    return work.bytes / options.chip->memoryBandwidth;
  }
  double seconds(const OpWork &work) const {
    return std::max(computeSeconds(work), memorySeconds(work));
  }
  const char *bound(const OpWork &work) const {
    if (work.bytes == 0 && work.matrixFlops + work.otherFlops == 0)
      return "-";
    return computeSeconds(work) > memorySeconds(work) ? "compute" : "memory";
  }

  void writeWork(Writer &page, const EntryCost &entry) {
    page.heading(llvm::formatv("{0} at {1} on {2} ({3})", entry.name, extentText(entry),
                               options.chip->name, options.chip->product)
                     .str());
    page.table({"op", "ops", "matrix FLOP", "other FLOP", "bytes", "FLOP/B", "at least", "bound",
                "share of the time"});
    OpWork all = total(entry);
    double sum = 0;
    for (const OpWork &work : entry.work)
      sum += seconds(work);
    std::vector<Writer::Point> points;
    for (const OpWork &work : entry.work) {
      page.row(workRow(work, work.kind, sum));
      if (work.bytes > 0 && work.matrixFlops + work.otherFlops > 0)
        points.push_back({work.kind, (work.matrixFlops + work.otherFlops) / work.bytes,
                          (work.matrixFlops + work.otherFlops) / std::max(seconds(work), 1e-30)});
    }
    page.row(workRow(all, "all", sum), /*isTotal=*/true);
    page.endTable();
    page.roofline(points, options.chip->tensorFlops, options.chip->memoryBandwidth);
  }

  std::vector<std::string> workRow(const OpWork &work, const std::string &name, double sum) const {
    bool isAll = name == "all";
    double flops = work.matrixFlops + work.otherFlops, time = isAll ? sum : seconds(work);
    return {name,
            count(double(work.count)),
            scaled(work.matrixFlops) + mark(work),
            scaled(work.otherFlops) + mark(work),
            bytes(work.bytes) + mark(work),
            work.bytes > 0 ? llvm::formatv("{0:F2}", flops / work.bytes).str() : "-",
            duration(time),
            isAll ? "" : bound(work),
            Writer::bar(sum > 0 ? time / sum : 0)};
  }

  void writeNotes(Writer &page) {
    const GPUChip &chip = *options.chip;
    page.heading("How it is counted");
    page.note(
        "Work is that of the formulas, once: 2 FLOP for a multiply-add of a product; for other "
        "arithmetic 1 an operation. Attention counts the pairs of query and key that see each "
        "other. Bytes are operands and results of each op, of caches only the rows that it "
        "needs; kernels that fuse ops move less.");
    page.note(
        llvm::formatv(
            "{0} ({1}): {2} FLOP/s of tensor cores with f16 inputs, {3}/s of memory, by its "
            "data sheet; other arithmetic is taken to be {4:F0} times as slow. They meet at {5:F1} "
            "FLOP/B. \"At least\" is the longer one of both times; ops run one after another.",
            chip.name, chip.product, scaled(chip.tensorFlops), bytesDecimal(chip.memoryBandwidth),
            tensorAdvantage, chip.tensorFlops / chip.memoryBandwidth)
            .str());
    page.note(
        "+ marks what has more work than is counted: an op whose formula is not known to this "
        "report, or an extent that depends on data. Lengths that are data count as full.");
  }

  ModuleOp module;
  const ReportOptions &options;
  std::vector<EntryCost> entries;
};

} // namespace

LogicalResult writeHtmlReport(ModuleOp module, const ReportOptions &options) {
  // Entries are counted with what they call.
  OwningOpRef<ModuleOp> inlined = module.clone();
  PassManager manager(module.getContext());
  manager.addPass(createInlinerPass());
  if (failed(manager.run(*inlined)))
    return failure();
  std::string text = Page(*inlined, options).text();
  if (options.file == "-") {
    llvm::outs() << text;
    return success();
  }
  Result<AtomicFile> file = AtomicFile::create(options.file);
  if (!file)
    return module.emitError(file.error());
  if (Status status = file->write(text); !status)
    return module.emitError(status.error());
  if (Status status = file->commit(); !status)
    return module.emitError(status.error());
  return success();
}

} // namespace heddle
