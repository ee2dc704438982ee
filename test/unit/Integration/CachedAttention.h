//===- CachedAttention.h - an entry that appends and attends ----*- C++ -*-===//

#ifndef HEDDLE_TEST_INTEGRATION_CACHEDATTENTION_H
#define HEDDLE_TEST_INTEGRATION_CACHEDATTENTION_H

#include "Program.h"

namespace heddle::test {

/// Text of an entry NAME(q, k, v, start, kv_len, k_cache, v_cache, o): 4 query and 2 key heads of
/// 16 channels, causal with a window of 6 keys; new rows go to start, then the cache is read up
/// to kv_len.
inline std::string cachedAttentionEntry(const std::string &name) {
  return "func.func @" + name + R"mlir((
      %q: tensor<?x?x4x16xf32> {heddle.name = "q"},
      %k: tensor<?x?x2x16xf32> {heddle.name = "k"},
      %v: tensor<?x?x2x16xf32> {heddle.name = "v"},
      %start: tensor<?xi32> {heddle.name = "start"},
      %kv_len: tensor<?xi32> {heddle.name = "kv_len"},
      %k_cache: tensor<?x?x2x16xf32> {heddle.name = "k_cache", heddle.role = "cache",
                                      bufferization.writable = true},
      %v_cache: tensor<?x?x2x16xf32> {heddle.name = "v_cache", heddle.role = "cache",
                                      bufferization.writable = true})
      -> (tensor<?x?x4x16xf32> {heddle.name = "o"},
          tensor<?x?x2x16xf32> {heddle.name = "k_cache", heddle.updates = "k_cache"},
          tensor<?x?x2x16xf32> {heddle.name = "v_cache", heddle.updates = "v_cache"}) {
    %k2, %v2 = attn.kv_append %k_cache, %v_cache, %k, %v, %start
        : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>,
           tensor<?x?x2x16xf32>, tensor<?xi32>)
        -> (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>)
    %o = attn.attention %q, %k2, %v2 kv_len(%kv_len : tensor<?xi32>)
        {causal, window = array<i64: 5, 0>}
        : (tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>)
        -> tensor<?x?x4x16xf32>
    return %o, %k2, %v2 : tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>
  }
)mlir";
}

} // namespace heddle::test

#endif // HEDDLE_TEST_INTEGRATION_CACHEDATTENTION_H
