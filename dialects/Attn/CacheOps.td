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

    With `block_table` the caches are pages, in no order, and position
    p = start[b] + t of sequence b is slot p mod page_size of a page that the
    table names:

        page = block_table[b, floor(p / page_size)]
        updated_key_cache[page, p mod page_size]   = key[b, t]
        updated_value_cache[page, p mod page_size] = value[b, t]

    Table entries that no new row needs may hold anything. If several rows have
    one slot, it is unspecified which of them stays.

    | name | shape | with `block_table` | meaning |
    |---|---|---|---|
    | key_cache | [B, C, Hk, dk] | [pages, page_size, Hk, dk] | C = capacity |
    | value_cache | [B, C, Hk, dv] | [pages, page_size, Hk, dv] | |
    | key | [B, n, Hk, dk] | | any float type |
    | value | [B, n, Hk, dv] | | any float type |
    | start | [B], i32 or i64 | | row of the first new row |
    | block_table | | [B, max_pages], i32 or i64 | pages of each sequence |

    Constraints: n <= C, or n <= max_pages * page_size. Any page size will do.

    Checked at run time, before anything is written: 0 <= start[b] <= C - n, or
    0 <= start[b] <= max_pages * page_size - n; and 0 <= entry < pages for each
    entry of the table that a new row needs.

    Examples:

    ```mlir
    %k2, %v2 = attn.kv_append %k_cache, %v_cache, %k, %v, %start
        : (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x2x16xf32>,
           tensor<?x?x2x16xf32>, tensor<?xi32>)
        -> (tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>)
    %k3, %v3 = attn.kv_append %k_pages, %v_pages, %k, %v, %start
        block_table(%table : tensor<?x?xi32>)
        : (tensor<?x16x2x16xbf16>, tensor<?x16x2x16xbf16>, tensor<?x?x2x16xf32>,
           tensor<?x?x2x16xf32>, tensor<?xi32>)
        -> (tensor<?x16x2x16xbf16>, tensor<?x16x2x16xbf16>)
    ```
    Source: `flash_attn_with_kvcache` of FlashAttention.
  }];
  let arguments = (ins
    Attn_FloatTensor<4>:$key_cache, Attn_FloatTensor<4>:$value_cache,
    Attn_FloatTensor<4>:$key, Attn_FloatTensor<4>:$value,
    Attn_Lengths:$start, Optional<Attn_BlockTable>:$block_table);
  let results = (outs Attn_FloatTensor<4>:$updated_key_cache,
                      Attn_FloatTensor<4>:$updated_value_cache);
  let assemblyFormat = [{
    $key_cache `,` $value_cache `,` $key `,` $value `,` $start
    (`block_table` `(` $block_table^ `:` type($block_table) `)`)? attr-dict `:`
    `(` type($key_cache) `,` type($value_cache) `,` type($key) `,` type($value)
    `,` type($start) `)` `->`
    `(` type($updated_key_cache) `,` type($updated_value_cache) `)`
  }];
}

#endif // HEDDLE_ATTN_CACHE_OPS_TD
