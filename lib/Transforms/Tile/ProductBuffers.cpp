//===- ProductBuffers.cpp - operands of products in shared memory ---------===//

#include "ProductBuffers.h"

#include "AccessWidth.h"
#include "DotLayouts.h"
#include "GlobalMemory.h"
#include "WarpBranches.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace heddle {

/// Bytes that an asynchronous copy moves at least.
static constexpr int64_t minCopyBytes = 4;

static bool isFactor(OpOperand &use) {
  return isa<tile::DotOp>(use.getOwner()) && use.getOperandNumber() < 2;
}

/// Whether products alone read a tile, in any layout.
static bool onlyFeedsProducts(Value tile) {
  return llvm::all_of(tile.getUses(), [](OpOperand &use) {
    auto conversion = dyn_cast<tile::ConvertLayoutOp>(use.getOwner());
    return isFactor(use) || (conversion && llvm::all_of(conversion->getUses(), isFactor));
  });
}

/// The products that read a tile, in any layout, or what they are inside of in the tile's block.
static SmallVector<Operation *> placesOfProducts(tile::LoadOp load) {
  SmallVector<Operation *> places;
  auto add = [&](Value tile, auto &self) -> void {
    for (Operation *user : tile.getUsers()) {
      if (isa<tile::ConvertLayoutOp>(user))
        self(user->getResult(0), self);
      else
        places.push_back(load->getBlock()->findAncestorOpInBlock(*user));
    }
  };
  add(load.getResult(), add);
  llvm::sort(places, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  return places;
}

/// Whether what a load reads may be written before the last product has read the tile. A copy may still be under way then.
static bool mayBeOverwritten(tile::LoadOp load) {
  MemoryRoots reads, writes;
  addReads(load.getView(), reads);
  SmallVector<Operation *> places = placesOfProducts(load);
  bool isKnown = true;
  for (Operation *op = load; isKnown && op != places.back();) {
    op = op->getNextNode();
    isKnown = addWrites(op, writes);
  }
  return !isKnown || llvm::any_of(reads, [&](Value root) { return writes.contains(root); });
}

/// Whether an asynchronous copy gives what the load does.
static bool hasFormOfCopy(tile::LoadOp load) {
  bool padsWithZeros = !load.getPad() || matchPattern(load.getPad(), m_PosZeroFloat()) ||
                       matchPattern(load.getPad(), m_Zero());
  return padsWithZeros &&
         accessBytes(load.getView(), load.getIndices(), load.getType()) >= minCopyBytes;
}

static bool canBeCopied(tile::LoadOp load) {
  return load.getType().getRank() == 2 && hasFormOfCopy(load) &&
         onlyFeedsProducts(load.getResult()) && !mayBeOverwritten(load);
}

Value ProductBuffers::copied(tile::LoadOp load) {
  Value &buffer = copies[load.getResult()];
  if (buffer)
    return buffer;
  Location loc = load.getLoc();
  buffer = buffers.forOperand(loc, load.getType());
  OpBuilder builder(load);
  tile_nv::CopyAsyncOp::create(builder, loc, load.getView(), load.getIndices(), buffer,
                               /*bounded=*/load.getPad() != nullptr);
  tile_nv::CommitGroupOp::create(builder, loc);
  // The next trip copies to the same buffer, whether or not a product inside of a branch or loop has waited for this copy.
  Operation *first = placesOfProducts(load).front();
  if (first->getNumRegions() != 0 && load->getParentOfType<scf::ForOp>()) {
    builder.setInsertionPoint(first);
    tile_nv::WaitGroupOp::create(builder, loc, 0);
  }
  return buffer;
}

Value ProductBuffers::stored(Value tile) {
  Value &buffer = stores[tile];
  if (buffer)
    return buffer;
  buffer = buffers.forOperand(tile.getLoc(), cast<RankedTensorType>(tile.getType()));
  OpBuilder builder(tile.getContext());
  builder.setInsertionPointAfterValue(tile);
  tile_nv::StoreOp::create(builder, tile.getLoc(), tile, buffer);
  return buffer;
}

/// The tile, loaded once before the operation around the first product that reads it.
Value ProductBuffers::kept(tile::DotOp dot, tile::LoadOp load, Value tile, Value buffer) {
  Value &value = registers[tile];
  if (value)
    return value;
  OpBuilder builder(load->getBlock()->findAncestorOpInBlock(*dot));
  tile_nv::WaitGroupOp::create(builder, load.getLoc(), 0);
  value = tile_nv::LoadOp::create(builder, load.getLoc(), tile.getType(), buffer);
  return value;
}

Value ProductBuffers::operand(tile::DotOp dot, OpOperand &use, bool &readsCopy) {
  Value tile = use.get();
  auto conversion = tile.getDefiningOp<tile::ConvertLayoutOp>();
  Value source = conversion ? conversion.getInput() : tile;
  bool mayBeRegisters =
      use.getOperandNumber() == 0 &&
      usesMatrixInstructions(cast<RankedTensorType>(tile.getType()).getElementType(),
                             dot.getPrecision());
  auto loop = dot->getParentOfType<scf::ForOp>();
  bool isKept = mayBeRegisters && keepOperands && loop && loop.isDefinedOutsideOfLoop(source);

  auto load = source.getDefiningOp<tile::LoadOp>();
  if (load && (copies.contains(load.getResult()) || canBeCopied(load))) {
    Value buffer = copied(load);
    if (isKept)
      return kept(dot, load, tile, buffer);
    readsCopy = true;
    return buffer;
  }
  if (isKept || (mayBeRegisters && (!conversion || staysInThread(conversion))))
    return tile;
  return stored(source);
}

void ProductBuffers::rewrite(tile::DotOp dot) {
  bool readsCopy = false;
  Value a = operand(dot, dot.getAMutable(), readsCopy);
  Value b = operand(dot, dot.getBMutable(), readsCopy);
  OpBuilder builder(dot);
  if (readsCopy)
    tile_nv::WaitGroupOp::create(builder, dot.getLoc(), 0);
  auto product = tile_nv::DotOp::create(builder, dot.getLoc(), dot.getType(), a, b, dot.getAcc(),
                                        /*needed=*/ValueRange(), dot.getTransposeA(),
                                        dot.getTransposeB(), dot.getPrecision());
  product->setDiscardableAttrs(dot->getDiscardableAttrDictionary());
  dot.replaceAllUsesWith(product.getResult());
}

/// Whether a trip of a loop with copies loads a vector whose elements several threads hold.
static bool isSharedVector(tile::LoadOp load) {
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  if (!loop || load.getType().getRank() != 1 || !hasFormOfCopy(load) ||
      loop.getBody()->getOps<tile_nv::CopyAsyncOp>().empty())
    return false;
  const layout::Layout &layout = tile::layoutOf(load.getType()).getLayout();
  return layout.numPositions() > layout.numElements();
}

unsigned ProductBuffers::copyVectors() {
  tile::ConfigAttr config = kernel.getConfigAttr();
  if (!config || config.getStages().value_or(1) == 1)
    return 0;
  SmallVector<tile::LoadOp> vectors;
  kernel.walk([&](tile::LoadOp load) {
    if (isSharedVector(load))
      vectors.push_back(load);
  });
  for (tile::LoadOp load : vectors) {
    OpBuilder builder(load);
    Location loc = load.getLoc();
    Value buffer = buffers.forOperand(loc, load.getType());
    tile_nv::CopyAsyncOp::create(builder, loc, load.getView(), load.getIndices(), buffer,
                                 /*bounded=*/load.getPad() != nullptr);
    tile_nv::CommitGroupOp::create(builder, loc);
    tile_nv::WaitGroupOp::create(builder, loc, 0);
    load.replaceAllUsesWith(
        tile_nv::LoadOp::create(builder, loc, load.getType(), buffer).getResult());
    load.erase();
  }
  return vectors.size();
}

unsigned ProductBuffers::run() {
  SmallVector<tile::DotOp> dots;
  kernel.walk([&](tile::DotOp dot) { dots.push_back(dot); });
  for (tile::DotOp dot : dots)
    rewrite(dot);
  // Products may share operands, and read a tile twice: each is visited once.
  llvm::SetVector<Operation *> conversions, loads;
  for (tile::DotOp dot : dots) {
    for (Value tile : {dot.getA(), dot.getB()}) {
      if (auto conversion = tile.getDefiningOp<tile::ConvertLayoutOp>()) {
        conversions.insert(conversion);
        tile = conversion.getInput();
      }
      if (auto load = tile.getDefiningOp<tile::LoadOp>())
        loads.insert(load);
    }
    dot.erase();
  }
  for (const auto &unused : {conversions, loads})
    for (Operation *op : unused)
      if (op->use_empty())
        op->erase();
  return copies.size() + copyVectors();
}

} // namespace heddle
