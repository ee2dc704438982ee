//===- EntryToBuffers.cpp - entry-to-buffers ------------------------------===//

#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_ENTRYTOBUFFERSPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// Free strides but the innermost; or plain row-major.
MemRefType borderType(RankedTensorType type, bool contiguous) {
  if (contiguous || type.getRank() < 2)
    return MemRefType::get(type.getShape(), type.getElementType());
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  return MemRefType::get(type.getShape(), type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides));
}

class EntryConverter {
public:
  EntryConverter(func::FuncOp entry) : entry(entry), context(entry.getContext()) {}

  LogicalResult run() {
    if (failed(verifyEntryOnTensors(entry)))
      return failure();
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (!entry.getArgAttrOfType<StringAttr>(i, nameAttr))
        return entry.emitError() << "entry '" << entry.getName() << "' argument " << i
                                 << " has no heddle.name; run infer-entry-dims first";
    Block &body = entry.getBody().front();
    auto terminator = cast<func::ReturnOp>(body.getTerminator());
    unsigned numArguments = body.getNumArguments();

    llvm::StringMap<unsigned> updated;
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      if (auto name = entry.getResultAttrOfType<StringAttr>(i, updatesAttr))
        if (!updated.try_emplace(name.getValue(), i).second)
          return entry.emitError() << "entry '" << entry.getName() << "' updates argument '"
                                   << name.getValue() << "' by two results";

    body.insertArgument(0u, LLVM::LLVMPointerType::get(context), entry.getLoc());
    SmallVector<DictionaryAttr> attributes{DictionaryAttr::get(context)};
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    llvm::StringMap<Value> buffers;
    for (unsigned i = 0; i < numArguments; ++i) {
      BlockArgument argument = body.getArgument(i + 1);
      auto name = entry.getArgAttrOfType<StringAttr>(i, nameAttr);
      auto role = entry.getArgAttrOfType<StringAttr>(i, roleAttr);
      bool isWeight = role && role.getValue() == "weight";
      auto tensorType = cast<RankedTensorType>(argument.getType());
      argument.setType(borderType(tensorType, isWeight));
      auto tensor = bufferization::ToTensorOp::create(
          builder, argument.getLoc(), tensorType, argument, /*restrict=*/true,
          /*writable=*/updated.contains(name.getValue()));
      argument.replaceAllUsesExcept(tensor, tensor);
      tensors[argument] = tensor;
      attributes.push_back(entry.getArgAttrDict(i));
      buffers[name.getValue()] = argument;
    }

    // A returned value may be the old content of an argument that another result updates. So plain results are stored first; then
    // updates become values that bufferization places, knowing what is still read; last, each goes to its own argument. Only an
    // argument that becomes another one has to be copied here.
    builder.setInsertionPoint(terminator);
    SmallVector<std::pair<Value, Value>> updates;
    for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
      if (auto name = entry.getResultAttrOfType<StringAttr>(i, updatesAttr)) {
        Value argument = buffers.lookup(name.getValue());
        if (!argument)
          return entry.emitError() << "entry '" << entry.getName() << "' result " << i
                                   << " updates '" << name.getValue() << "', which is no argument";
        updates.push_back({value, argument});
        continue;
      }
      Value destination = body.addArgument(
          borderType(cast<RankedTensorType>(value.getType()), /*contiguous=*/true), value.getLoc());
      attributes.push_back(entry.getResultAttrDict(i));
      store(builder, value, destination, /*restrict=*/true);
    }
    for (auto &[value, argument] : updates) {
      Value source = value;
      while (Operation *view = source.getDefiningOp()) {
        if (!isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(view))
          break;
        source = view->getOperand(0);
      }
      auto old = source.getDefiningOp<bufferization::ToTensorOp>();
      if (old && old.getBuffer() != argument)
        value = bufferization::AllocTensorOp::create(builder, value.getLoc(),
                                                     cast<RankedTensorType>(value.getType()),
                                                     ValueRange(), value)
                    .getResult();
    }
    for (auto &[value, argument] : updates)
      value = bufferization::MaterializeInDestinationOp::create(builder, value.getLoc(), value,
                                                                tensors.lookup(argument))
                  .getResult();
    for (auto [value, argument] : updates)
      store(builder, value, argument, /*restrict=*/false);
    terminator.getOperandsMutable().clear();
    entry.setType(FunctionType::get(context, body.getArgumentTypes(), {}));
    entry.removeResAttrsAttr();
    entry.setAllArgAttrs(attributes);
    entry->setAttr(entryAttr, entry.getSymNameAttr());
    return success();
  }

private:
  static void store(OpBuilder &builder, Value tensor, Value buffer, bool restrict) {
    bufferization::MaterializeInDestinationOp::create(builder, tensor.getLoc(), Type(), tensor,
                                                      buffer, restrict, /*writable=*/true);
  }

  func::FuncOp entry;
  MLIRContext *context;
  /// The value that an argument's buffer holds at the start.
  llvm::DenseMap<Value, Value> tensors;
};

/// Gives every user of a filled tensor a fill of its own: sharing one would make bufferization copy it for each user that writes.
void repeatFills(func::FuncOp entry) {
  SmallVector<linalg::FillOp> fills;
  entry.walk([&](linalg::FillOp fill) { fills.push_back(fill); });
  for (linalg::FillOp fill : fills) {
    auto empty = fill.getDpsInitOperand(0)->get().getDefiningOp<tensor::EmptyOp>();
    if (!empty || fill->getNumResults() != 1)
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(llvm::drop_begin(fill->getUses()))) {
      OpBuilder builder(use.getOwner());
      auto storage = cast<tensor::EmptyOp>(builder.clone(*empty));
      IRMapping mapping;
      mapping.map(empty.getResult(), storage.getResult());
      use.set(builder.clone(*fill, mapping)->getResult(0));
    }
  }
}

struct EntryToBuffersPass : impl::EntryToBuffersPassBase<EntryToBuffersPass> {
  void runOnOperation() override {
    for (func::FuncOp entry : getEntries(getOperation())) {
      WalkResult calls = entry.walk([&](CallOpInterface call) {
        call.emitError() << "entry '" << entry.getName()
                         << "' calls a function that could not be inlined: it is recursive or has "
                            "no body";
        return WalkResult::interrupt();
      });
      if (calls.wasInterrupted() || failed(EntryConverter(entry).run()))
        return signalPassFailure();
      repeatFills(entry);
    }
  }
};

} // namespace
} // namespace heddle
