//===- SharedAccess.cpp - tile_nv.load and tile_nv.store ------------------===//
//
// A load whose registers are matrices of ldmatrix is one; every other access is as wide as its elements are contiguous, unless
// narrower vectors meet fewer bank conflicts.
//
//===----------------------------------------------------------------------===//

#include "SharedAccess.h"

#include "heddle/Layout/BankConflicts.h"
#include "heddle/Layout/LayoutQueries.h"

using namespace mlir;
using namespace heddle;

using layout::Dim;
using layout::Layout;

Type heddle::memoryElement(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isIndex())
    return IntegerType::get(element.getContext(), 32);
  return element;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static Layout offsetsOf(const SharedBuffer &buffer, const Layout &coordinates) {
  // The buffer's verifier ensures that the layout holds each element once, and that of its users that the tiles are equal.
  return *layout::compose(*buffer.type.getLayout().getLayout().inverse(), coordinates);
}

SharedAddresses::SharedAddresses(KernelLowering &lowering, const SharedBuffer &buffer,
                                 const Layout &coordinates, bool opaque,
                                 ArrayRef<std::pair<Dim, Value>> otherInputs)
    : lowering(lowering), offsetLayout(offsetsOf(buffer, coordinates)),
      arithmetic(offsetLayout, Dim::Offset, buffer.type.getElementBytes()), bufferBase(buffer.base),
      bufferOffset(buffer.offset), alignment(buffer.type.getAlignment()), type(buffer.type) {
  SmallVector<std::pair<Dim, Value>> inputs = lowering.threadInputs();
  inputs.append(otherInputs.begin(), otherInputs.end());
  threadPart = arithmetic.thread(lowering.math, inputs);
  base = lowering.math.add(buffer.base, threadPart);
  if (opaque)
    base = lowering.opaqueMove("mov.b32 $0, $1;", base);
}

LogicalResult SharedAddresses::verify(Operation *op) const {
  if (arithmetic.isValid())
    return success();
  return op->emitOpError("expected a buffer whose swizzle is a XOR of address bits, got ") << type;
}

Value SharedAddresses::pointer(int64_t reg) {
  int64_t bits = arithmetic.toggled(reg);
  Value &address = addressOf[bits];
  if (!address) {
    // Below the alignment of the buffer, the finished address has the bits of the thread's part.
    address = bits < alignment
                  ? lowering.math.bitXor(base, bits)
                  : lowering.math.add(bufferBase, lowering.math.bitXor(threadPart, bits));
  }
  return lowering.sharedPointer(address, bufferOffset + arithmetic.added(reg));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

VectorAccess heddle::chooseVectors(const Layout &coordinates, const Layout &shared,
                                   const Layout &offsets, int64_t elementBytes) {
  layout::ContiguousElements run = layout::contiguousElements(offsets, Dim::Offset);
  int64_t most = std::min<int64_t>(run.count, 16 / elementBytes), best = 1;
  std::optional<layout::AccessCost> bestCost;
  // One warp stands for all.
  Layout warp = coordinates.restrictInputs({Dim::Register, Dim::Lane});
  for (int64_t count = most; count >= 1; count /= 2) {
    auto cost = layout::transferCost(warp, shared, elementBytes * 8, count * elementBytes);
    if (!cost)
      continue;
    if (!bestCost || cost->wavefronts < bestCost->wavefronts) {
      bestCost = cost;
      best = count;
    }
  }

  VectorAccess access{best, {}};
  SmallVector<int64_t> weights;
  for (const layout::Axis &axis : offsets.inputs())
    if (axis.dim == Dim::Register)
      weights.append(axis.weights.begin(), axis.weights.end());
  int64_t bits = llvm::Log2_64(best);
  for (int64_t reg = 0, count = offsets.inSize(Dim::Register); reg < count; ++reg) {
    auto weight = [&](int64_t bit) { return weights[run.registerBits[bit]]; };
    if (llvm::any_of(llvm::seq(bits), [&](int64_t bit) { return reg / weight(bit) % 2 != 0; }))
      continue;
    SmallVector<int64_t> &registers = access.registers.emplace_back();
    for (int64_t element = 0; element < best; ++element) {
      registers.push_back(reg);
      for (int64_t bit = 0; bit < bits; ++bit)
        registers.back() += (element >> bit & 1) * weight(bit);
    }
  }
  return access;
}

SmallVector<Value> heddle::loadVector(KernelLowering &lowering, Value pointer, Type element,
                                      int64_t count) {
  ImplicitLocOpBuilder &b = lowering.b;
  int64_t bytes = count * tile_nv::bytesOfElement(element);
  if (count == 1)
    return {LLVM::LoadOp::create(b, element, pointer, bytes)};
  Value vector = LLVM::LoadOp::create(b, VectorType::get(count, element), pointer, unsigned(bytes));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(LLVM::ExtractElementOp::create(b, vector, lowering.math.i32(i)));
  return elements;
}

void heddle::storeVector(KernelLowering &lowering, Value pointer, ValueRange elements) {
  ImplicitLocOpBuilder &b = lowering.b;
  Type element = elements.front().getType();
  int64_t bytes = elements.size() * tile_nv::bytesOfElement(element);
  Value stored = elements.front();
  if (elements.size() > 1) {
    stored = LLVM::PoisonOp::create(b, VectorType::get(elements.size(), element));
    for (auto [i, value] : llvm::enumerate(elements))
      stored = LLVM::InsertElementOp::create(b, stored, value, lowering.math.i32(i));
  }
  LLVM::StoreOp::create(b, stored, pointer, unsigned(bytes));
}

SmallVector<Value> heddle::loadMatrices(KernelLowering &lowering, Value pointer, int matrices,
                                        bool transposed) {
  ImplicitLocOpBuilder &b = lowering.b;
  Type word = b.getI32Type(), result = word;
  if (matrices > 1)
    result = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(matrices, word));
  Value loaded = NVVM::LdMatrixOp::create(
      b, result, pointer, matrices, transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
  if (matrices == 1)
    return {loaded};
  SmallVector<Value> words;
  for (int64_t i = 0; i < matrices; ++i)
    words.push_back(LLVM::ExtractValueOp::create(b, loaded, i));
  return words;
}

std::optional<layout::MatrixAccess> heddle::matrixAccess(const Layout &coordinates,
                                                         const Layout &shared, Type element) {
  int64_t bits = memoryElement(element).getIntOrFloatBitWidth();
  if (bits > 32 || element.isInteger(1))
    return std::nullopt;
  if (auto plain = layout::matchMatrixAccess(coordinates, shared, bits, false))
    return plain;
  if (bits != 16)
    return std::nullopt;
  return layout::matchMatrixAccess(coordinates, shared, bits, true);
}

/// The elements in a word that ldmatrix has read.
static void unpackWord(KernelLowering &lowering, Value word, Type element,
                       SmallVectorImpl<Value> &elements) {
  ImplicitLocOpBuilder &b = lowering.b;
  int64_t bits = element.getIntOrFloatBitWidth();
  if (bits == 32) {
    elements.push_back(LLVM::BitcastOp::create(b, element, word));
    return;
  }
  Value vector = LLVM::BitcastOp::create(b, VectorType::get(32 / bits, element), word);
  for (int64_t i = 0; i < 32 / bits; ++i)
    elements.push_back(LLVM::ExtractElementOp::create(b, vector, lowering.math.i32(i)));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerSharedLoad(tile_nv::LoadOp op) {
  const SharedBuffer &from = buffer(op.getBuffer());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  FailureOr<Layout> coordinates = layoutOf(op, type);
  if (failed(coordinates))
    return failure();
  const Layout &shared = from.type.getLayout().getLayout();
  Type element = memoryElement(type.getElementType());

  if (auto matrices = matrixAccess(*coordinates, shared, type.getElementType())) {
    SharedAddresses addresses(*this, from, matrices->addresses);
    if (failed(addresses.verify(op)))
      return failure();
    SmallVector<Value> values;
    bool isPair = isPaired(type);
    for (int64_t i = 0, count = matrices->addresses.inSize(Dim::Register); i < count; ++i)
      for (Value word :
           loadMatrices(*this, addresses.pointer(i), matrices->matrices, matrices->transposed)) {
        if (isPair)
          values.push_back(LLVM::BitcastOp::create(b, VectorType::get(2, element), word));
        else
          unpackWord(*this, word, element, values);
      }
    if (isPair)
      setRegisters(op.getResult(), values);
    else
      setElements(op.getResult(), values);
    return success();
  }

  SharedAddresses addresses(*this, from, *coordinates);
  if (failed(addresses.verify(op)))
    return failure();
  int64_t bytes = from.type.getElementBytes();
  VectorAccess access = chooseVectors(*coordinates, shared, addresses.offsets(), bytes);
  SmallVector<Value> values(coordinates->inSize(Dim::Register));
  for (ArrayRef<int64_t> vector : access.registers) {
    SmallVector<Value> loaded =
        loadVector(*this, addresses.pointer(vector.front()), element, access.elements);
    for (auto [reg, value] : llvm::zip_equal(vector, loaded))
      values[reg] = type.getElementType().isInteger(1)
                        ? math.compare(arith::CmpIPredicate::ne, value, 0)
                        : value;
  }
  setElements(op.getResult(), values);
  return success();
}

LogicalResult KernelLowering::lowerSharedStore(tile_nv::StoreOp op) {
  const SharedBuffer &to = buffer(op.getBuffer());
  auto type = cast<RankedTensorType>(op.getTile().getType());
  FailureOr<Layout> coordinates = layoutOf(op, type);
  if (failed(coordinates))
    return failure();
  const Layout &shared = to.type.getLayout().getLayout();

  SmallVector<Value> values = elements(op.getTile());
  if (type.getElementType().isInteger(1))
    for (Value &value : values)
      value = arith::ExtUIOp::create(b, b.getI8Type(), value);

  OpBuilder::InsertionGuard guard(b);
  SharedAddresses addresses(*this, to, *coordinates);
  if (failed(addresses.verify(op)))
    return failure();
  VectorAccess access =
      chooseVectors(*coordinates, shared, addresses.offsets(), to.type.getElementBytes());
  SmallVector<int64_t> holders = firstRegisters(*coordinates);
  if (Value isFirst = isFirstHolder(math, *coordinates, lane(), warp(), warps)) {
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  for (ArrayRef<int64_t> vector : access.registers) {
    if (holders[vector.front()] != vector.front())
      continue;
    SmallVector<Value> stored;
    for (int64_t reg : vector)
      stored.push_back(values[reg]);
    storeVector(*this, addresses.pointer(vector.front()), stored);
  }
  return success();
}
