//===- KernelReport.cpp - what --print-kernels prints ---------------------===//

#include "heddle/Target/KernelReport.h"

#include "heddle/Transforms/EntryAttributes.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace heddle {

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

LogicalResult KernelReport::addWork(ModuleOp module, const llvm::StringMap<int64_t> &given) {
  llvm::StringSet<> known;
  std::string names;
  for (func::FuncOp entry : getEntries(module)) {
    entries.push_back(collectKernels(entry, given));
    KernelCost total;
    for (const KernelUse &use : entries.back().uses)
      total.add(use.cost);
    if (total.overflows())
      return entry.emitError() << "what the kernels of '" << entry.getName()
                               << "' do at these extents can't be counted in 64 bits";
    for (auto &[symbol, extent] : entries.back().extents)
      if (known.insert(symbol).second)
        names += (names.empty() ? "" : ", ") + symbol;
  }
  for (auto &each : given)
    if (!known.contains(each.getKey()))
      return module.emitError() << "no entry has a dimension '" << each.getKey()
                                << "'; there are: " << (names.empty() ? "none" : names);
  return success();
}

static int64_t integerOf(Operation *op, StringRef attribute) {
  auto value = op->getAttrOfType<IntegerAttr>(attribute);
  return value ? value.getInt() : 0;
}

void KernelReport::addCode(ArrayRef<ModuleOp> kernels, ArrayRef<KernelCode> codes,
                           const GPUChip *chip) {
  for (auto [kernel, code] : llvm::zip(kernels, codes)) {
    ModuleOp module = kernel;
    KernelCodeRow &row = this->code.emplace_back();
    row.kernel = code.name;
    row.chip = chip->name.str();
    row.threads = integerOf(module, "tile_nv.threads");
    row.sharedBytes = integerOf(module, "tile_nv.shared_bytes");
    if (auto config = module->getAttrOfType<tile::ConfigAttr>("tile_nv.config")) {
      if (config.getBlock())
        row.block = config.getBlock().asArrayRef().vec();
      row.stages = config.getStages();
    }
    for (auto &[cubinChip, cubin] : code.cubins)
      if (cubinChip == chip) {
        row.ptxas = cubin.report;
        row.sharedBytes += cubin.report.sharedBytes;
        row.ctasPerSM =
            plannedOccupancy(*chip, row.threads, cubin.report.registers, row.sharedBytes);
      }
  }
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {

/// "1.5 MiB" for unit 1024, "2.1 G" for unit 1000: three digits.
std::string scaled(int64_t number, int64_t unit, ArrayRef<StringRef> suffixes) {
  double value = number;
  size_t i = 0;
  while (value >= double(unit) - 0.5 && i + 1 < suffixes.size()) {
    value /= double(unit);
    ++i;
  }
  int digits = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return llvm::formatv("{0}{1}", llvm::format("%.*f", digits, value), suffixes[i]).str();
}

std::string bytes(int64_t number) {
  return scaled(number, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}

std::string flops(int64_t number) {
  return scaled(number, 1000, {"", " k", " M", " G", " T", " P"});
}

std::string join(ArrayRef<std::string> items, StringRef separator) {
  return llvm::join(items, separator);
}

std::string shape(ArrayRef<int64_t> extents) {
  std::string text;
  for (int64_t extent : extents)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "-" : text;
}

std::string optional(std::optional<int64_t> number) {
  return number ? std::to_string(*number) : "-";
}

using Row = std::vector<std::string>;

/// Columns as wide as their widest cell; the first is aligned to the left, numbers to the right.
void printTable(llvm::raw_ostream &os, const std::vector<Row> &rows, size_t leftColumns) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row &row : rows)
    for (auto [width, cell] : llvm::zip(widths, row))
      width = std::max(width, cell.size());
  for (const Row &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string padding(widths[i] - row[i].size(), ' ');
      line += "  " + (i < leftColumns ? row[i] + padding : padding + row[i]);
    }
    os << StringRef(line).rtrim() << "\n";
  }
}

void printWork(llvm::raw_ostream &os, const EntryKernels &entry, bool &assumes, bool &incomplete) {
  os << "entry " << entry.name;
  for (auto [i, extent] : llvm::enumerate(entry.extents))
    os << (i ? ", " : " at ") << extent.first << "=" << extent.second;
  os << "\n";
  if (entry.uses.empty()) {
    os << "  no kernels\n";
    return;
  }
  std::vector<Row> rows{{"kernel", "ops", "grid", "launches", "programs", "tile", "in", "out",
                         "matrix FLOP", "needed FLOP", "other FLOP", "FLOP/B"}};
  KernelCost total;
  int64_t launches = 0;
  auto addRow = [&](Row first, int64_t launches, std::string tile, const KernelCost &cost) {
    // Marks are explained below the table.
    if (cost.assumesData)
      first[0] += "*";
    if (cost.isIncomplete)
      first[0] += "+";
    first.insert(first.end(),
                 {std::to_string(launches), std::to_string(cost.programs), tile,
                  bytes(cost.bytesIn), bytes(cost.bytesOut), flops(cost.matrixFlops),
                  cost.neededFlops ? flops(*cost.neededFlops) : "-", flops(cost.otherFlops),
                  llvm::formatv("{0}", llvm::format("%.2f", cost.intensity())).str()});
    rows.push_back(std::move(first));
  };
  for (const KernelUse &use : entry.uses) {
    std::string grid = use.gridFormula.empty() ? "-" : use.gridFormula;
    addRow({use.kernel, use.ops.empty() ? "-" : join(use.ops, " "),
            grid + (use.gridVaries ? " (first)" : "")},
           use.launches, shape(use.block), use.cost);
    total.add(use.cost);
    launches += use.launches;
    assumes |= use.cost.assumesData;
    incomplete |= use.cost.isIncomplete;
  }
  if (entry.uses.size() > 1)
    addRow({"total", "", ""}, launches, "", total);
  printTable(os, rows, 3);
}

void printCode(llvm::raw_ostream &os, ArrayRef<KernelCodeRow> code) {
  std::vector<Row> rows{{"kernel", "chip", "tile", "threads", "stages", "registers", "spills",
                         "shared", "CTAs/SM", "warnings"}};
  for (const KernelCodeRow &row : code) {
    Row cells{row.kernel, row.chip, shape(row.block), std::to_string(row.threads),
              optional(row.stages)};
    if (const auto &ptxas = row.ptxas)
      cells.insert(cells.end(),
                   {std::to_string(ptxas->registers),
                    std::to_string(ptxas->spillStores) + "/" + std::to_string(ptxas->spillLoads),
                    bytes(row.sharedBytes), optional(row.ctasPerSM),
                    std::to_string(ptxas->warnings.size() + ptxas->performanceLosses.size())});
    else
      cells.insert(cells.end(), {"-", "-", bytes(row.sharedBytes), "-", "-"});
    rows.push_back(std::move(cells));
  }
  os << "code\n";
  printTable(os, rows, 2);
}

} // namespace

void KernelReport::print(llvm::raw_ostream &os) const {
  bool assumes = false, incomplete = false;
  os << "target " << target << "\n";
  for (const EntryKernels &entry : entries)
    printWork(os, entry, assumes, incomplete);
  if (!code.empty())
    printCode(os, code);
  if (assumes)
    os << "* lengths that are data count as full, branches as taken\n";
  if (incomplete)
    os << "+ loops whose trips depend on data are not counted\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace {

llvm::json::Object workToJSON(const KernelUse &use) {
  const KernelCost &cost = use.cost;
  llvm::json::Object object{{"name", use.kernel},
                            {"ops", llvm::json::Array(use.ops)},
                            {"launches", use.launches},
                            {"programs", cost.programs},
                            {"bytes_in", cost.bytesIn},
                            {"bytes_out", cost.bytesOut},
                            {"matrix_flops", cost.matrixFlops},
                            {"other_flops", cost.otherFlops},
                            {"intensity", cost.intensity()},
                            {"assumes_data", cost.assumesData},
                            {"incomplete", cost.isIncomplete}};
  if (cost.neededFlops)
    object["needed_flops"] = *cost.neededFlops;
  if (!use.gridFormula.empty()) {
    object["grid_formula"] = use.gridFormula;
    object["grid"] = llvm::json::Array(use.grid);
    object["grid_varies"] = use.gridVaries;
  }
  if (!use.block.empty())
    object["tile"] = llvm::json::Array(use.block);
  return object;
}

llvm::json::Object codeToJSON(const KernelCodeRow &row) {
  llvm::json::Object object{
      {"name", row.kernel},          {"chip", row.chip},     {"tile", llvm::json::Array(row.block)},
      {"threads", row.threads},      {"stages", row.stages}, {"shared_bytes", row.sharedBytes},
      {"ctas_per_sm", row.ctasPerSM}};
  if (const auto &ptxas = row.ptxas) {
    llvm::json::Array messages(ptxas->warnings);
    for (const std::string &line : ptxas->performanceLosses)
      messages.push_back(line);
    object["registers"] = ptxas->registers;
    object["spill_store_bytes"] = ptxas->spillStores;
    object["spill_load_bytes"] = ptxas->spillLoads;
    object["stack_bytes"] = ptxas->stackBytes;
    object["constant_bytes"] = ptxas->constantBytes;
    object["warnings"] = std::move(messages);
  }
  return object;
}

} // namespace

llvm::json::Value KernelReport::toJSON() const {
  llvm::json::Array entryList, codeList;
  for (const EntryKernels &entry : entries) {
    llvm::json::Object extents;
    for (auto &[symbol, extent] : entry.extents)
      extents[symbol] = extent;
    llvm::json::Array kernels;
    for (const KernelUse &use : entry.uses)
      kernels.push_back(workToJSON(use));
    entryList.push_back(llvm::json::Object{
        {"name", entry.name}, {"extents", std::move(extents)}, {"kernels", std::move(kernels)}});
  }
  for (const KernelCodeRow &row : code)
    codeList.push_back(codeToJSON(row));
  return llvm::json::Object{
      {"target", target}, {"entries", std::move(entryList)}, {"code", std::move(codeList)}};
}

} // namespace heddle
