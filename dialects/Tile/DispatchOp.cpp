//===- DispatchOp.cpp - kernels run on tensors ----------------------------===//

#include "KernelUse.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace heddle::tile;
using bufferization::AliasingValueList;
using bufferization::AnalysisState;
using bufferization::BufferizationOptions;
using bufferization::BufferizationState;

Type heddle::tile::getKernelArgumentType(Type operand) {
  auto tensor = dyn_cast<RankedTensorType>(operand);
  if (!tensor)
    return operand;
  constexpr int64_t dynamic = ShapedType::kDynamic;
  int64_t rank = tensor.getRank();
  if (rank == 0)
    return MemRefType::get({}, tensor.getElementType());
  SmallVector<int64_t> strides(rank, dynamic);
  strides.back() = 1;
  return MemRefType::get(SmallVector<int64_t>(rank, dynamic), tensor.getElementType(),
                         StridedLayoutAttr::get(operand.getContext(), dynamic, strides));
}

LogicalResult heddle::tile::verifyKernelUse(Operation *op, SymbolTableCollection &symbols,
                                            FlatSymbolRefAttr name, TypeRange given) {
  Operation *symbol = symbols.lookupNearestSymbolFrom(op, name);
  if (!symbol)
    return op->emitOpError() << "expected a kernel named '" << name.getValue() << "', found none";
  auto noteAt = [&](InFlightDiagnostic diag) {
    diag.attachNote(symbol->getLoc()) << "'" << name.getValue() << "' is defined here";
    return diag;
  };
  auto kernel = dyn_cast<KernelOp>(symbol);
  if (!kernel)
    return noteAt(op->emitOpError()
                  << "expected '" << name.getValue() << "' to be a 'tile.kernel', got '"
                  << symbol->getName() << "'");
  ArrayRef<Type> types = kernel.getArgumentTypes();
  if (types.size() != given.size())
    return noteAt(op->emitOpError() << "expected " << types.size() << " arguments for kernel '"
                                    << name.getValue() << "', got " << given.size());
  for (auto [index, type, argument] : llvm::enumerate(types, given))
    if (argument != type)
      return noteAt(op->emitOpError() << "expected argument " << index << " to have type " << type
                                      << ", got " << argument);
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<Type> types;
  for (Value operand : llvm::concat<Value>(getIns(), getOuts()))
    types.push_back(getKernelArgumentType(operand.getType()));
  return verifyKernelUse(*this, symbols, getKernelAttr(), types);
}

//===----------------------------------------------------------------------===//
// Bufferization
//===----------------------------------------------------------------------===//

/// What programs do not store of `outs` stays.
bool DispatchOp::bufferizesToMemoryRead(OpOperand &, const AnalysisState &) { return true; }

bool DispatchOp::bufferizesToMemoryWrite(OpOperand &operand, const AnalysisState &) {
  return isDpsInit(&operand);
}

AliasingValueList DispatchOp::getAliasingValues(OpOperand &operand, const AnalysisState &) {
  if (!isDpsInit(&operand))
    return {};
  return {{getTiedOpResult(&operand), bufferization::BufferRelation::Equivalent}};
}

LogicalResult DispatchOp::bufferize(RewriterBase &rewriter, const BufferizationOptions &options,
                                    BufferizationState &state) {
  rewriter.setInsertionPoint(*this);
  SmallVector<Value> arguments, results;
  for (OpOperand &operand : llvm::drop_begin((*this)->getOpOperands(), 3)) {
    Value value = operand.get();
    if (isa<TensorType>(value.getType())) {
      FailureOr<Value> buffer = bufferization::getBuffer(rewriter, value, options, state);
      if (failed(buffer))
        return failure();
      if (isDpsInit(&operand))
        results.push_back(*buffer);
      Type type = getKernelArgumentType(value.getType());
      value = rewriter.createOrFold<memref::CastOp>(getLoc(), type, *buffer);
    }
    arguments.push_back(value);
  }
  LaunchOp::create(rewriter, getLoc(), getKernelAttr(), getX(), getY(), getZ(), arguments);
  bufferization::replaceOpWithBufferizedValues(rewriter, *this, results);
  return success();
}
