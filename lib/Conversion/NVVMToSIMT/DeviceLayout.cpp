//===- DeviceLayout.cpp - sizes and alignments on a GPU -------------------===//
//
// NVPTX's data layout: every scalar is aligned to its size, a vector to its size rounded up to a
// power of two. Modules of kernels do not spell it out, and MLIR's default differs (i64 has 4).
//
//===----------------------------------------------------------------------===//

#include "SimtRewriter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

uint64_t deviceAlignment(Type type) {
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return deviceAlignment(array.getElementType());
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type)) {
    uint64_t alignment = 1;
    for (Type member : structure.getBody())
      if (!structure.isPacked())
        alignment = std::max(alignment, deviceAlignment(member));
    return alignment;
  }
  return llvm::PowerOf2Ceil(deviceSize(type));
}

uint64_t deviceSize(Type type) {
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type))
    return pointer.getAddressSpace() == SharedSpace ? 4 : 8;
  if (auto vector = dyn_cast<VectorType>(type))
    return llvm::PowerOf2Ceil(
        llvm::divideCeil(vector.getNumElements() * vector.getElementTypeBitWidth(), 8));
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return array.getNumElements() * deviceSize(array.getElementType());
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type)) {
    uint64_t end = deviceFieldOffset(structure, structure.getBody().size());
    return llvm::alignTo(end, deviceAlignment(type));
  }
  return type.isIntOrFloat() ? llvm::PowerOf2Ceil(llvm::divideCeil(type.getIntOrFloatBitWidth(), 8))
                             : 1;
}

uint64_t deviceFieldOffset(LLVM::LLVMStructType structure, size_t field) {
  uint64_t offset = 0;
  auto align = [&](Type member) {
    if (!structure.isPacked())
      offset = llvm::alignTo(offset, deviceAlignment(member));
  };
  for (auto [i, member] : llvm::enumerate(structure.getBody())) {
    align(member);
    if (i == field)
      return offset;
    offset += deviceSize(member);
  }
  return offset;
}

} // namespace heddle
