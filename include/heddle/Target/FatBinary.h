//===- FatBinary.h - one image for several chips ----------------*- C++ -*-===//

#ifndef HEDDLE_TARGET_FATBINARY_H
#define HEDDLE_TARGET_FATBINARY_H

#include "heddle/Target/CUDATools.h"

namespace heddle {

/// Code for one chip: a cubin, or PTX that the driver compiles for this chip and later ones.
struct ChipCode {
  llvm::StringRef chip;
  llvm::StringRef code;
  bool isPTX = false;
};

/// The image from which the driver loads the code that fits its device best.
llvm::Expected<std::string> buildFatBinary(const CUDATools &tools, llvm::ArrayRef<ChipCode> codes);

/// Machine code of a cubin as text.
llvm::Expected<std::string> disassemble(const CUDATools &tools, llvm::StringRef cubin);

} // namespace heddle

#endif // HEDDLE_TARGET_FATBINARY_H
