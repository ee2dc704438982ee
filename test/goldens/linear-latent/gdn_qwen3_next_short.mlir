// Gated DeltaNet of Qwen3-Next, for prompts shorter than the convolution.
//
// The types in the lines that begin with ! are those of --dtype; all else stays f32.

!x = tensor<?x?x96xf32>
!in_proj_qkvz_weight = tensor<352x96xf32>
!in_proj_ba_weight = tensor<12x96xf32>
!conv1d_weight = tensor<208x1x4xf32>
!A_log = tensor<6xf32>
!dt_bias = tensor<6xf32>
!norm_weight = tensor<24xf32>
!out_proj_weight = tensor<96x144xf32>
!conv_rows = tensor<208x4xf32>

#rows = affine_map<(b, t, o, d) -> (b, t, d)>
#weight = affine_map<(b, t, o, d) -> (o, d)>
#out = affine_map<(b, t, o, d) -> (b, t, o)>

func.func @layer(
    %x: !x {heddle.name = "x"},
    %conv_state: tensor<?x208x3xf32> {heddle.name = "conv_state", heddle.role = "cache", bufferization.writable = true},
    %state: tensor<?x6x16x24xf32> {heddle.name = "state", heddle.role = "cache", bufferization.writable = true},
    %in_proj_qkvz_weight: !in_proj_qkvz_weight {heddle.name = "in_proj_qkvz.weight", heddle.role = "weight"},
    %in_proj_ba_weight: !in_proj_ba_weight {heddle.name = "in_proj_ba.weight", heddle.role = "weight"},
    %conv1d_weight: !conv1d_weight {heddle.name = "conv1d.weight", heddle.role = "weight"},
    %A_log: !A_log {heddle.name = "A_log", heddle.role = "weight"},
    %dt_bias: !dt_bias {heddle.name = "dt_bias", heddle.role = "weight"},
    %norm_weight: !norm_weight {heddle.name = "norm.weight", heddle.role = "weight"},
    %out_proj_weight: !out_proj_weight {heddle.name = "out_proj.weight", heddle.role = "weight"})
    -> (
        tensor<?x?x96xf32> {heddle.name = "y"},
        tensor<?x208x3xf32> {heddle.name = "conv_state", heddle.updates = "conv_state"},
        tensor<?x6x16x24xf32> {heddle.name = "state", heddle.updates = "state"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %B = tensor.dim %x, %c0 : !x
  %T = tensor.dim %x, %c1 : !x
  // Projections are grouped by key head: q, k, v, z of its value heads; b, a.
  %qkvz_empty = tensor.empty(%B, %T) : tensor<?x?x352xf32>
  %qkvz_zeros = linalg.fill ins(%zero : f32) outs(%qkvz_empty : tensor<?x?x352xf32>) -> tensor<?x?x352xf32>
  %qkvz = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %in_proj_qkvz_weight : !x, !in_proj_qkvz_weight) outs(%qkvz_zeros : tensor<?x?x352xf32>) -> tensor<?x?x352xf32>
  %groups = tensor.expand_shape %qkvz [[0], [1], [2, 3]] output_shape [%B, %T, 2, 176]
      : tensor<?x?x352xf32> into tensor<?x?x2x176xf32>
  %q_groups = tensor.extract_slice %groups[0, 0, 0, 0] [%B, %T, 2, 16] [1, 1, 1, 1]
      : tensor<?x?x2x176xf32> to tensor<?x?x2x16xf32>
  %q_projected = tensor.collapse_shape %q_groups [[0], [1], [2, 3]] : tensor<?x?x2x16xf32> into tensor<?x?x32xf32>
  %k_groups = tensor.extract_slice %groups[0, 0, 0, 16] [%B, %T, 2, 16] [1, 1, 1, 1]
      : tensor<?x?x2x176xf32> to tensor<?x?x2x16xf32>
  %k_projected = tensor.collapse_shape %k_groups [[0], [1], [2, 3]] : tensor<?x?x2x16xf32> into tensor<?x?x32xf32>
  %v_groups = tensor.extract_slice %groups[0, 0, 0, 32] [%B, %T, 2, 72] [1, 1, 1, 1]
      : tensor<?x?x2x176xf32> to tensor<?x?x2x72xf32>
  %v_projected = tensor.collapse_shape %v_groups [[0], [1], [2, 3]] : tensor<?x?x2x72xf32> into tensor<?x?x144xf32>
  %z_groups = tensor.extract_slice %groups[0, 0, 0, 104] [%B, %T, 2, 72] [1, 1, 1, 1]
      : tensor<?x?x2x176xf32> to tensor<?x?x2x72xf32>
  %z_projected = tensor.collapse_shape %z_groups [[0], [1], [2, 3]] : tensor<?x?x2x72xf32> into tensor<?x?x144xf32>
  %mixed_empty = tensor.empty(%B, %T) : tensor<?x?x208xf32>
  %mixed_0 = tensor.insert_slice %q_projected into %mixed_empty[0, 0, 0] [%B, %T, 32] [1, 1, 1]
      : tensor<?x?x32xf32> into tensor<?x?x208xf32>
  %mixed_1 = tensor.insert_slice %k_projected into %mixed_0[0, 0, 32] [%B, %T, 32] [1, 1, 1]
      : tensor<?x?x32xf32> into tensor<?x?x208xf32>
  %mixed = tensor.insert_slice %v_projected into %mixed_1[0, 0, 64] [%B, %T, 144] [1, 1, 1]
      : tensor<?x?x144xf32> into tensor<?x?x208xf32>
  %ba_empty = tensor.empty(%B, %T) : tensor<?x?x12xf32>
  %ba_zeros = linalg.fill ins(%zero : f32) outs(%ba_empty : tensor<?x?x12xf32>) -> tensor<?x?x12xf32>
  %ba = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %in_proj_ba_weight : !x, !in_proj_ba_weight) outs(%ba_zeros : tensor<?x?x12xf32>) -> tensor<?x?x12xf32>
  %ba_groups = tensor.expand_shape %ba [[0], [1], [2, 3]] output_shape [%B, %T, 2, 6]
      : tensor<?x?x12xf32> into tensor<?x?x2x6xf32>
  %b_groups = tensor.extract_slice %ba_groups[0, 0, 0, 0] [%B, %T, 2, 3] [1, 1, 1, 1]
      : tensor<?x?x2x6xf32> to tensor<?x?x2x3xf32>
  %a_groups = tensor.extract_slice %ba_groups[0, 0, 0, 3] [%B, %T, 2, 3] [1, 1, 1, 1]
      : tensor<?x?x2x6xf32> to tensor<?x?x2x3xf32>
  %b = tensor.collapse_shape %b_groups [[0], [1], [2, 3]] : tensor<?x?x2x3xf32> into tensor<?x?x6xf32>
  %a = tensor.collapse_shape %a_groups [[0], [1], [2, 3]] : tensor<?x?x2x3xf32> into tensor<?x?x6xf32>
  // A short convolution of q, k and v together.
  %conv_weight = tensor.collapse_shape %conv1d_weight [[0, 1], [2]] : !conv1d_weight into !conv_rows
  %convolved, %conv_state_new = attn.short_conv %mixed, %conv_weight
      initial_state(%conv_state : tensor<?x208x3xf32>) {silu}
      : (tensor<?x?x208xf32>, !conv_rows) -> (tensor<?x?x208xf32>, tensor<?x208x3xf32>)
  %q_flat = tensor.extract_slice %convolved[0, 0, 0] [%B, %T, 32] [1, 1, 1]
      : tensor<?x?x208xf32> to tensor<?x?x32xf32>
  %q = tensor.expand_shape %q_flat [[0], [1], [2, 3]] output_shape [%B, %T, 2, 16]
      : tensor<?x?x32xf32> into tensor<?x?x2x16xf32>
  %k_flat = tensor.extract_slice %convolved[0, 0, 32] [%B, %T, 32] [1, 1, 1]
      : tensor<?x?x208xf32> to tensor<?x?x32xf32>
  %k = tensor.expand_shape %k_flat [[0], [1], [2, 3]] output_shape [%B, %T, 2, 16]
      : tensor<?x?x32xf32> into tensor<?x?x2x16xf32>
  %v_flat = tensor.extract_slice %convolved[0, 0, 64] [%B, %T, 144] [1, 1, 1]
      : tensor<?x?x208xf32> to tensor<?x?x144xf32>
  %v = tensor.expand_shape %v_flat [[0], [1], [2, 3]] output_shape [%B, %T, 6, 24]
      : tensor<?x?x144xf32> into tensor<?x?x6x24xf32>
  %q_unit = attn.l2_norm %q {eps = 1.0e-6 : f64} : tensor<?x?x2x16xf32>
  %k_unit = attn.l2_norm %k {eps = 1.0e-6 : f64} : tensor<?x?x2x16xf32>
  // The gated delta rule, a gated norm per head, the output projection.
  %decay = attn.decay_gate %a, %A_log, %dt_bias : tensor<?x?x6xf32>, !A_log, !dt_bias -> tensor<?x?x6xf32>
  %beta = attn.activation sigmoid %b : tensor<?x?x6xf32>
  %o, %state_new = attn.linear_attention gated_delta %q_unit, %k_unit, %v
      decay(%decay : tensor<?x?x6xf32>) beta(%beta : tensor<?x?x6xf32>) initial_state(%state : tensor<?x6x16x24xf32>)
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x6x24xf32>) -> (tensor<?x?x6x24xf32>, tensor<?x6x16x24xf32>)
  %z = tensor.expand_shape %z_projected [[0], [1], [2, 3]] output_shape [%B, %T, 6, 24]
      : tensor<?x?x144xf32> into tensor<?x?x6x24xf32>
  %normed = attn.gated_rms_norm silu %o, %z, %norm_weight {eps = 1.0e-6 : f64} : tensor<?x?x6x24xf32>, !norm_weight
  %flat = tensor.collapse_shape %normed [[0], [1], [2, 3]] : tensor<?x?x6x24xf32> into tensor<?x?x144xf32>
  %y_empty = tensor.empty(%B, %T) : tensor<?x?x96xf32>
  %y_zeros = linalg.fill ins(%zero : f32) outs(%y_empty : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %y = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%flat, %out_proj_weight : tensor<?x?x144xf32>, !out_proj_weight) outs(%y_zeros : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  return %y, %conv_state_new, %state_new
      : tensor<?x?x96xf32>, tensor<?x208x3xf32>, tensor<?x6x16x24xf32>
}
