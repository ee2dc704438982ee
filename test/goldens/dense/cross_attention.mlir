// Cross-attention block of mllama: 6 query and 2 key heads of 16, a norm per head, tanh gates on both residuals.
//
// The types in the lines that begin with ! are those of --dtype; all else stays f32, as residuals and gates do.

!cross = tensor<?x?x96xf32>
!input_layernorm = tensor<96xf32>
!q_proj = tensor<96x96xf32>
!k_proj = tensor<32x96xf32>
!v_proj = tensor<32x96xf32>
!q_norm = tensor<16xf32>
!k_norm = tensor<16xf32>
!o_proj = tensor<96x96xf32>
!post_norm = tensor<96xf32>
!gate_proj = tensor<128x96xf32>
!up_proj = tensor<128x96xf32>
!down_proj = tensor<96x128xf32>

#rows = affine_map<(b, t, o, d) -> (b, t, d)>
#weight = affine_map<(b, t, o, d) -> (o, d)>
#out = affine_map<(b, t, o, d) -> (b, t, o)>
#element = affine_map<(b, t, d) -> (b, t, d)>

func.func @block(
    %x: tensor<?x?x96xf32> {heddle.name = "input.hidden_states", heddle.dims = ["B", "L", ""]},
    %cross: !cross {heddle.name = "input.cross_states", heddle.dims = ["B", "S", ""]},
    %kv_len: tensor<?xi32> {heddle.name = "input.kv_len"},
    %input_layernorm: !input_layernorm {heddle.name = "model.layers.0.input_layernorm.weight", heddle.role = "weight"},
    %q_proj: !q_proj {heddle.name = "model.layers.0.cross_attn.q_proj.weight", heddle.role = "weight"},
    %k_proj: !k_proj {heddle.name = "model.layers.0.cross_attn.k_proj.weight", heddle.role = "weight"},
    %v_proj: !v_proj {heddle.name = "model.layers.0.cross_attn.v_proj.weight", heddle.role = "weight"},
    %q_norm: !q_norm {heddle.name = "model.layers.0.cross_attn.q_norm.weight", heddle.role = "weight"},
    %k_norm: !k_norm {heddle.name = "model.layers.0.cross_attn.k_norm.weight", heddle.role = "weight"},
    %o_proj: !o_proj {heddle.name = "model.layers.0.cross_attn.o_proj.weight", heddle.role = "weight"},
    %attn_gate: tensor<1xf32> {heddle.name = "model.layers.0.cross_attn_attn_gate", heddle.role = "weight"},
    %post_norm: !post_norm {heddle.name = "model.layers.0.post_attention_layernorm.weight", heddle.role = "weight"},
    %gate_proj: !gate_proj {heddle.name = "model.layers.0.mlp.gate_proj.weight", heddle.role = "weight"},
    %up_proj: !up_proj {heddle.name = "model.layers.0.mlp.up_proj.weight", heddle.role = "weight"},
    %down_proj: !down_proj {heddle.name = "model.layers.0.mlp.down_proj.weight", heddle.role = "weight"},
    %mlp_gate: tensor<1xf32> {heddle.name = "model.layers.0.cross_attn_mlp_gate", heddle.role = "weight"})
    -> (
        tensor<?x?x96xf32> {heddle.name = "output.hidden_states"},
        tensor<?x?x96xf32> {heddle.name = "output.attn"},
        tensor<?x?x2x16xf32> {heddle.name = "output.k_cache"},
        tensor<?x?x2x16xf32> {heddle.name = "output.v_cache"},
        tensor<?x6x?xf32> {heddle.name = "output.lse"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %B = tensor.dim %x, %c0 : tensor<?x?x96xf32>
  %L = tensor.dim %x, %c1 : tensor<?x?x96xf32>
  %S = tensor.dim %cross, %c1 : !cross
  // The norm is on the side of the queries only.
  %normed = attn.rms_norm %x, %input_layernorm {eps = 1.0e-5 : f64} : tensor<?x?x96xf32>, !input_layernorm
  %q_flat_empty = tensor.empty(%B, %L) : tensor<?x?x96xf32>
  %q_flat_zeros = linalg.fill ins(%zero : f32) outs(%q_flat_empty : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %q_flat = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%normed, %q_proj : tensor<?x?x96xf32>, !q_proj) outs(%q_flat_zeros : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %k_flat_empty = tensor.empty(%B, %S) : tensor<?x?x32xf32>
  %k_flat_zeros = linalg.fill ins(%zero : f32) outs(%k_flat_empty : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %k_flat = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%cross, %k_proj : !cross, !k_proj) outs(%k_flat_zeros : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %v_flat_empty = tensor.empty(%B, %S) : tensor<?x?x32xf32>
  %v_flat_zeros = linalg.fill ins(%zero : f32) outs(%v_flat_empty : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %v_flat = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%cross, %v_proj : !cross, !v_proj) outs(%v_flat_zeros : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %q_heads = tensor.expand_shape %q_flat [[0], [1], [2, 3]] output_shape [%B, %L, 6, 16] : tensor<?x?x96xf32> into tensor<?x?x6x16xf32>
  %k_heads = tensor.expand_shape %k_flat [[0], [1], [2, 3]] output_shape [%B, %S, 2, 16] : tensor<?x?x32xf32> into tensor<?x?x2x16xf32>
  %v = tensor.expand_shape %v_flat [[0], [1], [2, 3]] output_shape [%B, %S, 2, 16] : tensor<?x?x32xf32> into tensor<?x?x2x16xf32>
  %q = attn.rms_norm %q_heads, %q_norm {eps = 1.0e-5 : f64} : tensor<?x?x6x16xf32>, !q_norm
  %k = attn.rms_norm %k_heads, %k_norm {eps = 1.0e-5 : f64} : tensor<?x?x2x16xf32>, !k_norm
  %o, %lse = attn.attention %q, %k, %v kv_len(%kv_len : tensor<?xi32>) {return_lse}
      : (tensor<?x?x6x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x6x16xf32>, tensor<?x6x?xf32>)
  %flat = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<?x?x6x16xf32> into tensor<?x?x96xf32>
  %attention_empty = tensor.empty(%B, %L) : tensor<?x?x96xf32>
  %attention_zeros = linalg.fill ins(%zero : f32) outs(%attention_empty : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %attention = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%flat, %o_proj : tensor<?x?x96xf32>, !o_proj) outs(%attention_zeros : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %middle_scalar = tensor.extract %attn_gate[%c0] : tensor<1xf32>
  %middle_factor = math.tanh %middle_scalar : f32
  %middle_empty = tensor.empty(%B, %L) : tensor<?x?x96xf32>
  %middle = linalg.generic {indexing_maps = [#element, #element, #element], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %attention : tensor<?x?x96xf32>, tensor<?x?x96xf32>) outs(%middle_empty : tensor<?x?x96xf32>) {
  ^bb0(%residual: f32, %part: f32, %none: f32):
    %scaled = arith.mulf %part, %middle_factor : f32
    %sum = arith.addf %residual, %scaled : f32
    linalg.yield %sum : f32
  } -> tensor<?x?x96xf32>
  %normed_middle = attn.rms_norm %middle, %post_norm {eps = 1.0e-5 : f64} : tensor<?x?x96xf32>, !post_norm
  %gate_empty = tensor.empty(%B, %L) : tensor<?x?x128xf32>
  %gate_zeros = linalg.fill ins(%zero : f32) outs(%gate_empty : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %gate = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%normed_middle, %gate_proj : tensor<?x?x96xf32>, !gate_proj) outs(%gate_zeros : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %up_empty = tensor.empty(%B, %L) : tensor<?x?x128xf32>
  %up_zeros = linalg.fill ins(%zero : f32) outs(%up_empty : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %up = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%normed_middle, %up_proj : tensor<?x?x96xf32>, !up_proj) outs(%up_zeros : tensor<?x?x128xf32>) -> tensor<?x?x128xf32>
  %product = attn.glu swiglu %gate, %up : tensor<?x?x128xf32>
  %feed_forward_empty = tensor.empty(%B, %L) : tensor<?x?x96xf32>
  %feed_forward_zeros = linalg.fill ins(%zero : f32) outs(%feed_forward_empty : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %feed_forward = linalg.contract indexing_maps = [#rows, #weight, #out]
      ins(%product, %down_proj : tensor<?x?x128xf32>, !down_proj) outs(%feed_forward_zeros : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %hidden_scalar = tensor.extract %mlp_gate[%c0] : tensor<1xf32>
  %hidden_factor = math.tanh %hidden_scalar : f32
  %hidden_empty = tensor.empty(%B, %L) : tensor<?x?x96xf32>
  %hidden = linalg.generic {indexing_maps = [#element, #element, #element], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%middle, %feed_forward : tensor<?x?x96xf32>, tensor<?x?x96xf32>) outs(%hidden_empty : tensor<?x?x96xf32>) {
  ^bb0(%residual: f32, %part: f32, %none: f32):
    %scaled = arith.mulf %part, %hidden_factor : f32
    %sum = arith.addf %residual, %scaled : f32
    linalg.yield %sum : f32
  } -> tensor<?x?x96xf32>
  return %hidden, %attention, %k, %v, %lse
      : tensor<?x?x96xf32>, tensor<?x?x96xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x6x?xf32>
}
