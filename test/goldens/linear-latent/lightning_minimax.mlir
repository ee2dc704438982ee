// Lightning attention of MiniMax: 4 heads of 24, a fixed decay per head.
//
// The types in the lines that begin with ! are those of --dtype; all else stays f32.

!x = tensor<?x?x96xf32>
!qkv_proj_weight = tensor<288x96xf32>
!norm_weight = tensor<96xf32>
!output_gate_weight = tensor<96x96xf32>
!out_proj_weight = tensor<96x96xf32>

#rows = affine_map<(b, t, o, d) -> (b, t, d)>
#weight = affine_map<(b, t, o, d) -> (o, d)>
#out = affine_map<(b, t, o, d) -> (b, t, o)>

func.func @layer(
    %x: !x {heddle.name = "x"},
    %state: tensor<?x4x24x24xf32> {heddle.name = "state", heddle.role = "cache", bufferization.writable = true},
    %qkv_proj_weight: !qkv_proj_weight {heddle.name = "qkv_proj.weight", heddle.role = "weight"},
    %norm_weight: !norm_weight {heddle.name = "norm.weight", heddle.role = "weight"},
    %output_gate_weight: !output_gate_weight {heddle.name = "output_gate.weight", heddle.role = "weight"},
    %out_proj_weight: !out_proj_weight {heddle.name = "out_proj.weight", heddle.role = "weight"})
    -> (
        tensor<?x?x96xf32> {heddle.name = "y"},
        tensor<?x4x24x24xf32> {heddle.name = "state", heddle.updates = "state"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %B = tensor.dim %x, %c0 : !x
  %T = tensor.dim %x, %c1 : !x
  %projected_empty = tensor.empty(%B, %T) : tensor<?x?x288xf32>
  %projected_zeros = linalg.fill ins(%zero : f32) outs(%projected_empty : tensor<?x?x288xf32>) -> tensor<?x?x288xf32>
  %projected = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %qkv_proj_weight : !x, !qkv_proj_weight) outs(%projected_zeros : tensor<?x?x288xf32>) -> tensor<?x?x288xf32>
  %active = attn.activation silu %projected : tensor<?x?x288xf32>
  %heads = tensor.expand_shape %active [[0], [1], [2, 3]] output_shape [%B, %T, 4, 72]
      : tensor<?x?x288xf32> into tensor<?x?x4x72xf32>
  %q = tensor.extract_slice %heads[0, 0, 0, 0] [%B, %T, 4, 24] [1, 1, 1, 1]
      : tensor<?x?x4x72xf32> to tensor<?x?x4x24xf32>
  %k = tensor.extract_slice %heads[0, 0, 0, 24] [%B, %T, 4, 24] [1, 1, 1, 1]
      : tensor<?x?x4x72xf32> to tensor<?x?x4x24xf32>
  %v = tensor.extract_slice %heads[0, 0, 0, 48] [%B, %T, 4, 24] [1, 1, 1, 1]
      : tensor<?x?x4x72xf32> to tensor<?x?x4x24xf32>
  %decay = arith.constant dense<[-0.16666944444351853, -0.04166736111087963, -0.010416840277719908, -0.002604210069429977]> : tensor<4xf32>
  %o, %state_new = attn.linear_attention gated %q, %k, %v
      decay(%decay : tensor<4xf32>) initial_state(%state : tensor<?x4x24x24xf32>) {scale = 1.0 : f64}
      : (tensor<?x?x4x24xf32>, tensor<?x?x4x24xf32>, tensor<?x?x4x24xf32>) -> (tensor<?x?x4x24xf32>, tensor<?x4x24x24xf32>)
  %flat = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<?x?x4x24xf32> into tensor<?x?x96xf32>
  %normed = attn.rms_norm %flat, %norm_weight {eps = 1.0e-6 : f64} : tensor<?x?x96xf32>, !norm_weight
  %gate_empty = tensor.empty(%B, %T) : tensor<?x?x96xf32>
  %gate_zeros = linalg.fill ins(%zero : f32) outs(%gate_empty : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %gate = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%x, %output_gate_weight : !x, !output_gate_weight) outs(%gate_zeros : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %gated = attn.glu sigmoid %gate, %normed : tensor<?x?x96xf32>
  %y_empty = tensor.empty(%B, %T) : tensor<?x?x96xf32>
  %y_zeros = linalg.fill ins(%zero : f32) outs(%y_empty : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %y = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%gated, %out_proj_weight : tensor<?x?x96xf32>, !out_proj_weight) outs(%y_zeros : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  return %y, %state_new
      : tensor<?x?x96xf32>, tensor<?x4x24x24xf32>
}
