// What a program stores to global memory and loads again, or loads and then overwrites, by threads that need not be the same ones.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --target=cpu,sim-sm_80 -o %t/m.so
// RUN: heddle-run %t/m.so --entry f --random 3 --target=cpu --output y=%t/f.npy
// RUN: heddle-run %t/m.so --entry f --random 3 --target=sim-sm_80 --verify y=%t/f.npy --rtol 0
// RUN: heddle-run %t/m.so --entry g --random 3 --target=cpu --output y=%t/g.npy
// RUN: heddle-run %t/m.so --entry g --random 3 --target=sim-sm_80 --verify y=%t/g.npy --rtol 1e-3

// y = (2 x)^T + 7, through y.
tile.kernel @transposed(%x: memref<?x?xf16, strided<[?, 1], offset: ?>>, %y: memref<?x?xf16, strided<[?, 1], offset: ?>>) config <block = [1], warps = 4> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f16
  %seven = arith.constant dense<7.0> : tensor<32x32xf16>
  %from = tile.view %x[:, :] : memref<?x?xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf16>
  %to = tile.view %y[:, :] : memref<?x?xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf16>
  %a = tile.load %from[%c0, %c0] pad(%zero) : !tile.view<?x?xf16> -> tensor<32x32xf16>
  tile.store %a, %to[%c0, %c0] : tensor<32x32xf16>, !tile.view<?x?xf16>
  %b = tile.load %to[%c0, %c0] pad(%zero) : !tile.view<?x?xf16> -> tensor<32x32xf16>
  %c = arith.addf %b, %b : tensor<32x32xf16>
  %d = tile.transpose %c : tensor<32x32xf16> -> tensor<32x32xf16>
  tile.store %seven, %to[%c0, %c0] : tensor<32x32xf16>, !tile.view<?x?xf16>
  %e = tile.load %to[%c0, %c0] pad(%zero) : !tile.view<?x?xf16> -> tensor<32x32xf16>
  %f = arith.addf %d, %e : tensor<32x32xf16>
  tile.store %f, %to[%c0, %c0] : tensor<32x32xf16>, !tile.view<?x?xf16>
  tile.return
}
func.func @f(%x: tensor<32x32xf16> {heddle.name = "x"}) -> (tensor<32x32xf16> {heddle.name = "y"}) {
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<32x32xf16>
  %y = tile.dispatch @transposed grid(%c1, %c1, %c1) ins(%x : tensor<32x32xf16>) outs(%e : tensor<32x32xf16>)
  return %y : tensor<32x32xf16>
}

// y = x x, where the factors are overwritten before the product.
tile.kernel @square(%x: memref<?x?xf16, strided<[?, 1], offset: ?>>, %y: memref<?x?xf16, strided<[?, 1], offset: ?>>) config <block = [1], warps = 4> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f16
  %seven = arith.constant dense<7.0> : tensor<32x32xf16>
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %from = tile.view %x[:, :] : memref<?x?xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x?xf16>
  %dest = memref.subview %y[0, 0] [32, 32] [1, 1] : memref<?x?xf16, strided<[?, 1], offset: ?>> to memref<32x32xf16, strided<[?, 1], offset: ?>>
  %to = tile.view %dest[:, :] : memref<32x32xf16, strided<[?, 1], offset: ?>> -> !tile.view<32x32xf16>
  %a = tile.load %from[%c0, %c0] pad(%pad) : !tile.view<?x?xf16> -> tensor<32x32xf16>
  tile.store %a, %to[%c0, %c0] : tensor<32x32xf16>, !tile.view<32x32xf16>
  %b = tile.load %to[%c0, %c0] : !tile.view<32x32xf16> -> tensor<32x32xf16>
  tile.store %seven, %to[%c0, %c0] : tensor<32x32xf16>, !tile.view<32x32xf16>
  %c = tile.dot %b, %b, %zero : tensor<32x32xf16>, tensor<32x32xf16> -> tensor<32x32xf32>
  %d = arith.truncf %c : tensor<32x32xf32> to tensor<32x32xf16>
  tile.store %d, %to[%c0, %c0] : tensor<32x32xf16>, !tile.view<32x32xf16>
  tile.return
}
func.func @g(%x: tensor<32x32xf16> {heddle.name = "x"}) -> (tensor<32x32xf16> {heddle.name = "y"}) {
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<32x32xf16>
  %y = tile.dispatch @square grid(%c1, %c1, %c1) ins(%x : tensor<32x32xf16>) outs(%e : tensor<32x32xf16>)
  return %y : tensor<32x32xf16>
}
