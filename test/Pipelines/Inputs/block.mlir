// A small pre-norm projection with a cache: norms, a contraction, elementwise work, a run-time check and an update in place.
func.func @step(%x: tensor<?x?x16xf32> {heddle.name = "x", heddle.dims = ["B", "L", ""]}, %start: tensor<?xi32> {heddle.name = "start"},
                %k: tensor<?x?x2x4xf32> {heddle.name = "k_cache", heddle.role = "cache"},
                %v: tensor<?x?x2x4xf32> {heddle.name = "v_cache", heddle.role = "cache"},
                %scale: tensor<16xf32> {heddle.name = "norm.weight", heddle.role = "weight"},
                %w: tensor<8x16xbf16> {heddle.name = "proj.weight", heddle.role = "weight"})
    -> (tensor<?x?x2x4xf32> {heddle.name = "y"}, tensor<?x?x2x4xf32> {heddle.updates = "k_cache"}, tensor<?x?x2x4xf32> {heddle.updates = "v_cache"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %b = tensor.dim %x, %c0 : tensor<?x?x16xf32>
  %l = tensor.dim %x, %c1 : tensor<?x?x16xf32>
  %n = attn.rms_norm %x, %scale {eps = 1.0e-5 : f64} : tensor<?x?x16xf32>, tensor<16xf32>
  %empty = tensor.empty(%b, %l) : tensor<?x?x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %p = linalg.contract indexing_maps = [affine_map<(b, l, n, k) -> (b, l, k)>, affine_map<(b, l, n, k) -> (n, k)>,
                                        affine_map<(b, l, n, k) -> (b, l, n)>]
      ins(%n, %w : tensor<?x?x16xf32>, tensor<8x16xbf16>) outs(%init : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %h = tensor.expand_shape %p [[0], [1], [2, 3]] output_shape [%b, %l, 2, 4] : tensor<?x?x8xf32> into tensor<?x?x2x4xf32>
  %k2, %v2 = attn.kv_append %k, %v, %h, %h, %start
      : (tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32>, tensor<?xi32>)
      -> (tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32>)
  %y = attn.activation silu %h : tensor<?x?x2x4xf32>
  return %y, %k2, %v2 : tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32>
}
