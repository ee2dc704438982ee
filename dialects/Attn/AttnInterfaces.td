//===- AttnInterfaces.td - interfaces of attn attributes -----------------===//

#ifndef HEDDLE_ATTN_INTERFACES_TD
#define HEDDLE_ATTN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Attn_RopeScalingAttrInterface : AttrInterface<"RopeScalingAttrInterface"> {
  let cppNamespace = "::heddle::attn";
  let description = [{
    A rule that changes the inverse frequencies of a rotary embedding, and
    possibly the magnitude of cos and sin. With r = rotary_dim the plain
    frequencies are f_i = theta^(-2 i / r), i = 0 .. r/2 - 1. All values are
    computed in double precision; users round to f32 once.
  }];
  let methods = [
    InterfaceMethod<[{
      The r/2 inverse frequencies. `length` (largest position + 1) matters only
      if dependsOnLength().
    }], "::llvm::SmallVector<double>", "invFreq",
      (ins "double":$theta, "int64_t":$rotaryDim, "int64_t":$length)>,
    InterfaceMethod<[{
      The factor on cos and sin.
    }], "double", "attentionFactor">,
    InterfaceMethod<[{
      Whether the frequencies depend on the length of the sequence.
    }], "bool", "dependsOnLength">,
    InterfaceMethod<[{
      Checks that the rule applies to `rotaryDim` channels.
    }], "::llvm::LogicalResult", "verifyFor",
      (ins "int64_t":$rotaryDim,
           "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
  ];
}

#endif // HEDDLE_ATTN_INTERFACES_TD
