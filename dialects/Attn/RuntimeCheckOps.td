//===- RuntimeCheckOps.td - conditions checked when a module runs --------===//

#ifndef HEDDLE_ATTN_RUNTIME_CHECK_OPS_TD
#define HEDDLE_ATTN_RUNTIME_CHECK_OPS_TD

include "AttnDialect.td"

/// What a failing check changes: the status of the call. Keeps checks alive
/// and in order, without tying them to memory.
def Attn_CallStatus : Resource<"::heddle::attn::CallStatusResource">;

def Attn_RequireOp
    : Attn_Op<"require", [MemoryEffects<[MemWrite<Attn_CallStatus>]>]> {
  let summary = "the call fails unless a condition holds";
  let description = [{
    If `condition` is false, the entry returns an error status before it writes
    any result, with `message` as its text; `{0}`, `{1}`, ... stand for the
    decimal form of `values`.

    Constraints: every `{n}` in `message` has n < the number of `values`, of
    which there are at most 8.

    Example:

    ```mlir
    attn.require %ok, "heads {0} are not a multiple of {1}"
        (%a, %b : index, index)
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message,
                       Variadic<AnyTypeOf<[Index, I32, I64]>>:$values);
  let assemblyFormat = [{
    $condition `,` $message (`(` $values^ `:` type($values) `)`)? attr-dict
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Attn_RequireRangeOp : Attn_Op<"require_range",
    [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the call fails unless every element lies in a range";
  let description = [{
    Every element x of `values` must satisfy low <= x <= high. Otherwise the
    entry returns an error status before it writes any result; the text holds
    `name`, the element and the range. `values` is a tensor or, after
    bufferization, a memref of i32 or i64. An empty one always passes.

    Example:

    ```mlir
    attn.require_range %start in [%c0, %last], "start" : tensor<?xi32>
    ```
  }];
  let arguments = (ins
    AnyTypeOf<[RankedTensorOf<[I32, I64]>, MemRefOf<[I32, I64]>]>:$values,
    Index:$low, Index:$high, StrAttr:$name);
  let assemblyFormat = [{
    $values `in` ` ` `[` $low `,` $high `]` `,` $name attr-dict `:` type($values)
  }];
  let hasCanonicalizeMethod = 1;
}

#endif // HEDDLE_ATTN_RUNTIME_CHECK_OPS_TD
