//===- HalfConversions.cpp - conversions that LLVM calls by name ----------===//
//
// LLVM turns conversions into calls of these functions where the processor has no instruction for
// them. They are compiler-rt's names and calling conventions; a module does not link compiler-rt.
//
//===----------------------------------------------------------------------===//

#include "heddle/Runtime/HalfFloat.h"

using heddle::detail::bitsAs;

extern "C" {

__bf16 __truncsfbf2(float value) { return bitsAs<__bf16>(heddle::floatToBFloat16(value)); }

__bf16 __truncdfbf2(double value) { return bitsAs<__bf16>(heddle::doubleToBFloat16(value)); }

_Float16 __truncsfhf2(float value) { return bitsAs<_Float16>(heddle::floatToFloat16(value)); }

_Float16 __truncdfhf2(double value) { return bitsAs<_Float16>(heddle::doubleToFloat16(value)); }

float __extendhfsf2(_Float16 value) { return heddle::float16ToFloat(bitsAs<uint16_t>(value)); }

} // extern "C"
