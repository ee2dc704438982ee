// One cache of [latent | rope key] rows, [B, C, 80], is appended to and read where it is: no buffer has its extents, and only new rows are copied.

// RUN: heddle-opt %s --heddle-attn-to-linalg --heddle-linalg-to-kernels -o %t.cpu.mlir
// RUN: grep -E "memref.alloc|func.func @append" %t.cpu.mlir | FileCheck %s --implicit-check-not="memref<?x?x1x80xf16>" --implicit-check-not="memref<?x?x80xf16>"
// RUN: heddle-opt %s --heddle-attn-to-linalg=chip=sm_80 --heddle-linalg-to-kernels=tile-all -o %t.gpu.mlir
// RUN: grep -E "memref.alloc|func.func @append" %t.gpu.mlir | FileCheck %s --implicit-check-not="memref<?x?x1x80xf16>" --implicit-check-not="memref<?x?x80xf16>"

// CHECK: func.func @append
// Sums are f32 or, where they are inside of a kernel, already rounded.
// CHECK: memref.alloc(%{{.*}}) {{.*}} : memref<?x1x4x64x{{f16|f32}}>

func.func @append(
    %cache: tensor<?x?x80xf16> {heddle.name = "cache", heddle.dims = ["B", "C", ""], heddle.role = "cache", bufferization.writable = true},
    %row: tensor<?x1x1x80xf16>, %start: tensor<?xi32>, %q: tensor<?x1x4x32xf16>, %qr: tensor<?x1x4x16xf16>, %up: tensor<224x64xf16>)
    -> (tensor<?x1x4x24xf16> {heddle.name = "o"}, tensor<?x?x80xf16> {heddle.name = "cache", heddle.updates = "cache"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %B = tensor.dim %cache, %c0 : tensor<?x?x80xf16>
  %C = tensor.dim %cache, %c1 : tensor<?x?x80xf16>
  %rows = tensor.expand_shape %cache [[0], [1], [2, 3]] output_shape [%B, %C, 1, 80] : tensor<?x?x80xf16> into tensor<?x?x1x80xf16>
  %no_cache = tensor.empty(%B, %C) : tensor<?x?x1x0xf16>
  %no_row = tensor.empty(%B) : tensor<?x1x1x0xf16>
  %appended, %nothing = attn.kv_append %rows, %no_cache, %row, %no_row, %start
      : (tensor<?x?x1x80xf16>, tensor<?x?x1x0xf16>, tensor<?x1x1x80xf16>, tensor<?x1x1x0xf16>, tensor<?xi32>) -> (tensor<?x?x1x80xf16>, tensor<?x?x1x0xf16>)
  %new = tensor.collapse_shape %appended [[0], [1], [2, 3]] : tensor<?x?x1x80xf16> into tensor<?x?x80xf16>
  %o = attn.latent_attention %q, %new, %up query_rope(%qr : tensor<?x1x4x16xf16>) {absorbed}
      : (tensor<?x1x4x32xf16>, tensor<?x?x80xf16>, tensor<224x64xf16>) -> tensor<?x1x4x24xf16>
  return %o, %new : tensor<?x1x4x24xf16>, tensor<?x?x80xf16>
}
