//===- SelectConfig.cpp - tile-select-config ------------------------------===//
//
// A kernel is described by its products:
//
//   chain    one product whose result becomes an operand of another one in the same loop (scores, then weighted values)
//   ring     a product that adds to an accumulator which its loop carries, with operands that each trip loads anew
//
// What is chosen for a chain comes from a table where its shape was measured: ptxas' allocation is chaotic near 255 registers, and
// which addresses to form anew, or when to convert the operand of the second product, follows no rule (main-loop counts of
// docs/read-a-kernel-report.md). Other shapes take the fewest warps, from four on, that leave room for the accumulators.
//
//===----------------------------------------------------------------------===//

#include "ChipOption.h"

#include "heddle/Transforms/Tile/KernelKnobs.h"
#include "heddle/Transforms/Tile/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_TILESELECTCONFIGPASS
#include "heddle/Transforms/Tile/Passes.h.inc"

using tile_nv::KernelKnobs;

namespace {

/// result[rows, columns] += a[rows, depth] b[depth, columns]
struct Product {
  tile::DotOp op;
  int64_t rows, columns, depth, bits;

  explicit Product(tile::DotOp op) : op(op) {
    RankedTensorType result = op.getType(), a = op.getA().getType();
    rows = result.getDimSize(0);
    columns = result.getDimSize(1);
    depth = a.getDimSize(op.getTransposeA() ? 0 : 1);
    bits = a.getElementType().isIntOrFloat() ? a.getElementTypeBitWidth() : 64;
  }
  int64_t operandBytes() const { return (rows + columns) * depth * llvm::divideCeil(bits, 8); }
  /// The most warps that have an m16n8 fragment each.
  int64_t mostWarps() const {
    return std::max<int64_t>(rows / 16, 1) * std::max<int64_t>(columns / 8, 1);
  }
};

struct KernelShape {
  SmallVector<Product> products;
  /// The two products of a chain.
  const Product *first = nullptr, *second = nullptr;
  /// The largest product of a ring.
  const Product *ring = nullptr;
  /// Rows of a chain are numbered, to be compared with columns.
  bool numbersRows = false;
  /// There is a tile.if_any, whose block ends the lives of what is computed before.
  bool branches = false;
};

/// What is decided for a kernel.
struct Choice {
  int64_t warps = 4, stages = 1;
  /// CTAs of an SM; 0: no plan.
  int64_t ctas = 0;
  KernelKnobs knobs;
};

/// Whether an entry of the table is for chains whose rows are numbered, such as those with a causal mask.
enum class Rows { Any, Numbered, NotNumbered };

struct TableEntry {
  // A chain: bits of its operands, rows, columns of the first product, depth of the first, columns of the second.
  int64_t bits, rows, inner, depth, columns;
  Rows numbering;
  bool branches;
  int64_t warps;
  bool keepOperands, interleave;
  std::initializer_list<StringRef> remat;

  bool describes(const KernelShape &shape) const {
    const Product &first = *shape.first, &second = *shape.second;
    return bits == first.bits && bits == second.bits && rows == first.rows &&
           inner == first.columns && depth == first.depth && columns == second.columns &&
           branches == shape.branches &&
           (numbering == Rows::Any || shape.numbersRows == (numbering == Rows::Numbered));
  }
};

} // namespace

static const TableEntry table[] = {
    {16, 128, 128, 64, 64, Rows::Numbered, true, 4, false, false, {}},
    {16, 128, 128, 64, 64, Rows::NotNumbered, true, 4, false, true, {"bt"}},
    // Queries that are read anew leave room for four CTAs on an SM of sm_80.
    {16, 128, 64, 16, 16, Rows::Any, true, 4, false, false, {}},
    {16, 128, 64, 64, 64, Rows::Any, true, 4, true, false, {}},
    {16, 128, 64, 128, 128, Rows::Any, true, 4, false, false, {}},
    {16, 64, 64, 128, 128, Rows::Any, true, 4, false, false, {}},
    {16, 128, 64, 256, 256, Rows::Any, true, 8, false, false, {}},
    // Without a branch in the loop.
    {16, 128, 128, 64, 64, Rows::Any, false, 4, false, true, {"a", "b", "bt"}},
    {16, 128, 64, 64, 64, Rows::Any, false, 4, true, false, {}},
    {16, 128, 64, 128, 128, Rows::Numbered, false, 4, false, true, {"a", "bt"}},
    {16, 128, 64, 128, 128, Rows::NotNumbered, false, 4, false, true, {"a"}},
    {16, 64, 64, 128, 128, Rows::Any, false, 4, true, false, {"b", "bt"}},
    {16, 128, 64, 256, 256, Rows::Any, false, 8, false, false, {}},
};

/// Registers of a thread that accumulators and kept operands may take; the rest is for addresses, statistics and fragments.
static constexpr int64_t registerBudget = 176;
static constexpr int64_t mostStages = 4;
/// Registers of a thread beside the sums of 16-bit products in a ring: addresses, fragments and what the epilogue needs.
static constexpr int64_t registersBesideSums = 104, mostRegisters = 255;

/// Whether `value` is computed from `source` in the block of `source`.
static bool dependsOn(Value value, Operation *source, llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != source->getBlock() || !seen.insert(op).second)
    return false;
  return op == source || llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, source, seen);
         });
}

static bool dependsOn(Value value, Operation *source) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  return dependsOn(value, source, seen);
}

static bool isInLoop(Value value, scf::ForOp loop) {
  return loop->isAncestor(value.getParentRegion()->getParentOp());
}

static KernelShape describe(tile::KernelOp kernel) {
  KernelShape shape;
  kernel.walk([&](tile::DotOp dot) { shape.products.emplace_back(dot); });
  for (Product &second : shape.products) {
    auto loop = dyn_cast<scf::ForOp>(second.op->getParentOp());
    if (!loop)
      continue;
    for (Product &first : shape.products)
      if (!shape.first && first.op != second.op &&
          (dependsOn(second.op.getA(), first.op) || dependsOn(second.op.getB(), first.op))) {
        shape.first = &first;
        shape.second = &second;
      }
    auto carried = dyn_cast<BlockArgument>(second.op.getAcc());
    if (carried && carried.getOwner() == loop.getBody() && isInLoop(second.op.getA(), loop) &&
        isInLoop(second.op.getB(), loop) &&
        (!shape.ring || shape.ring->operandBytes() < second.operandBytes()))
      shape.ring = &second;
  }
  if (shape.first)
    shape.ring = nullptr;
  kernel.walk([&](tile::IotaOp iota) { shape.numbersRows |= iota.getAlong() == 0; });
  kernel.walk([&](tile::IfAnyOp) { shape.branches = true; });
  return shape;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// 32-bit registers of a thread for the results of a kernel's products.
static int64_t accumulatorRegisters(const KernelShape &shape, int64_t warps) {
  if (shape.first)
    return shape.first->rows * (shape.first->columns + shape.second->columns) / (32 * warps);
  int64_t most = 0;
  for (const Product &product : shape.products)
    most = std::max(most, product.rows * product.columns);
  return most / (32 * warps);
}

/// CTAs of an SM that registers and the ring leave room for. The sums of all products in the loop of the ring are held at once.
static int64_t plannedCTAs(const KernelShape &shape, const GPUChip &chip, const Choice &choice) {
  int64_t threads = 32 * choice.warps, registers = registersBesideSums;
  for (const Product &product : shape.products)
    if (product.op->getParentOp() == shape.ring->op->getParentOp())
      registers += product.rows * product.columns / threads;
  return plannedOccupancy(chip, threads, std::min(registers, mostRegisters),
                          choice.stages * shape.ring->operandBytes());
}

/// 32-bit registers of a thread for the operand a of a product. Warps along the columns hold all of their rows. f32 is kept three
/// times: as it is, rounded, and the rest, which LLVM takes out of the loop.
static int64_t keptRegisters(const Product &product, int64_t warps) {
  int64_t along = std::min(warps, std::max<int64_t>(product.rows / 16, 1));
  int64_t words = product.rows * product.depth * product.bits / 32 / (32 * along);
  return product.bits == 32 ? 3 * words : words;
}

/// The hint, or the fewest warps from four on that leave room for the accumulators; never more than `most`.
static int64_t chooseWarps(const KernelShape &shape, int64_t most, std::optional<int64_t> hint) {
  if (hint)
    return *hint;
  most = llvm::bit_floor(uint64_t(std::max<int64_t>(most, 1)));
  int64_t warps = std::min<int64_t>(4, most);
  while (warps * 2 <= most && accumulatorRegisters(shape, warps) > registerBudget)
    warps *= 2;
  return warps;
}

static Choice chooseForChain(const KernelShape &shape, std::optional<int64_t> hint) {
  const Product &first = *shape.first;
  Choice choice;
  for (const TableEntry &entry : table) {
    if (!entry.describes(shape) || entry.warps != hint.value_or(entry.warps))
      continue;
    choice.warps = entry.warps;
    choice.knobs.keepOperands = entry.keepOperands;
    choice.knobs.interleave = entry.interleave;
    choice.knobs.remat.assign(entry.remat.begin(), entry.remat.end());
    return choice;
  }
  // Warps lie along the rows, so that the result of the first product is an operand of the second one as it is.
  choice.warps = chooseWarps(shape, first.rows / 16, hint);
  int64_t operand = keptRegisters(first, choice.warps);
  choice.knobs.keepOperands = accumulatorRegisters(shape, choice.warps) + operand <= registerBudget;
  return choice;
}

static Choice choose(const KernelShape &shape, const GPUChip &chip, std::optional<int64_t> hint) {
  if (shape.first)
    return chooseForChain(shape, hint);
  Choice choice;
  int64_t most = 32;
  for (const Product &product : shape.products)
    most = std::min(most, product.mostWarps());
  choice.warps = chooseWarps(shape, most, hint);
  if (shape.ring) {
    choice.stages = ringStages(chip, shape.ring->operandBytes(), mostStages);
    if (shape.ring->bits == 16)
      choice.ctas = plannedCTAs(shape, chip, choice);
  }
  return choice;
}

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

static LogicalResult verifyHints(tile::KernelOp kernel) {
  tile::ConfigAttr config = kernel.getConfigAttr();
  // More warps than the products have fragments hold copies.
  if (int64_t warps = config ? config.getWarps().value_or(1) : 1; !llvm::isPowerOf2_64(warps))
    return kernel.emitError() << "expected warps of #tile.config to be a power of two, got "
                              << warps;
  for (StringRef name : {tile_nv::keepOperandsName, tile_nv::interleaveName}) {
    Attribute value = kernel->getAttr(name);
    if (value && !isa<BoolAttr, UnitAttr>(value))
      return kernel.emitError() << "expected " << name << " to be true or false, got " << value;
  }
  Attribute ctas = kernel->getAttr(tile_nv::ctasName);
  auto number = dyn_cast_or_null<IntegerAttr>(ctas);
  if (ctas && (!number || number.getInt() < 1 || number.getInt() > 32))
    return kernel.emitError() << "expected " << tile_nv::ctasName << " to be 1 to 32, got " << ctas;
  Attribute remat = kernel->getAttr(tile_nv::rematName);
  auto isKind = [](Attribute kind) {
    auto name = dyn_cast<StringAttr>(kind);
    return name && llvm::is_contained(tile_nv::operandKinds, name.getValue());
  };
  auto kinds = dyn_cast_or_null<ArrayAttr>(remat);
  if (remat && (!kinds || !llvm::all_of(kinds, isKind)))
    return kernel.emitError() << "expected " << tile_nv::rematName
                              << R"( to be an array of "a", "b" and "bt", got )" << remat;
  return success();
}

/// The extents of what a program computes, for kernels without a block: the largest result of a product or tile that is stored.
static DenseI64ArrayAttr inferBlock(tile::KernelOp kernel) {
  SmallVector<int64_t> extents{1};
  auto keepLarger = [&](RankedTensorType type) {
    if (type.getNumElements() >= ShapedType::getNumElements(extents))
      extents.assign(type.getShape().begin(), type.getShape().end());
  };
  kernel.walk([&](tile::DotOp dot) { keepLarger(dot.getType()); });
  kernel.walk([&](tile::StoreOp store) { keepLarger(store.getTile().getType()); });
  return DenseI64ArrayAttr::get(kernel.getContext(), extents);
}

namespace {

struct TileSelectConfig : impl::TileSelectConfigPassBase<TileSelectConfig> {
  using TileSelectConfigPassBase::TileSelectConfigPassBase;

  void runOnOperation() override {
    tile::KernelOp kernel = getOperation();
    const GPUChip *target = findChip(kernel, chip);
    KernelShape shape = describe(kernel);
    if (!target || failed(verifyHints(kernel)))
      return signalPassFailure();

    tile::ConfigAttr config = kernel.getConfigAttr();
    GPUChip limited = sharedBytes > 0 ? withSharedBytes(*target, sharedBytes) : *target;
    Choice choice = choose(shape, limited, config ? config.getWarps() : std::nullopt);
    kernel.setConfigAttr(tile::ConfigAttr::get(
        &getContext(), config ? config.getBlock() : inferBlock(kernel),
        config && config.getStages() ? *config.getStages() : choice.stages, choice.warps));
    Builder builder(&getContext());
    auto setDefault = [&](StringRef name, Attribute value) {
      if (!kernel->hasAttr(name))
        kernel->setAttr(name, value);
    };
    setDefault(tile_nv::keepOperandsName, builder.getBoolAttr(choice.knobs.keepOperands));
    setDefault(tile_nv::interleaveName, builder.getBoolAttr(choice.knobs.interleave));
    setDefault(tile_nv::rematName, builder.getStrArrayAttr(choice.knobs.remat));
    if (choice.ctas > 0)
      setDefault(tile_nv::ctasName, builder.getI64IntegerAttr(choice.ctas));
  }
};

} // namespace
} // namespace heddle
