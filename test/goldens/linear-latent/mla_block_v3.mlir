// Decoder block of DeepSeek-V3: norm, latent attention of 6 heads, norm, SwiGLU. With mscale unlike mscale_all_dim, cos and sin have a factor, too.
//
// The types in the lines that begin with ! are those of --dtype; all else stays f32.

!x = tensor<?x?x128xf32>
!input_layernorm_weight = tensor<128xf32>
!q_a_proj_weight = tensor<48x128xf32>
!q_a_layernorm_weight = tensor<48xf32>
!q_b_proj_weight = tensor<288x48xf32>
!kv_a_proj_with_mqa_weight = tensor<80x128xf32>
!kv_a_layernorm_weight = tensor<64xf32>
!kv_b_proj_weight = tensor<336x64xf32>
!o_proj_weight = tensor<128x144xf32>
!post_attention_layernorm_weight = tensor<128xf32>
!gate_proj_weight = tensor<128x128xf32>
!up_proj_weight = tensor<128x128xf32>
!down_proj_weight = tensor<128x128xf32>

#rows = affine_map<(b, t, o, d) -> (b, t, d)>
#weight = affine_map<(b, t, o, d) -> (o, d)>
#out = affine_map<(b, t, o, d) -> (b, t, o)>

func.func @layer(
    %x: !x {heddle.name = "x"},
    %start: tensor<?xi32> {heddle.name = "start"},
    %cache_c: tensor<?x?x64xf32> {heddle.name = "cache_c", heddle.dims = ["B", "C", ""], heddle.role = "cache", bufferization.writable = true},
    %cache_kpe: tensor<?x?x16xf32> {heddle.name = "cache_kpe", heddle.dims = ["B", "C", ""], heddle.role = "cache", bufferization.writable = true},
    %input_layernorm_weight: !input_layernorm_weight {heddle.name = "input_layernorm.weight", heddle.role = "weight"},
    %q_a_proj_weight: !q_a_proj_weight {heddle.name = "self_attn.q_a_proj.weight", heddle.role = "weight"},
    %q_a_layernorm_weight: !q_a_layernorm_weight {heddle.name = "self_attn.q_a_layernorm.weight", heddle.role = "weight"},
    %q_b_proj_weight: !q_b_proj_weight {heddle.name = "self_attn.q_b_proj.weight", heddle.role = "weight"},
    %kv_a_proj_with_mqa_weight: !kv_a_proj_with_mqa_weight {heddle.name = "self_attn.kv_a_proj_with_mqa.weight", heddle.role = "weight"},
    %kv_a_layernorm_weight: !kv_a_layernorm_weight {heddle.name = "self_attn.kv_a_layernorm.weight", heddle.role = "weight"},
    %kv_b_proj_weight: !kv_b_proj_weight {heddle.name = "self_attn.kv_b_proj.weight", heddle.role = "weight"},
    %o_proj_weight: !o_proj_weight {heddle.name = "self_attn.o_proj.weight", heddle.role = "weight"},
    %post_attention_layernorm_weight: !post_attention_layernorm_weight {heddle.name = "post_attention_layernorm.weight", heddle.role = "weight"},
    %gate_proj_weight: !gate_proj_weight {heddle.name = "mlp.gate_proj.weight", heddle.role = "weight"},
    %up_proj_weight: !up_proj_weight {heddle.name = "mlp.up_proj.weight", heddle.role = "weight"},
    %down_proj_weight: !down_proj_weight {heddle.name = "mlp.down_proj.weight", heddle.role = "weight"})
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
  %normed = attn.rms_norm %x, %input_layernorm_weight {eps = 1.0e-6 : f64} : !x, !input_layernorm_weight
  %q_latent_empty = tensor.empty(%B, %T) : tensor<?x?x48xf32>
  %q_latent_zeros = linalg.fill ins(%zero : f32) outs(%q_latent_empty : tensor<?x?x48xf32>) -> tensor<?x?x48xf32>
  %q_latent = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%normed, %q_a_proj_weight : !x, !q_a_proj_weight) outs(%q_latent_zeros : tensor<?x?x48xf32>) -> tensor<?x?x48xf32>
  %q_normed = attn.rms_norm %q_latent, %q_a_layernorm_weight {eps = 1.0e-6 : f64} : tensor<?x?x48xf32>, !q_a_layernorm_weight
  %q_projected_empty = tensor.empty(%B, %T) : tensor<?x?x288xf32>
  %q_projected_zeros = linalg.fill ins(%zero : f32) outs(%q_projected_empty : tensor<?x?x288xf32>) -> tensor<?x?x288xf32>
  %q_projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%q_normed, %q_b_proj_weight : tensor<?x?x48xf32>, !q_b_proj_weight) outs(%q_projected_zeros : tensor<?x?x288xf32>) -> tensor<?x?x288xf32>
  %q = tensor.expand_shape %q_projected [[0], [1], [2, 3]] output_shape [%B, %T, 6, 48]
      : tensor<?x?x288xf32> into tensor<?x?x6x48xf32>
  %q_nope = tensor.extract_slice %q[0, 0, 0, 0] [%B, %T, 6, 32] [1, 1, 1, 1] : tensor<?x?x6x48xf32> to tensor<?x?x6x32xf32>
  %q_plain = tensor.extract_slice %q[0, 0, 0, 32] [%B, %T, 6, 16] [1, 1, 1, 1] : tensor<?x?x6x48xf32> to tensor<?x?x6x16xf32>
  %kv_empty = tensor.empty(%B, %T) : tensor<?x?x80xf32>
  %kv_zeros = linalg.fill ins(%zero : f32) outs(%kv_empty : tensor<?x?x80xf32>) -> tensor<?x?x80xf32>
  %kv = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%normed, %kv_a_proj_with_mqa_weight : !x, !kv_a_proj_with_mqa_weight) outs(%kv_zeros : tensor<?x?x80xf32>) -> tensor<?x?x80xf32>
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
  %q_rope = attn.rope %q_plain, %positions {interleaved, theta = 1.0e4 : f64, scaling = #attn.rope_yarn<factor = 40.0, original_max_position = 4096, beta_fast = 32.0, beta_slow = 1.0, truncate = true, mscale = 1.0, mscale_all_dim = 0.707>} : tensor<?x?x6x16xf32>, tensor<?x?xi32>
  %k_rope = attn.rope %k_plain, %positions {interleaved, theta = 1.0e4 : f64, scaling = #attn.rope_yarn<factor = 40.0, original_max_position = 4096, beta_fast = 32.0, beta_slow = 1.0, truncate = true, mscale = 1.0, mscale_all_dim = 0.707>} : tensor<?x?x1x16xf32>, tensor<?x?xi32>
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
  %o = attn.latent_attention %q_nope, %latents, %kv_b_proj_weight query_rope(%q_rope : tensor<?x?x6x16xf32>) key_rope(%rope_keys : tensor<?x?x16xf32>)
      kv_len(%length : tensor<?xi32>) {causal, scale = 0.22944277358585222 : f64}
      : (tensor<?x?x6x32xf32>, tensor<?x?x64xf32>, !kv_b_proj_weight) -> tensor<?x?x6x24xf32>
  %flat = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<?x?x6x24xf32> into tensor<?x?x144xf32>
  %projected_empty = tensor.empty(%B, %T) : tensor<?x?x128xf32>
  %projected_zeros = linalg.fill ins(%zero : f32) outs(%projected_empty : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%flat, %o_proj_weight : tensor<?x?x144xf32>, !o_proj_weight) outs(%projected_zeros : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %x32_empty = tensor.empty(%B, %T) : tensor<?x?x128xf32>
  %x32 = linalg.copy ins(%x : !x) outs(%x32_empty : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %residual = arith.addf %x32, %projected : tensor<?x?x128xf32>
  %mlp_in = attn.rms_norm %residual, %post_attention_layernorm_weight {eps = 1.0e-6 : f64} : tensor<?x?x128xf32>, !post_attention_layernorm_weight
  %gate_empty = tensor.empty(%B, %T) : tensor<?x?x128xf32>
  %gate_zeros = linalg.fill ins(%zero : f32) outs(%gate_empty : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %gate = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%mlp_in, %gate_proj_weight : tensor<?x?x128xf32>, !gate_proj_weight) outs(%gate_zeros : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %up_empty = tensor.empty(%B, %T) : tensor<?x?x128xf32>
  %up_zeros = linalg.fill ins(%zero : f32) outs(%up_empty : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %up = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%mlp_in, %up_proj_weight : tensor<?x?x128xf32>, !up_proj_weight) outs(%up_zeros : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %glu = attn.glu swiglu %gate, %up : tensor<?x?x128xf32>
  %down_empty = tensor.empty(%B, %T) : tensor<?x?x128xf32>
  %down_zeros = linalg.fill ins(%zero : f32) outs(%down_empty : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %down = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%glu, %down_proj_weight : tensor<?x?x128xf32>, !down_proj_weight) outs(%down_zeros : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %y = arith.addf %residual, %down : tensor<?x?x128xf32>
  return %y, %latents, %rope_keys
      : tensor<?x?x128xf32>, tensor<?x?x64xf32>, tensor<?x?x16xf32>
}
