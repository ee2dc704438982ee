// Kimi Delta Attention: 3 heads of 24, a decay per key channel, no position encoding.
//
// The types in the lines that begin with ! are those of --dtype; all else stays f32.

!x = tensor<?x?x96xf32>
!q_proj_weight = tensor<72x96xf32>
!k_proj_weight = tensor<72x96xf32>
!v_proj_weight = tensor<72x96xf32>
!q_conv1d_weight = tensor<72x1x4xf32>
!k_conv1d_weight = tensor<72x1x4xf32>
!v_conv1d_weight = tensor<72x1x4xf32>
!A_log = tensor<3xf32>
!dt_bias = tensor<72xf32>
!b_proj_weight = tensor<3x96xf32>
!f_a_proj_weight = tensor<24x96xf32>
!f_b_proj_weight = tensor<72x24xf32>
!g_a_proj_weight = tensor<24x96xf32>
!g_b_proj_weight = tensor<72x24xf32>
!o_norm_weight = tensor<24xf32>
!o_proj_weight = tensor<96x72xf32>
!conv_rows = tensor<72x4xf32>
!head_bias = tensor<3x24xf32>

#rows = affine_map<(b, t, o, d) -> (b, t, d)>
#weight = affine_map<(b, t, o, d) -> (o, d)>
#out = affine_map<(b, t, o, d) -> (b, t, o)>

func.func @layer(
    %x: !x {heddle.name = "x"},
    %conv_state_q: tensor<?x72x3xf32> {heddle.name = "conv_state_q", heddle.role = "cache", bufferization.writable = true},
    %conv_state_k: tensor<?x72x3xf32> {heddle.name = "conv_state_k", heddle.role = "cache", bufferization.writable = true},
    %conv_state_v: tensor<?x72x3xf32> {heddle.name = "conv_state_v", heddle.role = "cache", bufferization.writable = true},
    %state: tensor<?x3x24x24xf32> {heddle.name = "state", heddle.role = "cache", bufferization.writable = true},
    %q_proj_weight: !q_proj_weight {heddle.name = "q_proj.weight", heddle.role = "weight"},
    %k_proj_weight: !k_proj_weight {heddle.name = "k_proj.weight", heddle.role = "weight"},
    %v_proj_weight: !v_proj_weight {heddle.name = "v_proj.weight", heddle.role = "weight"},
    %q_conv1d_weight: !q_conv1d_weight {heddle.name = "q_conv1d.weight", heddle.role = "weight"},
    %k_conv1d_weight: !k_conv1d_weight {heddle.name = "k_conv1d.weight", heddle.role = "weight"},
    %v_conv1d_weight: !v_conv1d_weight {heddle.name = "v_conv1d.weight", heddle.role = "weight"},
    %A_log: !A_log {heddle.name = "A_log", heddle.role = "weight"},
    %dt_bias: !dt_bias {heddle.name = "dt_bias", heddle.role = "weight"},
    %b_proj_weight: !b_proj_weight {heddle.name = "b_proj.weight", heddle.role = "weight"},
    %f_a_proj_weight: !f_a_proj_weight {heddle.name = "f_a_proj.weight", heddle.role = "weight"},
    %f_b_proj_weight: !f_b_proj_weight {heddle.name = "f_b_proj.weight", heddle.role = "weight"},
    %g_a_proj_weight: !g_a_proj_weight {heddle.name = "g_a_proj.weight", heddle.role = "weight"},
    %g_b_proj_weight: !g_b_proj_weight {heddle.name = "g_b_proj.weight", heddle.role = "weight"},
    %o_norm_weight: !o_norm_weight {heddle.name = "o_norm.weight", heddle.role = "weight"},
    %o_proj_weight: !o_proj_weight {heddle.name = "o_proj.weight", heddle.role = "weight"})
    -> (
        tensor<?x?x96xf32> {heddle.name = "y"},
        tensor<?x72x3xf32> {heddle.name = "conv_state_q", heddle.updates = "conv_state_q"},
        tensor<?x72x3xf32> {heddle.name = "conv_state_k", heddle.updates = "conv_state_k"},
        tensor<?x72x3xf32> {heddle.name = "conv_state_v", heddle.updates = "conv_state_v"},
        tensor<?x3x24x24xf32> {heddle.name = "state", heddle.updates = "state"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %B = tensor.dim %x, %c0 : !x
  %T = tensor.dim %x, %c1 : !x
  %q_projected_empty = tensor.empty(%B, %T) : tensor<?x?x72xf32>
  %q_projected_zeros = linalg.fill ins(%zero : f32) outs(%q_projected_empty : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %q_projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %q_proj_weight : !x, !q_proj_weight) outs(%q_projected_zeros : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %q_rows = tensor.collapse_shape %q_conv1d_weight [[0, 1], [2]] : !q_conv1d_weight into !conv_rows
  %q_flat, %q_state = attn.short_conv %q_projected, %q_rows
      initial_state(%conv_state_q : tensor<?x72x3xf32>) {silu}
      : (tensor<?x?x72xf32>, !conv_rows) -> (tensor<?x?x72xf32>, tensor<?x72x3xf32>)
  %q = tensor.expand_shape %q_flat [[0], [1], [2, 3]] output_shape [%B, %T, 3, 24]
      : tensor<?x?x72xf32> into tensor<?x?x3x24xf32>
  %k_projected_empty = tensor.empty(%B, %T) : tensor<?x?x72xf32>
  %k_projected_zeros = linalg.fill ins(%zero : f32) outs(%k_projected_empty : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %k_projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %k_proj_weight : !x, !k_proj_weight) outs(%k_projected_zeros : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %k_rows = tensor.collapse_shape %k_conv1d_weight [[0, 1], [2]] : !k_conv1d_weight into !conv_rows
  %k_flat, %k_state = attn.short_conv %k_projected, %k_rows
      initial_state(%conv_state_k : tensor<?x72x3xf32>) {silu}
      : (tensor<?x?x72xf32>, !conv_rows) -> (tensor<?x?x72xf32>, tensor<?x72x3xf32>)
  %k = tensor.expand_shape %k_flat [[0], [1], [2, 3]] output_shape [%B, %T, 3, 24]
      : tensor<?x?x72xf32> into tensor<?x?x3x24xf32>
  %v_projected_empty = tensor.empty(%B, %T) : tensor<?x?x72xf32>
  %v_projected_zeros = linalg.fill ins(%zero : f32) outs(%v_projected_empty : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %v_projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %v_proj_weight : !x, !v_proj_weight) outs(%v_projected_zeros : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %v_rows = tensor.collapse_shape %v_conv1d_weight [[0, 1], [2]] : !v_conv1d_weight into !conv_rows
  %v_flat, %v_state = attn.short_conv %v_projected, %v_rows
      initial_state(%conv_state_v : tensor<?x72x3xf32>) {silu}
      : (tensor<?x?x72xf32>, !conv_rows) -> (tensor<?x?x72xf32>, tensor<?x72x3xf32>)
  %v = tensor.expand_shape %v_flat [[0], [1], [2, 3]] output_shape [%B, %T, 3, 24]
      : tensor<?x?x72xf32> into tensor<?x?x3x24xf32>
  %q_unit = attn.l2_norm %q {eps = 1.0e-6 : f64} : tensor<?x?x3x24xf32>
  %k_unit = attn.l2_norm %k {eps = 1.0e-6 : f64} : tensor<?x?x3x24xf32>
  %f_low_empty = tensor.empty(%B, %T) : tensor<?x?x24xf32>
  %f_low_zeros = linalg.fill ins(%zero : f32) outs(%f_low_empty : tensor<?x?x24xf32>) -> tensor<?x?x24xf32>
  %f_low = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %f_a_proj_weight : !x, !f_a_proj_weight) outs(%f_low_zeros : tensor<?x?x24xf32>) -> tensor<?x?x24xf32>
  %f_flat_empty = tensor.empty(%B, %T) : tensor<?x?x72xf32>
  %f_flat_zeros = linalg.fill ins(%zero : f32) outs(%f_flat_empty : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %f_flat = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%f_low, %f_b_proj_weight : tensor<?x?x24xf32>, !f_b_proj_weight) outs(%f_flat_zeros : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %f = tensor.expand_shape %f_flat [[0], [1], [2, 3]] output_shape [%B, %T, 3, 24]
      : tensor<?x?x72xf32> into tensor<?x?x3x24xf32>
  %bias = tensor.expand_shape %dt_bias [[0, 1]] output_shape [3, 24] : !dt_bias into !head_bias
  %decay = attn.decay_gate %f, %A_log, %bias : tensor<?x?x3x24xf32>, !A_log, !head_bias -> tensor<?x?x3x24xf32>
  %b_empty = tensor.empty(%B, %T) : tensor<?x?x3xf32>
  %b_zeros = linalg.fill ins(%zero : f32) outs(%b_empty : tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  %b = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %b_proj_weight : !x, !b_proj_weight) outs(%b_zeros : tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  %beta = attn.activation sigmoid %b : tensor<?x?x3xf32>
  %o, %state_new = attn.linear_attention gated_delta %q_unit, %k_unit, %v
      decay(%decay : tensor<?x?x3x24xf32>) beta(%beta : tensor<?x?x3xf32>) initial_state(%state : tensor<?x3x24x24xf32>)
      : (tensor<?x?x3x24xf32>, tensor<?x?x3x24xf32>, tensor<?x?x3x24xf32>) -> (tensor<?x?x3x24xf32>, tensor<?x3x24x24xf32>)
  %gate_low_empty = tensor.empty(%B, %T) : tensor<?x?x24xf32>
  %gate_low_zeros = linalg.fill ins(%zero : f32) outs(%gate_low_empty : tensor<?x?x24xf32>) -> tensor<?x?x24xf32>
  %gate_low = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %g_a_proj_weight : !x, !g_a_proj_weight) outs(%gate_low_zeros : tensor<?x?x24xf32>) -> tensor<?x?x24xf32>
  %gate_flat_empty = tensor.empty(%B, %T) : tensor<?x?x72xf32>
  %gate_flat_zeros = linalg.fill ins(%zero : f32) outs(%gate_flat_empty : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %gate_flat = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%gate_low, %g_b_proj_weight : tensor<?x?x24xf32>, !g_b_proj_weight) outs(%gate_flat_zeros : tensor<?x?x72xf32>) -> tensor<?x?x72xf32>
  %gate = tensor.expand_shape %gate_flat [[0], [1], [2, 3]] output_shape [%B, %T, 3, 24]
      : tensor<?x?x72xf32> into tensor<?x?x3x24xf32>
  %normed = attn.gated_rms_norm sigmoid %o, %gate, %o_norm_weight {eps = 1.0e-5 : f64} : tensor<?x?x3x24xf32>, !o_norm_weight
  %flat = tensor.collapse_shape %normed [[0], [1], [2, 3]] : tensor<?x?x3x24xf32> into tensor<?x?x72xf32>
  %y_empty = tensor.empty(%B, %T) : tensor<?x?x96xf32>
  %y_zeros = linalg.fill ins(%zero : f32) outs(%y_empty : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %y = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%flat, %o_proj_weight : tensor<?x?x72xf32>, !o_proj_weight) outs(%y_zeros : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  return %y, %q_state, %k_state, %v_state, %state_new
      : tensor<?x?x96xf32>, tensor<?x72x3xf32>, tensor<?x72x3xf32>, tensor<?x72x3xf32>, tensor<?x3x24x24xf32>
}
