// Scans over more elements than a warp has lanes, by four warps: down the columns and along the rows of a tile, of what a product gives,
// and of a row alone, against the CPU.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --target=cpu,sim-sm_80 -o %t/m.so
// DEFINE: %{run} = heddle-run %t/m.so --random 1 --dim M=60 --dim N=50
// RUN: %{run} --target=cpu --output y=%t/y.npy --output z=%t/z.npy
// RUN: %{run} --target=sim-sm_80 --sim-check --verify y=%t/y.npy --verify z=%t/z.npy

!matrix = memref<?x?xf32, strided<[?, 1], offset: ?>>

tile.kernel @scans(%x: !matrix, %y: !matrix, %z: !matrix) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %from = tile.view %x[:, :] : !matrix -> !tile.view<?x?xf32>
  %to = tile.view %y[:, :] : !matrix -> !tile.view<?x?xf32>
  %row = tile.view %z[%c0, :] : !matrix -> !tile.view<?xf32>
  %t = tile.load %from[%c0, %c0] pad(%zero) : !tile.view<?x?xf32> -> tensor<64x64xf32>
  %down = tile.scan add inclusive %t along 0 : tensor<64x64xf32>
  %along = tile.scan max exclusive %down along 1 : tensor<64x64xf32>
  %most = tile.scan min inclusive %along along 0 : tensor<64x64xf32>
  %product = tile.dot %t, %t, %zeros {transpose_b} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %sums = tile.scan add exclusive %product along 0 : tensor<64x64xf32>
  %all = arith.subf %sums, %down : tensor<64x64xf32>
  tile.store %all, %to[%c0, %c0] : tensor<64x64xf32>, !tile.view<?x?xf32>
  // Rows of -inf, from the exclusive scan, are left out.
  %last = tile.slice %most[0, 1] : tensor<64x64xf32> -> tensor<64x63xf32>
  %totals = tile.reduce add %last along 0 : tensor<64x63xf32> -> tensor<63xf32>
  %running = tile.scan add inclusive %totals along 0 : tensor<63xf32>
  tile.store %running, %row[%c0] : tensor<63xf32>, !tile.view<?xf32>
  tile.return
}

func.func @f(%x: tensor<?x?xf32> {heddle.name = "x", heddle.dims = ["M", "N"]})
    -> (tensor<?x?xf32> {heddle.name = "y"}, tensor<?x?xf32> {heddle.name = "z"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y:2 = tile.dispatch @scans grid(%c1, %c1, %c1) ins(%x : tensor<?x?xf32>) outs(%e, %zeros : tensor<?x?xf32>, tensor<?x?xf32>)
  return %y#0, %y#1 : tensor<?x?xf32>, tensor<?x?xf32>
}
