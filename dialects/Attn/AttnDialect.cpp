//===- AttnDialect.cpp - registration of the attn dialect -----------------===//

#include "heddle/Dialect/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::attn {

static FailureOr<DenseF64ArrayAttr> parseRealList(AsmParser &parser) {
  SmallVector<double> values;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseFloat(values.emplace_back()); }))
    return failure();
  return DenseF64ArrayAttr::get(parser.getContext(), values);
}

static void printRealList(AsmPrinter &printer, DenseF64ArrayAttr list) {
  printer << '[';
  llvm::interleaveComma(list.asArrayRef(), printer, [&](double value) { printer << value; });
  printer << ']';
}

} // namespace heddle::attn

#include "heddle/Dialect/Attn/AttnAttrInterfaces.cpp.inc"
#include "heddle/Dialect/Attn/AttnDialect.cpp.inc"
#include "heddle/Dialect/Attn/AttnEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/Attn/AttnAttrs.cpp.inc"

namespace {
/// Functions of these operations can be called: each of them means the same anywhere.
struct AttnInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};
} // namespace

void heddle::attn::AttnDialect::initialize() {
  addInterfaces<AttnInlinerInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "heddle/Dialect/Attn/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "heddle/Dialect/Attn/AttnOps.cpp.inc"
      >();
}
