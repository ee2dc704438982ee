// Sparse attention of DeepSeek-V3.2: an indexer of 8 heads of 32 channels, half-split rope on the first 16 of them, chooses 8 keys for latent attention of 4 heads with YaRN.
//
// The types in the lines that begin with ! are those of --dtype; all else stays f32.

!x = tensor<?x?x128xf32>
!q_a_proj_weight = tensor<48x128xf32>
!q_a_layernorm_weight = tensor<48xf32>
!q_b_proj_weight = tensor<192x48xf32>
!kv_a_proj_with_mqa_weight = tensor<80x128xf32>
!kv_a_layernorm_weight = tensor<64xf32>
!kv_b_proj_weight = tensor<224x64xf32>
!o_proj_weight = tensor<128x96xf32>
!indexer_wq_b_weight = tensor<256x48xf32>
!indexer_wk_weight = tensor<32x128xf32>
!indexer_k_norm_weight = tensor<32xf32>
!indexer_k_norm_bias = tensor<32xf32>
!indexer_weights_proj_weight = tensor<8x128xf32>

#rows = affine_map<(b, t, o, d) -> (b, t, d)>
#weight = affine_map<(b, t, o, d) -> (o, d)>
#out = affine_map<(b, t, o, d) -> (b, t, o)>

func.func @layer(
    %x: !x {heddle.name = "x"},
    %start: tensor<?xi32> {heddle.name = "start"},
    %cache_c: tensor<?x?x64xf32> {heddle.name = "cache_c", heddle.dims = ["B", "C", ""], heddle.role = "cache", bufferization.writable = true},
    %cache_kpe: tensor<?x?x16xf32> {heddle.name = "cache_kpe", heddle.dims = ["B", "C", ""], heddle.role = "cache", bufferization.writable = true},
    %index_k: tensor<?x?x32xf32> {heddle.name = "index_k", heddle.dims = ["B", "C", ""], heddle.role = "cache", bufferization.writable = true},
    %q_a_proj_weight: !q_a_proj_weight {heddle.name = "q_a_proj.weight", heddle.role = "weight"},
    %q_a_layernorm_weight: !q_a_layernorm_weight {heddle.name = "q_a_layernorm.weight", heddle.role = "weight"},
    %q_b_proj_weight: !q_b_proj_weight {heddle.name = "q_b_proj.weight", heddle.role = "weight"},
    %kv_a_proj_with_mqa_weight: !kv_a_proj_with_mqa_weight {heddle.name = "kv_a_proj_with_mqa.weight", heddle.role = "weight"},
    %kv_a_layernorm_weight: !kv_a_layernorm_weight {heddle.name = "kv_a_layernorm.weight", heddle.role = "weight"},
    %kv_b_proj_weight: !kv_b_proj_weight {heddle.name = "kv_b_proj.weight", heddle.role = "weight"},
    %o_proj_weight: !o_proj_weight {heddle.name = "o_proj.weight", heddle.role = "weight"},
    %indexer_wq_b_weight: !indexer_wq_b_weight {heddle.name = "indexer.wq_b.weight", heddle.role = "weight"},
    %indexer_wk_weight: !indexer_wk_weight {heddle.name = "indexer.wk.weight", heddle.role = "weight"},
    %indexer_k_norm_weight: !indexer_k_norm_weight {heddle.name = "indexer.k_norm.weight", heddle.role = "weight"},
    %indexer_k_norm_bias: !indexer_k_norm_bias {heddle.name = "indexer.k_norm.bias", heddle.role = "weight"},
    %indexer_weights_proj_weight: !indexer_weights_proj_weight {heddle.name = "indexer.weights_proj.weight", heddle.role = "weight"})
    -> (
        tensor<?x?x128xf32> {heddle.name = "y"},
        tensor<?x?x?xf32> {heddle.name = "index_scores"},
        tensor<?x?x8xi32> {heddle.name = "topk_indices"},
        tensor<?x?x64xf32> {heddle.name = "cache_c", heddle.updates = "cache_c"},
        tensor<?x?x16xf32> {heddle.name = "cache_kpe", heddle.updates = "cache_kpe"},
        tensor<?x?x32xf32> {heddle.name = "index_k", heddle.updates = "index_k"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %B = tensor.dim %x, %c0 : !x
  %T = tensor.dim %x, %c1 : !x
  %C = tensor.dim %cache_c, %c1 : tensor<?x?x64xf32>
  %q_latent_empty = tensor.empty(%B, %T) : tensor<?x?x48xf32>
  %q_latent_zeros = linalg.fill ins(%zero : f32) outs(%q_latent_empty : tensor<?x?x48xf32>) -> tensor<?x?x48xf32>
  %q_latent = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %q_a_proj_weight : !x, !q_a_proj_weight) outs(%q_latent_zeros : tensor<?x?x48xf32>) -> tensor<?x?x48xf32>
  %q_normed = attn.rms_norm %q_latent, %q_a_layernorm_weight {eps = 1.0e-6 : f64} : tensor<?x?x48xf32>, !q_a_layernorm_weight
  %q_projected_empty = tensor.empty(%B, %T) : tensor<?x?x192xf32>
  %q_projected_zeros = linalg.fill ins(%zero : f32) outs(%q_projected_empty : tensor<?x?x192xf32>) -> tensor<?x?x192xf32>
  %q_projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%q_normed, %q_b_proj_weight : tensor<?x?x48xf32>, !q_b_proj_weight) outs(%q_projected_zeros : tensor<?x?x192xf32>) -> tensor<?x?x192xf32>
  %q = tensor.expand_shape %q_projected [[0], [1], [2, 3]] output_shape [%B, %T, 4, 48]
      : tensor<?x?x192xf32> into tensor<?x?x4x48xf32>
  %q_nope = tensor.extract_slice %q[0, 0, 0, 0] [%B, %T, 4, 32] [1, 1, 1, 1] : tensor<?x?x4x48xf32> to tensor<?x?x4x32xf32>
  %q_plain = tensor.extract_slice %q[0, 0, 0, 32] [%B, %T, 4, 16] [1, 1, 1, 1] : tensor<?x?x4x48xf32> to tensor<?x?x4x16xf32>
  %kv_empty = tensor.empty(%B, %T) : tensor<?x?x80xf32>
  %kv_zeros = linalg.fill ins(%zero : f32) outs(%kv_empty : tensor<?x?x80xf32>) -> tensor<?x?x80xf32>
  %kv = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %kv_a_proj_with_mqa_weight : !x, !kv_a_proj_with_mqa_weight) outs(%kv_zeros : tensor<?x?x80xf32>) -> tensor<?x?x80xf32>
  %c_plain = tensor.extract_slice %kv[0, 0, 0] [%B, %T, 64] [1, 1, 1] : tensor<?x?x80xf32> to tensor<?x?x64xf32>
  %c = attn.rms_norm %c_plain, %kv_a_layernorm_weight {eps = 1.0e-6 : f64} : tensor<?x?x64xf32>, !kv_a_layernorm_weight
  %k_flat = tensor.extract_slice %kv[0, 0, 64] [%B, %T, 16] [1, 1, 1] : tensor<?x?x80xf32> to tensor<?x?x16xf32>
  %k_plain = tensor.expand_shape %k_flat [[0], [1], [2, 3]] output_shape [%B, %T, 1, 16] : tensor<?x?x16xf32> into tensor<?x?x1x16xf32>
  %positions_empty = tensor.empty(%B, %T) : tensor<?x?xi32>
  %positions = linalg.generic {indexing_maps = [affine_map<(b, t) -> (b)>, affine_map<(b, t) -> (b, t)>],
                                iterator_types = ["parallel", "parallel"]}
      ins(%start : tensor<?xi32>) outs(%positions_empty : tensor<?x?xi32>) {
  ^bb0(%first: i32, %out: i32):
    %t = linalg.index 1 : index
    %t32 = arith.index_cast %t : index to i32
    %position = arith.addi %first, %t32 : i32
    linalg.yield %position : i32
  } -> tensor<?x?xi32>
  %q_rope = attn.rope %q_plain, %positions {interleaved, theta = 1.0e4 : f64, scaling = #attn.rope_yarn<factor = 40.0, original_max_position = 4096, beta_fast = 32.0, beta_slow = 1.0, truncate = true, mscale = 1.0, mscale_all_dim = 1.0>} : tensor<?x?x4x16xf32>, tensor<?x?xi32>
  %k_rope = attn.rope %k_plain, %positions {interleaved, theta = 1.0e4 : f64, scaling = #attn.rope_yarn<factor = 40.0, original_max_position = 4096, beta_fast = 32.0, beta_slow = 1.0, truncate = true, mscale = 1.0, mscale_all_dim = 1.0>} : tensor<?x?x1x16xf32>, tensor<?x?xi32>
  %c_row = tensor.expand_shape %c [[0], [1], [2, 3]] output_shape [%B, %T, 1, 64] : tensor<?x?x64xf32> into tensor<?x?x1x64xf32>
  %cache_c_rows = tensor.expand_shape %cache_c [[0], [1], [2, 3]] output_shape [%B, %C, 1, 64] : tensor<?x?x64xf32> into tensor<?x?x1x64xf32>
  %cache_kpe_rows = tensor.expand_shape %cache_kpe [[0], [1], [2, 3]] output_shape [%B, %C, 1, 16] : tensor<?x?x16xf32> into tensor<?x?x1x16xf32>
  %c_rows, %kpe_rows = attn.kv_append %cache_c_rows, %cache_kpe_rows, %c_row, %k_rope, %start
      : (tensor<?x?x1x64xf32>, tensor<?x?x1x16xf32>, tensor<?x?x1x64xf32>, tensor<?x?x1x16xf32>, tensor<?xi32>) -> (tensor<?x?x1x64xf32>, tensor<?x?x1x16xf32>)
  %latents = tensor.collapse_shape %c_rows [[0], [1], [2, 3]] : tensor<?x?x1x64xf32> into tensor<?x?x64xf32>
  %rope_keys = tensor.collapse_shape %kpe_rows [[0], [1], [2, 3]] : tensor<?x?x1x16xf32> into tensor<?x?x16xf32>
  %T32 = arith.index_cast %T : index to i32
  %length_empty = tensor.empty(%B) : tensor<?xi32>
  %length = linalg.generic {indexing_maps = [affine_map<(b) -> (b)>, affine_map<(b) -> (b)>], iterator_types = ["parallel"]}
      ins(%start : tensor<?xi32>) outs(%length_empty : tensor<?xi32>) {
  ^bb0(%first: i32, %out: i32):
    %end = arith.addi %first, %T32 : i32
    linalg.yield %end : i32
  } -> tensor<?xi32>
  %index_q_flat_empty = tensor.empty(%B, %T) : tensor<?x?x256xf32>
  %index_q_flat_zeros = linalg.fill ins(%zero : f32) outs(%index_q_flat_empty : tensor<?x?x256xf32>) -> tensor<?x?x256xf32>
  %index_q_flat = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%q_normed, %indexer_wq_b_weight : tensor<?x?x48xf32>, !indexer_wq_b_weight) outs(%index_q_flat_zeros : tensor<?x?x256xf32>) -> tensor<?x?x256xf32>
  %index_q_plain = tensor.expand_shape %index_q_flat [[0], [1], [2, 3]] output_shape [%B, %T, 8, 32] : tensor<?x?x256xf32> into tensor<?x?x8x32xf32>
  %index_q = attn.rope %index_q_plain, %positions {rotary_dim = 16 : i64, theta = 1.0e4 : f64, scaling = #attn.rope_yarn<factor = 40.0, original_max_position = 4096, beta_fast = 32.0, beta_slow = 1.0, truncate = true, mscale = 1.0, mscale_all_dim = 1.0>} : tensor<?x?x8x32xf32>, tensor<?x?xi32>
  %index_k_flat_empty = tensor.empty(%B, %T) : tensor<?x?x32xf32>
  %index_k_flat_zeros = linalg.fill ins(%zero : f32) outs(%index_k_flat_empty : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %index_k_flat = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %indexer_wk_weight : !x, !indexer_wk_weight) outs(%index_k_flat_zeros : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %index_k_normed = attn.layer_norm %index_k_flat, %indexer_k_norm_weight bias(%indexer_k_norm_bias : !indexer_k_norm_bias) {eps = 1.0e-6 : f64} : tensor<?x?x32xf32>, !indexer_k_norm_weight
  %index_k_plain = tensor.expand_shape %index_k_normed [[0], [1], [2, 3]] output_shape [%B, %T, 1, 32] : tensor<?x?x32xf32> into tensor<?x?x1x32xf32>
  %index_k_row = attn.rope %index_k_plain, %positions {rotary_dim = 16 : i64, theta = 1.0e4 : f64, scaling = #attn.rope_yarn<factor = 40.0, original_max_position = 4096, beta_fast = 32.0, beta_slow = 1.0, truncate = true, mscale = 1.0, mscale_all_dim = 1.0>} : tensor<?x?x1x32xf32>, tensor<?x?xi32>
  %index_weights_empty = tensor.empty(%B, %T) : tensor<?x?x8xf32>
  %index_weights_zeros = linalg.fill ins(%zero : f32) outs(%index_weights_empty : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %index_weights = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %indexer_weights_proj_weight : !x, !indexer_weights_proj_weight) outs(%index_weights_zeros : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %index_k_rows = tensor.expand_shape %index_k [[0], [1], [2, 3]] output_shape [%B, %C, 1, 32] : tensor<?x?x32xf32> into tensor<?x?x1x32xf32>
  // One cache: its partner has no channels.
  %no_cache = tensor.empty(%B, %C) : tensor<?x?x1x0xf32>
  %no_row = tensor.empty(%B, %T) : tensor<?x?x1x0xf32>
  %appended, %nothing = attn.kv_append %index_k_rows, %no_cache, %index_k_row, %no_row, %start
      : (tensor<?x?x1x32xf32>, tensor<?x?x1x0xf32>, tensor<?x?x1x32xf32>, tensor<?x?x1x0xf32>, tensor<?xi32>) -> (tensor<?x?x1x32xf32>, tensor<?x?x1x0xf32>)
  %index_keys = tensor.collapse_shape %appended [[0], [1], [2, 3]] : tensor<?x?x1x32xf32> into tensor<?x?x32xf32>
  %scores = attn.lightning_indexer %index_q, %index_keys, %index_weights kv_len(%length : tensor<?xi32>)
      {causal, scale = 0.0625 : f64} : (tensor<?x?x8x32xf32>, tensor<?x?x32xf32>, tensor<?x?x8xf32>) -> tensor<?x?x?xf32>
  %chosen = attn.top_k %scores {k = 8} : tensor<?x?x?xf32> -> tensor<?x?x8xi32>
  %o = attn.latent_attention %q_nope, %latents, %kv_b_proj_weight query_rope(%q_rope : tensor<?x?x4x16xf32>) key_rope(%rope_keys : tensor<?x?x16xf32>)
      kv_len(%length : tensor<?xi32>) indices(%chosen : tensor<?x?x8xi32>) {causal, scale = 0.2704675577217602 : f64}
      : (tensor<?x?x4x32xf32>, tensor<?x?x64xf32>, !kv_b_proj_weight) -> tensor<?x?x4x24xf32>
  %flat = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<?x?x4x24xf32> into tensor<?x?x96xf32>
  %projected_empty = tensor.empty(%B, %T) : tensor<?x?x128xf32>
  %projected_zeros = linalg.fill ins(%zero : f32) outs(%projected_empty : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%flat, %o_proj_weight : tensor<?x?x96xf32>, !o_proj_weight) outs(%projected_zeros : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  return %projected, %scores, %chosen, %latents, %rope_keys, %index_keys
      : tensor<?x?x128xf32>, tensor<?x?x?xf32>, tensor<?x?x8xi32>, tensor<?x?x64xf32>, tensor<?x?x16xf32>, tensor<?x?x32xf32>
}
