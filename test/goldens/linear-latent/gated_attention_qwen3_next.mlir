// Full attention of Qwen3-Next: 6 query and 2 key heads of 32, rope on 8 channels, a sigmoid output gate.
//
// The types in the lines that begin with ! are those of --dtype; all else stays f32.

!x = tensor<?x?x96xf32>
!q_proj_weight = tensor<384x96xf32>
!k_proj_weight = tensor<64x96xf32>
!v_proj_weight = tensor<64x96xf32>
!q_norm_weight = tensor<32xf32>
!k_norm_weight = tensor<32xf32>
!o_proj_weight = tensor<96x192xf32>

#rows = affine_map<(b, t, o, d) -> (b, t, d)>
#weight = affine_map<(b, t, o, d) -> (o, d)>
#out = affine_map<(b, t, o, d) -> (b, t, o)>

func.func @layer(
    %x: !x {heddle.name = "x"},
    %start: tensor<?xi32> {heddle.name = "start"},
    %cache_k: tensor<?x?x2x32xf32> {heddle.name = "cache_k", heddle.dims = ["B", "C", "", ""], heddle.role = "cache", bufferization.writable = true},
    %cache_v: tensor<?x?x2x32xf32> {heddle.name = "cache_v", heddle.dims = ["B", "C", "", ""], heddle.role = "cache", bufferization.writable = true},
    %q_proj_weight: !q_proj_weight {heddle.name = "q_proj.weight", heddle.role = "weight"},
    %k_proj_weight: !k_proj_weight {heddle.name = "k_proj.weight", heddle.role = "weight"},
    %v_proj_weight: !v_proj_weight {heddle.name = "v_proj.weight", heddle.role = "weight"},
    %q_norm_weight: !q_norm_weight {heddle.name = "q_norm.weight", heddle.role = "weight"},
    %k_norm_weight: !k_norm_weight {heddle.name = "k_norm.weight", heddle.role = "weight"},
    %o_proj_weight: !o_proj_weight {heddle.name = "o_proj.weight", heddle.role = "weight"})
    -> (
        tensor<?x?x96xf32> {heddle.name = "y"},
        tensor<?x?x2x32xf32> {heddle.name = "cache_k", heddle.updates = "cache_k"},
        tensor<?x?x2x32xf32> {heddle.name = "cache_v", heddle.updates = "cache_v"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %B = tensor.dim %x, %c0 : !x
  %T = tensor.dim %x, %c1 : !x
  %q_projected_empty = tensor.empty(%B, %T) : tensor<?x?x384xf32>
  %q_projected_zeros = linalg.fill ins(%zero : f32) outs(%q_projected_empty : tensor<?x?x384xf32>) -> tensor<?x?x384xf32>
  %q_projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %q_proj_weight : !x, !q_proj_weight) outs(%q_projected_zeros : tensor<?x?x384xf32>) -> tensor<?x?x384xf32>
  %q_heads = tensor.expand_shape %q_projected [[0], [1], [2, 3]] output_shape [%B, %T, 6, 64]
      : tensor<?x?x384xf32> into tensor<?x?x6x64xf32>
  %q = tensor.extract_slice %q_heads[0, 0, 0, 0] [%B, %T, 6, 32] [1, 1, 1, 1]
      : tensor<?x?x6x64xf32> to tensor<?x?x6x32xf32>
  %gate = tensor.extract_slice %q_heads[0, 0, 0, 32] [%B, %T, 6, 32] [1, 1, 1, 1]
      : tensor<?x?x6x64xf32> to tensor<?x?x6x32xf32>
  %k_projected_empty = tensor.empty(%B, %T) : tensor<?x?x64xf32>
  %k_projected_zeros = linalg.fill ins(%zero : f32) outs(%k_projected_empty : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %k_projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %k_proj_weight : !x, !k_proj_weight) outs(%k_projected_zeros : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %k = tensor.expand_shape %k_projected [[0], [1], [2, 3]] output_shape [%B, %T, 2, 32]
      : tensor<?x?x64xf32> into tensor<?x?x2x32xf32>
  %v_projected_empty = tensor.empty(%B, %T) : tensor<?x?x64xf32>
  %v_projected_zeros = linalg.fill ins(%zero : f32) outs(%v_projected_empty : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %v_projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %v_proj_weight : !x, !v_proj_weight) outs(%v_projected_zeros : tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %v = tensor.expand_shape %v_projected [[0], [1], [2, 3]] output_shape [%B, %T, 2, 32]
      : tensor<?x?x64xf32> into tensor<?x?x2x32xf32>
  %q_normed = attn.rms_norm %q, %q_norm_weight {eps = 1.0e-6 : f64, plus_one} : tensor<?x?x6x32xf32>, !q_norm_weight
  %k_normed = attn.rms_norm %k, %k_norm_weight {eps = 1.0e-6 : f64, plus_one} : tensor<?x?x2x32xf32>, !k_norm_weight
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
  %q_rotated = attn.rope %q_normed, %positions {theta = 1.0e7 : f64, rotary_dim = 8 : i64} : tensor<?x?x6x32xf32>, tensor<?x?xi32>
  %k_rotated = attn.rope %k_normed, %positions {theta = 1.0e7 : f64, rotary_dim = 8 : i64} : tensor<?x?x2x32xf32>, tensor<?x?xi32>
  %keys, %values = attn.kv_append %cache_k, %cache_v, %k_rotated, %v, %start
      : (tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?xi32>) -> (tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>)
  %T32 = arith.index_cast %T : index to i32
  %length_empty = tensor.empty(%B) : tensor<?xi32>
  %length = linalg.generic {indexing_maps = [affine_map<(b) -> (b)>, affine_map<(b) -> (b)>],
                             iterator_types = ["parallel"]}
      ins(%start : tensor<?xi32>) outs(%length_empty : tensor<?xi32>) {
  ^bb0(%first: i32, %out: i32):
    %end = arith.addi %first, %T32 : i32
    linalg.yield %end : i32
  } -> tensor<?xi32>
  %o = attn.attention %q_rotated, %keys, %values kv_len(%length : tensor<?xi32>) {causal}
      : (tensor<?x?x6x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) -> tensor<?x?x6x32xf32>
  %gated = attn.glu sigmoid %gate, %o : tensor<?x?x6x32xf32>
  %flat = tensor.collapse_shape %gated [[0], [1], [2, 3]] : tensor<?x?x6x32xf32> into tensor<?x?x192xf32>
  %y_empty = tensor.empty(%B, %T) : tensor<?x?x96xf32>
  %y_zeros = linalg.fill ins(%zero : f32) outs(%y_empty : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %y = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%flat, %o_proj_weight : tensor<?x?x192xf32>, !o_proj_weight) outs(%y_zeros : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  return %y, %keys, %values
      : tensor<?x?x96xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
}
