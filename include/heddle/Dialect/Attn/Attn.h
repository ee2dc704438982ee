//===- Attn.h - the attn dialect -------------------------------*- C++ -*-===//

#ifndef HEDDLE_DIALECT_ATTN_ATTN_H
#define HEDDLE_DIALECT_ATTN_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/bit.h"
#include <optional>

namespace heddle::attn {

/// A double that attributes can be uniqued by: compared and hashed by its bits.
struct Real {
  double value = 0;

  Real() = default;
  Real(double value) : value(value) {}
  operator double() const { return value; }

  uint64_t bits() const { return llvm::bit_cast<uint64_t>(value); }
  friend bool operator==(Real a, Real b) { return a.bits() == b.bits(); }
  friend bool operator!=(Real a, Real b) { return a.bits() != b.bits(); }
  friend llvm::hash_code hash_value(Real real) { return llvm::hash_value(real.bits()); }
};

/// The status that a call of a compiled entry returns; written by checks.
struct CallStatusResource : public mlir::SideEffects::Resource::Base<CallStatusResource> {
  llvm::StringRef getName() final { return "CallStatus"; }
};

} // namespace heddle::attn

namespace mlir {
/// A float literal without a type.
template <> struct FieldParser<heddle::attn::Real> {
  static FailureOr<heddle::attn::Real> parse(AsmParser &parser) {
    double value = 0;
    if (parser.parseFloat(value))
      return failure();
    return heddle::attn::Real(value);
  }
};
template <> struct FieldParser<std::optional<heddle::attn::Real>> {
  static FailureOr<std::optional<heddle::attn::Real>> parse(AsmParser &parser) {
    FailureOr<heddle::attn::Real> value = FieldParser<heddle::attn::Real>::parse(parser);
    if (failed(value))
      return failure();
    return std::optional<heddle::attn::Real>(*value);
  }
};
} // namespace mlir

#include "heddle/Dialect/Attn/AttnAttrInterfaces.h.inc"
#include "heddle/Dialect/Attn/AttnDialect.h.inc"
#include "heddle/Dialect/Attn/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/Attn/AttnAttrs.h.inc"

#define GET_OP_CLASSES
#include "heddle/Dialect/Attn/AttnOps.h.inc"

#endif // HEDDLE_DIALECT_ATTN_ATTN_H
