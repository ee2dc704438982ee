// Full attention of Kimi Linear: latent attention without positions, 4 heads, latent of 64, 32 + 16 channels of keys, 24 of values.
//
// The types in the lines that begin with ! are those of --dtype; all else stays f32.

!x = tensor<?x?x128xf32>
!q_proj_weight = tensor<192x128xf32>
!kv_a_proj_with_mqa_weight = tensor<80x128xf32>
!kv_a_layernorm_weight = tensor<64xf32>
!kv_b_proj_weight = tensor<224x64xf32>
!o_proj_weight = tensor<128x96xf32>

#rows = affine_map<(b, t, o, d) -> (b, t, d)>
#weight = affine_map<(b, t, o, d) -> (o, d)>
#out = affine_map<(b, t, o, d) -> (b, t, o)>

func.func @layer(
    %x: !x {heddle.name = "x"},
    %start: tensor<?xi32> {heddle.name = "start"},
    %cache_c: tensor<?x?x64xf32> {heddle.name = "cache_c", heddle.dims = ["B", "C", ""], heddle.role = "cache", bufferization.writable = true},
    %cache_kpe: tensor<?x?x16xf32> {heddle.name = "cache_kpe", heddle.dims = ["B", "C", ""], heddle.role = "cache", bufferization.writable = true},
    %q_proj_weight: !q_proj_weight {heddle.name = "q_proj.weight", heddle.role = "weight"},
    %kv_a_proj_with_mqa_weight: !kv_a_proj_with_mqa_weight {heddle.name = "kv_a_proj_with_mqa.weight", heddle.role = "weight"},
    %kv_a_layernorm_weight: !kv_a_layernorm_weight {heddle.name = "kv_a_layernorm.weight", heddle.role = "weight"},
    %kv_b_proj_weight: !kv_b_proj_weight {heddle.name = "kv_b_proj.weight", heddle.role = "weight"},
    %o_proj_weight: !o_proj_weight {heddle.name = "o_proj.weight", heddle.role = "weight"})
    -> (
        tensor<?x?x128xf32> {heddle.name = "y"},
        tensor<?x?x64xf32> {heddle.name = "cache_c", heddle.updates = "cache_c"},
        tensor<?x?x16xf32> {heddle.name = "cache_kpe", heddle.updates = "cache_kpe"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %B = tensor.dim %x, %c0 : !x
  %T = tensor.dim %x, %c1 : !x
  %C = tensor.dim %cache_c, %c1 : tensor<?x?x64xf32>
  %q_projected_empty = tensor.empty(%B, %T) : tensor<?x?x192xf32>
  %q_projected_zeros = linalg.fill ins(%zero : f32) outs(%q_projected_empty : tensor<?x?x192xf32>) -> tensor<?x?x192xf32>
  %q_projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %q_proj_weight : !x, !q_proj_weight) outs(%q_projected_zeros : tensor<?x?x192xf32>) -> tensor<?x?x192xf32>
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
  %c_row = tensor.expand_shape %c [[0], [1], [2, 3]] output_shape [%B, %T, 1, 64] : tensor<?x?x64xf32> into tensor<?x?x1x64xf32>
  %cache_c_rows = tensor.expand_shape %cache_c [[0], [1], [2, 3]] output_shape [%B, %C, 1, 64] : tensor<?x?x64xf32> into tensor<?x?x1x64xf32>
  %cache_kpe_rows = tensor.expand_shape %cache_kpe [[0], [1], [2, 3]] output_shape [%B, %C, 1, 16] : tensor<?x?x16xf32> into tensor<?x?x1x16xf32>
  %c_rows, %kpe_rows = attn.kv_append %cache_c_rows, %cache_kpe_rows, %c_row, %k_plain, %start
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
  %o = attn.latent_attention %q_nope, %latents, %kv_b_proj_weight query_rope(%q_plain : tensor<?x?x4x16xf32>) key_rope(%rope_keys : tensor<?x?x16xf32>)
      kv_len(%length : tensor<?xi32>) {causal}
      : (tensor<?x?x4x32xf32>, tensor<?x?x64xf32>, !kv_b_proj_weight) -> tensor<?x?x4x24xf32>
  %flat = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<?x?x4x24xf32> into tensor<?x?x96xf32>
  %projected_empty = tensor.empty(%B, %T) : tensor<?x?x128xf32>
  %projected_zeros = linalg.fill ins(%zero : f32) outs(%projected_empty : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%flat, %o_proj_weight : tensor<?x?x96xf32>, !o_proj_weight) outs(%projected_zeros : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  return %projected, %latents, %rope_keys
      : tensor<?x?x128xf32>, tensor<?x?x64xf32>, tensor<?x?x16xf32>
}
