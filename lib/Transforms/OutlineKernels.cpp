//===- OutlineKernels.cpp - outline-kernels -------------------------------===//

#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"
#include "heddle/Transforms/Rounding.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// The type by which kernels take a buffer: extents, offset and outer strides are left to run time, so that one kernel serves all
/// shapes, layers and entries. A contiguous innermost dimension stays known, since vector code needs it.
MemRefType kernelType(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getRank() == 0 || failed(type.getStridesAndOffset(strides, offset)))
    return type;
  int64_t last = strides.back();
  int64_t dynamic = ShapedType::kDynamic;
  strides.assign(type.getRank(), dynamic);
  strides.back() = last;
  SmallVector<int64_t> shape(type.getRank(), dynamic);
  return MemRefType::get(shape, type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), dynamic, strides),
                         type.getMemorySpace());
}

/// What becomes a kernel.
struct KernelParts {
  SmallVector<linalg::LinalgOp> ops; ///< the last one gives the place
  linalg::LinalgOp name;
  memref::AllocOp
      scratch; ///< a buffer of the shape of the last op's output that the ops alone use, or null
};

class KernelOutliner {
public:
  KernelOutliner(ModuleOp module) : module(module), symbols(module) {}

  void outline(func::FuncOp entry, KernelParts &parts) {
    linalg::LinalgOp op = parts.ops.back();
    llvm::SetVector<Value> captured;
    for (linalg::LinalgOp each : parts.ops) {
      captured.insert(each->operand_begin(), each->operand_end());
      getUsedValuesDefinedAbove(each->getRegions(), captured);
    }
    if (parts.scratch)
      captured.remove(parts.scratch);
    // Constants are cloned into the kernel.
    SmallVector<Operation *> constants;
    SmallVector<Value> captures{entry.getArgument(0)};
    for (Value value : captured) {
      Operation *definition = value.getDefiningOp();
      if (definition && matchPattern(definition, m_Constant()))
        constants.push_back(definition);
      else
        captures.push_back(value);
    }

    OpBuilder builder(op);
    SmallVector<Value> arguments;
    for (Value value : captures) {
      if (auto type = dyn_cast<MemRefType>(value.getType()))
        value = builder.createOrFold<memref::CastOp>(op.getLoc(), kernelType(type), value);
      arguments.push_back(value);
    }
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> types;
    for (Value argument : arguments)
      types.push_back(argument.getType());
    std::string name = ("kernel_" + parts.name->getName().stripDialect()).str();
    auto kernel =
        func::FuncOp::create(builder, op.getLoc(), name, builder.getFunctionType(types, {}));
    kernel.setPrivate();
    symbols.insert(kernel);

    Block *body = kernel.addEntryBlock();
    builder.setInsertionPointToStart(body);
    IRMapping mapping;
    for (auto [outer, inner] : llvm::zip_equal(captures, body->getArguments()))
      mapping.map(outer, inner);
    for (Operation *constant : constants)
      builder.clone(*constant, mapping);
    if (parts.scratch)
      mapping.map(
          parts.scratch.getResult(),
          allocateScratch(builder, parts.scratch, mapping.lookup(op.getDpsInitOperand(0)->get())));
    for (linalg::LinalgOp each : parts.ops)
      builder.clone(*each, mapping);
    func::ReturnOp::create(builder, op.getLoc());

    builder.setInsertionPoint(op);
    func::CallOp::create(builder, op.getLoc(), kernel, arguments);
    for (linalg::LinalgOp each : parts.ops)
      each->erase();
    if (parts.scratch)
      parts.scratch->erase();
  }

private:
  static Value allocateScratch(OpBuilder &builder, memref::AllocOp outer, Value shape) {
    auto type = MemRefType::get(cast<MemRefType>(shape.getType()).getShape(),
                                outer.getType().getElementType());
    SmallVector<Value> sizes;
    for (int64_t i = 0; i < type.getRank(); ++i)
      sizes.push_back(memref::DimOp::create(builder, outer.getLoc(), shape, i));
    return memref::AllocOp::create(builder, outer.getLoc(), type, sizes, outer.getAlignmentAttr());
  }

  ModuleOp module;
  SymbolTable symbols;
};

/// The op that fills the output of product `op` with zeros, if nothing sees them but the product.
linalg::FillOp findZeros(linalg::LinalgOp op) {
  if (!linalg::isaContractionOpInterface(op))
    return nullptr;
  Value output = op.getDpsInitOperand(0)->get();
  // A view's zeros may be read through another view.
  if (!isa<BlockArgument>(output) && !output.getDefiningOp<memref::AllocOp>())
    return nullptr;
  linalg::FillOp zeros;
  for (Operation *user : output.getUsers()) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor)
      return nullptr;
    if (ancestor == op || op->isBeforeInBlock(ancestor))
      continue;
    auto fill = dyn_cast<linalg::FillOp>(user);
    if (zeros || !fill || fill != ancestor || !matchPattern(fill.value(), m_PosZeroFloat()))
      return nullptr;
    zeros = fill;
  }
  return zeros;
}

/// The allocation or argument that `buffer` is a view of; null where that isn't known.
Value findRoot(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(buffer);
  bool isKnown = argument ? isa<func::FuncOp>(argument.getOwner()->getParentOp())
                          : isa<memref::AllocOp, memref::GetGlobalOp>(buffer.getDefiningOp());
  return isKnown ? buffer : nullptr;
}

/// The op that rounds the output of product `op` if, next to `zeros`, nothing else uses it, and it can move to the product: nothing
/// happens in between, and it does not write what the product reads.
linalg::GenericOp findRounding(linalg::LinalgOp op, linalg::FillOp zeros) {
  auto output = op.getDpsInitOperand(0)->get().getDefiningOp<memref::AllocOp>();
  if (!output)
    return nullptr;
  linalg::GenericOp rounding;
  for (Operation *user : output->getUsers()) {
    if (user == op || user == zeros)
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(user);
    if (rounding || !generic || !isRounding(generic) ||
        generic.getInputs().front() != output.getResult())
      return nullptr;
    rounding = generic;
  }
  if (!rounding || rounding->getBlock() != op->getBlock())
    return nullptr;
  for (Operation *between = op->getNextNode(); between != rounding;
       between = between->getNextNode())
    if (!between || (!isa<memref::AllocOp>(between) && !isMemoryEffectFree(between)))
      return nullptr;
  Value root = findRoot(rounding.getOutputs().front());
  bool isApart = root && llvm::all_of(op.getDpsInputs(), [&](Value input) {
                   Value other = findRoot(input);
                   return other && other != root;
                 });
  return isApart ? rounding : nullptr;
}

/// Kernels in the order of `ops`.
llvm::MapVector<Operation *, KernelParts> formKernels(ArrayRef<linalg::LinalgOp> ops,
                                                      bool completeProducts) {
  llvm::MapVector<Operation *, KernelParts> kernels;
  llvm::SmallPtrSet<Operation *, 16> taken;
  for (linalg::LinalgOp op : ops)
    kernels[op] = {{op}, op, nullptr};
  for (linalg::LinalgOp op : ops) {
    linalg::FillOp zeros = completeProducts ? findZeros(op) : nullptr;
    if (!zeros)
      continue;
    taken.insert(zeros);
    KernelParts &parts = kernels[op];
    parts.ops.insert(parts.ops.begin(), linalg::LinalgOp(zeros));
    if (linalg::GenericOp rounding = findRounding(op, zeros)) {
      parts.ops.push_back(linalg::LinalgOp(rounding));
      parts.scratch = op.getDpsInitOperand(0)->get().getDefiningOp<memref::AllocOp>();
      taken.insert(rounding);
    }
  }
  kernels.remove_if([&](const auto &entry) { return taken.contains(entry.first); });
  return kernels;
}

/// Names the first op that neither bufferization nor a kernel took.
LogicalResult verifyLowered(func::FuncOp entry) {
  WalkResult result = entry.walk<WalkOrder::PreOrder>([](Operation *op) {
    auto isTensor = [](Type type) { return isa<TensorType>(type); };
    bool isBorder = isa<bufferization::ToTensorOp, bufferization::ToBufferOp>(op);
    bool isLinalg = isa<linalg::LinalgDialect>(op->getDialect());
    if (isLinalg || (!isBorder && (llvm::any_of(op->getOperandTypes(), isTensor) ||
                                   llvm::any_of(op->getResultTypes(), isTensor)))) {
      op->emitOpError("has no lowering to buffers and loops; write it as linalg structured ops");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using OutlineKernelsPassBase::OutlineKernelsPassBase;

  void runOnOperation() override {
    KernelOutliner outliner(getOperation());
    for (func::FuncOp entry : getEntries(getOperation())) {
      if (failed(verifyEntryContext(entry)))
        return signalPassFailure();
      SmallVector<memref::CopyOp> copies;
      entry.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
      for (memref::CopyOp copy : copies) {
        // An argument that is updated in place is copied to itself.
        if (memref::skipFullyAliasingOperations(copy.getSource()) !=
            memref::skipFullyAliasingOperations(copy.getTarget())) {
          OpBuilder builder(copy);
          linalg::CopyOp::create(builder, copy.getLoc(), copy.getSource(), copy.getTarget());
        }
        copy.erase();
      }
      SmallVector<linalg::LinalgOp> ops;
      entry.walk([&](linalg::LinalgOp op) {
        if (op.hasPureBufferSemantics())
          ops.push_back(op);
      });
      for (auto &[op, parts] : formKernels(ops, completeProducts))
        outliner.outline(entry, parts);
      if (failed(verifyLowered(entry)))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace heddle
