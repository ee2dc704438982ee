//===- CacheOps.td - key and value caches --------------------------------===//

#ifndef HEDDLE_ATTN_CACHE_OPS_TD
#define HEDDLE_ATTN_CACHE_OPS_TD

include "AttnDialect.td"

def Attn_KvAppendOp : Attn_TensorOp<"kv_append",
    [AllTypesMatch<["key_cache", "updated_key_cache"]>,
     AllTypesMatch<["value_cache", "updated_value_cache"]>]> {
  let summary = "writes new key and value rows into a cache";
  let description = [{
    For batch b and new row t = 0 .. n - 1:

        updated_key_cache[b, start[b] + t]   = key[b, t]
        updated_value_cache[b, start[b] + t] = value[b, t]

    All other rows keep their value. Rows are converted to the element type of
    the cache, rounding to nearest even. If the caches may be overwritten, the
    compiler updates them in place.

    | name | shape | meaning |
    |---|---|---|
    | key_cache | [B, C, Hk, dk] | C = capacity |
    | value_cache | [B, C, Hk, dv] | |
    | key | [B, n, Hk, dk] | any float type |
    | value | [B, n, Hk, dv] | any float type |
    | start | [B], i32 or i64 | 0 <= start[b] <= C - n, checked at run time |

    Constraints: n <= C.

    Example:

    ```mlir
    %k2, %v2 = attn.kv_append %k_cache, %v_cache, %k, %v, %start
        : (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x2x16xf32>,
           tensor<?x?x2x16xf32>, tensor<?xi32>)
        -> (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>)
    ```
    Source: `flash_attn_with_kvcache` of FlashAttention.
  }];
  let arguments = (ins
    Attn_FloatTensor<4>:$key_cache, Attn_FloatTensor<4>:$value_cache,
    Attn_FloatTensor<4>:$key, Attn_FloatTensor<4>:$value,
    Attn_Lengths:$start);
  let results = (outs Attn_FloatTensor<4>:$updated_key_cache,
                      Attn_FloatTensor<4>:$updated_value_cache);
  let assemblyFormat = [{
    $key_cache `,` $value_cache `,` $key `,` $value `,` $start attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif // HEDDLE_ATTN_CACHE_OPS_TD
