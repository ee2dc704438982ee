//===- CacheOps.td - key and value caches --------------------------------===//

#ifndef HEDDLE_ATTN_CACHE_OPS_TD
#define HEDDLE_ATTN_CACHE_OPS_TD

include "AttnDialect.td"

def Attn_KvAppendOp : Attn_TensorOp<"kv_append",
    [AttrSizedOperandSegments,
     AllTypesMatch<["key_cache", "updated_key_cache"]>,
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

    Table entries that no new row needs may hold anything.

    With `slots` each row says where it goes, counted over all pages, or is
    skipped:

        s = slots[b, t]                                    if s is not -1:
        updated_key_cache[floor(s / page_size), s mod page_size]   = key[b, t]
        updated_value_cache[floor(s / page_size), s mod page_size] = value[b, t]

    So rows of sequences of any length can be packed in a batch of one. If several
    rows have one slot, it is unspecified which of them stays.

    With `new_len` only the first new_len[b] rows of sequence b are appended.

    One cache alone, such as that of latents, has a partner without channels: dv = 0.

    | name | shape | in pages | meaning |
    |---|---|---|---|
    | key_cache | [B, C, Hk, dk] | [pages, page_size, Hk, dk] | C = capacity |
    | value_cache | [B, C, Hk, dv] | [pages, page_size, Hk, dv] | |
    | key | [B, n, Hk, dk] | | any float type |
    | value | [B, n, Hk, dv] | | any float type |
    | start | [B], i32 or i64 | | row of the first new row; none with `slots` |
    | block_table | | [B, max_pages], i32 or i64 | pages of each sequence |
    | slots | | [B, n], i32 or i64 | place of each row, -1 = nowhere |
    | new_len | [B], i32 or i64 | | how many rows are new |

    Constraints: start or slots, and not both; block_table and new_len go with
    start. n <= C, or n <= max_pages * page_size, unless new_len or slots say how
    many rows there are. Any page size will do.

    Checked at run time, before anything is written: 0 <= new_len[b] <= n, which is
    n without it; 0 <= start[b] <= C - new_len[b], or 0 <= start[b] <= max_pages *
    page_size - new_len[b]; 0 <= entry < pages for each entry of the table that a new
    row needs; -1 <= slot < pages * page_size.

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
    %k4, %v4 = attn.kv_append %k_pages, %v_pages, %k, %v slots(%slots : tensor<?x?xi32>)
        : (tensor<?x16x2x16xbf16>, tensor<?x16x2x16xbf16>, tensor<?x?x2x16xf32>,
           tensor<?x?x2x16xf32>)
        -> (tensor<?x16x2x16xbf16>, tensor<?x16x2x16xbf16>)
    ```
    Source: `flash_attn_with_kvcache` of FlashAttention; slots as in vLLM.
  }];
  let arguments = (ins
    Attn_FloatTensor<4>:$key_cache, Attn_FloatTensor<4>:$value_cache,
    Attn_FloatTensor<4>:$key, Attn_FloatTensor<4>:$value,
    Optional<Attn_Lengths>:$start, Optional<Attn_BlockTable>:$block_table,
    Optional<Attn_BlockTable>:$slots, Optional<Attn_Lengths>:$new_len);
  let results = (outs Attn_FloatTensor<4>:$updated_key_cache,
                      Attn_FloatTensor<4>:$updated_value_cache);
  let builders = [
    /// Rows that follow each other, all of them new.
    OpBuilder<(ins "::mlir::Value":$key_cache, "::mlir::Value":$value_cache,
                   "::mlir::Value":$key, "::mlir::Value":$value, "::mlir::Value":$start,
                   "::mlir::Value":$block_table), [{
      ::mlir::Value none;
      build($_builder, $_state, key_cache.getType(), value_cache.getType(), key_cache,
            value_cache, key, value, start, block_table, /*slots=*/none, /*new_len=*/none);
    }]>];
  let assemblyFormat = [{
    $key_cache `,` $value_cache `,` $key `,` $value (`,` $start^)?
    oilist(
        `block_table` `(` $block_table `:` type($block_table) `)`
      | `slots` `(` $slots `:` type($slots) `)`
      | `new_len` `(` $new_len `:` type($new_len) `)`
    )
    attr-dict `:`
    `(` type($key_cache) `,` type($value_cache) `,` type($key) `,` type($value)
    (`,` type($start)^)? `)` `->`
    `(` type($updated_key_cache) `,` type($updated_value_cache) `)`
  }];
}

#endif // HEDDLE_ATTN_CACHE_OPS_TD
