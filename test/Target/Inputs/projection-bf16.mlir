func.func @projection(%x: tensor<512x2048xbf16>, %w: tensor<1024x2048xbf16>) -> tensor<512x1024xf32> {
  %zero = arith.constant dense<0.0> : tensor<512x1024xf32>
  %y = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<512x2048xbf16>, tensor<1024x2048xbf16>) outs(%zero : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  return %y : tensor<512x1024xf32>
}
