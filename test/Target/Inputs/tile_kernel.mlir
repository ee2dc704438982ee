// An entry that only launches a tile kernel: y = 2 x.
tile.kernel @twice(%x: memref<?x?xf32, strided<[?, 1], offset: ?>>, %y: memref<?x?xf32, strided<[?, 1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %block = tile.program_id x
  %row = arith.muli %block, %c8 : index
  %from = tile.view %x[:, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf32>
  %to = tile.view %y[:, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf32>
  %t = tile.load %from[%row, %c0] pad(%zero) : !tile.view<?x?xf32> -> tensor<8x32xf32>
  %d = arith.addf %t, %t : tensor<8x32xf32>
  tile.store %d, %to[%row, %c0] : tensor<8x32xf32>, !tile.view<?x?xf32>
  tile.return
}
func.func @f(%x: tensor<?x32xf32> {heddle.name = "x", heddle.dims = ["N", ""]}) -> (tensor<?x32xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = tensor.dim %x, %c0 : tensor<?x32xf32>
  %e = tensor.empty(%n) : tensor<?x32xf32>
  %blocks = arith.ceildivui %n, %c8 : index
  %y = tile.dispatch @twice grid(%blocks, %c1, %c1) ins(%x : tensor<?x32xf32>) outs(%e : tensor<?x32xf32>)
  return %y : tensor<?x32xf32>
}
