//===- KernelLowering.cpp - one kernel as code for one thread --------------===//

#include "KernelLowering.h"
#include "DotOperand.h"
#include "KernelABI.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle {

using layout::Dim;
using layout::Layout;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerBlock(Block &block) {
  bool isTopLevel = isa<tile::KernelOp>(block.getParentOp());
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    if ((isTopLevel && failed(lowerAgain(&op))) || failed(lowerOp(&op)))
      return failure();
    if (isTopLevel)
      forgetPosition(&op);
  }
  return success();
}

LogicalResult KernelLowering::lowerOp(Operation *op) {
  if (lowerAffine(op) || isConvertedLate(op))
    return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp op) { return lowerFor(op); })
      .Case([&](scf::IfOp op) { return lowerIf(op); })
      .Case([&](scf::WhileOp op) { return lowerWhile(op); })
      .Case([&](tile::IfAnyOp op) { return lowerIfAny(op); })
      .Case([&](tile::SkipUnlessOp) { return success(); })
      .Case([&](tile::ProgramIdOp op) { return lowerProgramId(op); })
      .Case([&](tile::NumProgramsOp op) { return lowerNumPrograms(op); })
      .Case([&](tile::ViewOp op) { return lowerView(op); })
      .Case([&](tile::GatherViewOp op) { return lowerGatherView(op); })
      .Case([&](tile::ExtentOp op) {
        mapScalar(op, view(op.getView()).extents[op.getDim()]);
        return success();
      })
      .Case([&](memref::SubViewOp op) { return lowerSubview(op); })
      .Case([&](memref::CastOp op) { return lowerMemoryCast(op); })
      .Case([&](memref::DimOp op) { return lowerMemoryDim(op); })
      .Case([&](memref::LoadOp op) { return lowerScalarLoad(op); })
      .Case([&](arith::SelectOp op) {
        return isa<MemRefType>(op.getType()) ? lowerMemorySelect(op) : lowerElementwise(op);
      })
      .Case([&](tile::LoadOp op) { return lowerLoad(op); })
      .Case([&](tile::StoreOp op) { return lowerStore(op); })
      .Case([&](tile::GatherOp op) { return lowerGather(op); })
      .Case([&](tile::ReduceOp op) { return lowerReduce(op); })
      .Case([&](tile::ScanOp op) { return lowerScan(op); })
      .Case([&](tile::BroadcastOp op) { return lowerBroadcast(op); })
      .Case([&](tile::TransposeOp op) { return lowerTranspose(op); })
      .Case([&](tile::SliceOp op) { return lowerSlice(op); })
      .Case([&](tile::ConcatOp op) { return lowerConcat(op); })
      .Case([&](tile::ConvertLayoutOp op) { return lowerConvertLayout(op); })
      .Case([&](tile::DotOp op) { return lowerDot(op); })
      .Case([&](tile_nv::DotOp op) { return lowerDot(op); })
      .Case([&](tile_nv::AllocOp op) { return lowerAlloc(op); })
      .Case([&](tile_nv::SlotOp op) { return lowerSlot(op); })
      .Case([&](tile_nv::LoadOp op) { return lowerSharedLoad(op); })
      .Case([&](tile_nv::StoreOp op) { return lowerSharedStore(op); })
      .Case([&](tile_nv::CopyAsyncOp op) { return lowerCopyAsync(op); })
      .Case([&](tile_nv::CommitGroupOp op) { return lowerCommitGroup(op); })
      .Case([&](tile_nv::WaitGroupOp op) { return lowerWaitGroup(op); })
      .Case([&](tile_nv::ReduceInThreadOp op) { return lowerReduceInThread(op); })
      .Case([&](tile_nv::BarrierOp op) { return lowerBarrier(op); })
      .Case([&](tile_nv::WarpBarrierOp op) { return lowerBarrier(op); })
      .Case([&](tile::IotaOp op) { return lowerIota(op); })
      .Case([&](arith::ConstantOp op) { return lowerConstant(op); })
      .Case<tensor::SplatOp, tensor::FromElementsOp>([&](auto op) { return lowerSplat(op); })
      .Case([&](tensor::ExtractOp op) { return lowerExtract(op); })
      .Default([&](Operation *op) { return lowerElementwise(op); });
}

LogicalResult KernelLowering::notSupported(Operation *op, const Twine &why) {
  InFlightDiagnostic error = op->emitOpError("is not supported in kernels for GPUs");
  if (!why.isTriviallyEmpty())
    error << ": " << why;
  return error;
}

//===----------------------------------------------------------------------===//
// Types and values
//===----------------------------------------------------------------------===//

Type KernelLowering::scalarType(Type type) { return type.isIndex() ? b.getI32Type() : type; }

FailureOr<Layout> KernelLowering::layoutOf(Operation *op, Type tile) {
  auto type = dyn_cast<RankedTensorType>(tile);
  if (!type)
    return op->emitOpError("expected a tile, got ") << tile;
  tile::LayoutAttr attr = tile::layoutOf(type);
  if (!attr && type.getRank() == 0)
    return Layout();
  if (!attr)
    return op->emitOpError("expected tiles with layouts, got ") << tile;
  const Layout &layout = attr.getLayout();
  for (Dim dim : {Dim::Warpgroup, Dim::CTA})
    if (layout.inSize(dim) > 1)
      return op->emitOpError("expected layouts of registers, lanes and warps, got ") << tile;
  if (layout.inSize(Dim::Warp) > warps)
    return op->emitOpError("expected a layout of at most ")
           << warps << " warps, got " << layout.inSize(Dim::Warp);
  return layout;
}

bool KernelLowering::isPaired(RankedTensorType type) {
  tile::LayoutAttr layout = tile::layoutOf(type);
  Type element = type.getElementType();
  return layout && (element.isF16() || element.isBF16()) &&
         layout.getLayout().inSize(Dim::Register) % 2 == 0;
}

FailureOr<SmallVector<Type>> KernelLowering::registerTypes(Operation *op, Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return SmallVector<Type>{scalarType(type)};
  FailureOr<Layout> layout = layoutOf(op, type);
  if (failed(layout))
    return failure();
  int64_t count = layout->inSize(Dim::Register);
  Type element = scalarType(tile.getElementType());
  if (isPaired(tile))
    return SmallVector<Type>(count / 2, VectorType::get({2}, element));
  return SmallVector<Type>(count, element);
}

SmallVector<Value> KernelLowering::registers(Value tile) {
  if (auto found = affineTiles.find(tile); found != affineTiles.end())
    return materialize(found->second);
  return tiles.lookup(tile);
}

SmallVector<Value> KernelLowering::elements(Value tile) {
  SmallVector<Value> kept = registers(tile);
  if (!isPaired(cast<RankedTensorType>(tile.getType())))
    return kept;
  SmallVector<Value> elements;
  llvm::DenseMap<Value, std::pair<Value, Value>> unpacked;
  for (Value pair : kept) {
    auto [entry, isNew] = unpacked.try_emplace(pair);
    if (isNew)
      entry->second = unpackPair(pair);
    elements.append({entry->second.first, entry->second.second});
  }
  return elements;
}

void KernelLowering::setRegisters(Value tile, ArrayRef<Value> registers) {
  tiles[tile].assign(registers.begin(), registers.end());
}

void KernelLowering::setElements(Value tile, ArrayRef<Value> elements) {
  if (!isPaired(cast<RankedTensorType>(tile.getType())))
    return setRegisters(tile, elements);
  SmallVector<Value> pairs;
  for (size_t reg = 0; reg < elements.size(); reg += 2)
    pairs.push_back(packPair(elements[reg], elements[reg + 1]));
  setRegisters(tile, pairs);
}

Value KernelLowering::packPair(Value low, Value high) {
  auto type = VectorType::get({2}, low.getType());
  // Two halves of one pair are that pair.
  auto lowHalf = low.getDefiningOp<LLVM::ExtractElementOp>();
  auto highHalf = high.getDefiningOp<LLVM::ExtractElementOp>();
  if (lowHalf && highHalf && lowHalf.getVector() == highHalf.getVector() &&
      lowHalf.getVector().getType() == type && constantOf(lowHalf.getPosition()) == 0 &&
      constantOf(highHalf.getPosition()) == 1)
    return lowHalf.getVector();
  Value pair = LLVM::UndefOp::create(b, type);
  pair = LLVM::InsertElementOp::create(b, pair, low, math.i32(0));
  return LLVM::InsertElementOp::create(b, pair, high, math.i32(1));
}

Value KernelLowering::repeatedPair(Value element) {
  auto type = VectorType::get({2}, element.getType());
  if (auto constant = element.getDefiningOp<arith::ConstantOp>())
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, constant.getValue()));
  return packPair(element, element);
}

std::pair<Value, Value> KernelLowering::unpackPair(Value pair) {
  return {LLVM::ExtractElementOp::create(b, pair, math.i32(0)),
          LLVM::ExtractElementOp::create(b, pair, math.i32(1))};
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Value KernelLowering::sharedBase() {
  if (!cachedShared) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&function.getBody().front());
    Value pointer = LLVM::AddressOfOp::create(
        b, LLVM::LLVMPointerType::get(b.getContext(), sharedMemorySpace), sharedMemoryName);
    cachedShared = LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer);
  }
  return cachedShared;
}

Value KernelLowering::sharedPointer(Value address, int64_t offset) {
  auto type = LLVM::LLVMPointerType::get(b.getContext(), sharedMemorySpace);
  return advance(LLVM::IntToPtrOp::create(b, type, address), offset);
}

LogicalResult KernelLowering::lowerAlloc(tile_nv::AllocOp op) {
  if (!op.getOffset())
    return op.emitOpError("expected an offset; tile-allocate-shared gives one");
  buffers[op.getBuffer()] = {op.getBuffer().getType(), sharedBase(), int64_t(*op.getOffset())};
  return success();
}

LogicalResult KernelLowering::lowerSlot(tile_nv::SlotOp op) {
  SharedBuffer ring = buffer(op.getRing());
  Value start = math.mul(scalar(op.getIndex()), ring.type.getSlotBytes());
  buffers[op.getBuffer()] = {op.getBuffer().getType(), math.add(ring.base, start), ring.offset};
  return success();
}

} // namespace heddle
