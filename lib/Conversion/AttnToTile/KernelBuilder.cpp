//===- KernelBuilder.cpp - a kernel and its dispatch ----------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace heddle {

KernelBuilder::KernelBuilder(KernelTable &kernels, ImplicitLocOpBuilder &host, StringRef name)
    : kernels(kernels), host(host) {
  OpBuilder::InsertionGuard guard(host);
  host.clearInsertionPoint();
  kernel = tile::KernelOp::create(host, name, TypeRange());
  kernel.setPrivate();
  body.emplace(host.getLoc(), OpBuilder::atBlockEnd(&kernel.getBody().front()));
}

/// Tensors that are loaded, scalars, and tensors that are stored stand in this order.
Value KernelBuilder::insertArgument(unsigned position, Value operand) {
  return kernel.getBody().insertArgument(position, tile::getKernelArgumentType(operand.getType()),
                                         operand.getLoc());
}

Value KernelBuilder::input(Value tensor) {
  Value &known = arguments[tensor];
  if (known)
    return known;
  Value added = insertArgument(inputs.size(), tensor);
  inputs.push_back(tensor);
  return arguments[tensor] = added;
}

Value KernelBuilder::scalar(Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return arith::ConstantOp::create(*body, cast<TypedAttr>(constant));
  Value &known = arguments[value];
  if (known)
    return known;
  Value added = insertArgument(inputs.size() + scalars.size(), value);
  scalars.push_back(value);
  return arguments[value] = added;
}

Value KernelBuilder::output(Value init) {
  Value added = insertArgument(kernel.getBody().getNumArguments(), init);
  outputs.push_back(init);
  return outputArguments[init] = added;
}

Value KernelBuilder::argument(Value tensor) {
  if (Value known = outputArguments.lookup(tensor))
    return known;
  return input(tensor);
}

Index KernelBuilder::extentInKernel(const GridAxis &axis) {
  if (!axis.tensor)
    return body->index(axis.number);
  auto type = cast<RankedTensorType>(axis.tensor.getType());
  Index extent = type.isDynamicDim(axis.dim) ? body->dim(argument(axis.tensor), axis.dim)
                                             : body->index(type.getDimSize(axis.dim));
  return ceilDiv(extent, axis.number);
}

SmallVector<Index> KernelBuilder::setGrid(ArrayRef<GridAxis> axes) {
  programs = arith::ConstantIndexOp::create(host, 1);
  for (const GridAxis &axis : axes) {
    Value count = arith::ConstantIndexOp::create(host, axis.number);
    if (axis.tensor) {
      Value extent = host.createOrFold<tensor::DimOp>(axis.tensor, axis.dim);
      count = axis.number == 1 ? extent : host.createOrFold<arith::CeilDivUIOp>(extent, count);
    }
    programs = host.createOrFold<arith::MulIOp>(programs, count);
  }
  auto isSingle = [](const GridAxis &axis) {
    if (!axis.tensor)
      return axis.number == 1;
    auto type = cast<RankedTensorType>(axis.tensor.getType());
    return !type.isDynamicDim(axis.dim) && type.getDimSize(axis.dim) == 1;
  };
  SmallVector<Index> coordinates(axes.size(), body->index(0));
  Index rest = body->programId(tile::Axis::X);
  const GridAxis *last = llvm::find_if_not(llvm::reverse(axes), isSingle).base();
  for (auto [number, axis] : llvm::enumerate(axes)) {
    if (isSingle(axis))
      continue;
    if (&axis + 1 == last) {
      coordinates[number] = rest;
      break;
    }
    Index extent = extentInKernel(axis);
    coordinates[number] = rest % extent;
    rest = rest / extent;
  }
  return coordinates;
}

void KernelBuilder::noteLoops(Value tensor, const Placement &at) {
  SmallVector<int64_t> &known = loops[tensor];
  known.resize(at.size(), -1);
  for (auto [dim, place] : llvm::enumerate(at))
    if (place.loop >= 0)
      known[dim] = place.loop;
}

void KernelBuilder::noteProduct(ArrayRef<std::pair<Value, int64_t>> extents) {
  for (auto [tensor, dim] : extents)
    input(tensor);
  products.emplace_back(extents);
}

/// Arguments have their final numbers now.
ArrayAttr KernelBuilder::neededFlops() {
  SmallVector<Attribute> terms;
  for (ArrayRef<std::pair<Value, int64_t>> product : products) {
    SmallVector<int64_t> extents;
    for (auto [tensor, dim] : product)
      extents.append({cast<BlockArgument>(input(tensor)).getArgNumber(), dim});
    terms.push_back(tile::ProductsAttr::get(
        host.getContext(), /*flops=*/2, host.getDenseI64ArrayAttr(extents), std::nullopt,
        std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt));
  }
  return terms.empty() ? nullptr : host.getArrayAttr(terms);
}

tile::DispatchOp KernelBuilder::finish(tile::ConfigAttr config, ArrayRef<StringRef> ops) {
  tile::ReturnOp::create(*body);
  // Views are made where they are used, many of them in loops.
  kernel.walk([](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
  SmallVector<Type> types(kernel.getBody().getArgumentTypes());
  kernel.setFunctionType(host.getFunctionType(types, {}));
  kernel.setConfigAttr(config);
  kernel->setAttr("heddle.ops", host.getStrArrayAttr(ops));
  if (ArrayAttr needed = neededFlops())
    kernel.setNeededFlopsAttr(needed);
  kernel = kernels.insertOrReuse(kernel);

  SmallVector<Value> ins(inputs);
  llvm::append_range(ins, scalars);
  Value one = arith::ConstantIndexOp::create(host, 1);
  auto dispatch =
      tile::DispatchOp::create(host, ValueRange(outputs).getTypes(), FlatSymbolRefAttr::get(kernel),
                               programs, one, one, ins, outputs);
  SmallVector<Attribute> noted;
  for (Value tensor : llvm::concat<Value>(inputs, outputs)) {
    SmallVector<int64_t> ofTensor = loops.lookup(tensor);
    ofTensor.resize(cast<RankedTensorType>(tensor.getType()).getRank(), -1);
    noted.push_back(host.getDenseI64ArrayAttr(ofTensor));
  }
  dispatch->setAttr("heddle.loops", host.getArrayAttr(noted));
  return dispatch;
}

} // namespace heddle
