// REQUIRES: ptxas
// RUN: heddle-opt %s --heddle-tile-to-nvvm=chip=sm_80 -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: heddle-translate --kernels-to=ptx --kernel=softmax %t.mlir | FileCheck %s --check-prefix=PTX
// RUN: heddle-translate --kernels-to=cubin --Werror --kernel=copy %t.mlir -o %t.copy
// RUN: heddle-translate --kernels-to=cubin --Werror --kernel=softmax %t.mlir -o %t.softmax
// RUN: heddle-translate --kernels-to=cubin --Werror --kernel=functions %t.mlir -o %t.functions

// Kernels without layouts, end to end. Nothing but the LLVM and NVVM dialects is left in nested modules.
// CHECK-NOT: {{(arith|math|scf|cf|tile|memref|tensor)\.}}{{[a-z]}}
// CHECK: module @copy
// CHECK: module @softmax
// CHECK: module @functions

tile.kernel @copy(%x: memref<?x128xbf16>, %y: memref<?x128xbf16>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : bf16
  %block = tile.program_id x
  %row = arith.muli %block, %c64 : index
  %from = tile.view %x[:, :] : memref<?x128xbf16> -> !tile.view<?x128xbf16>
  %to = tile.view %y[:, :] : memref<?x128xbf16> -> !tile.view<?x128xbf16>
  %tile = tile.load %from[%row, %c0] pad(%zero) : !tile.view<?x128xbf16> -> tensor<64x128xbf16>
  tile.store %tile, %to[%row, %c0] : tensor<64x128xbf16>, !tile.view<?x128xbf16>
  tile.return
}

// PTX: .visible .entry softmax
// PTX: ld.global.v4
// PTX: shfl.sync.bfly.b32
// PTX: ex2.approx.ftz.f32
// PTX: rcp.approx.ftz.f32
// PTX-NOT: call
// PTX: st.global.v{{[24]}}
tile.kernel @softmax(%x: memref<?x128xf32>, %y: memref<?x128xf16>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %block = tile.program_id x
  %row = arith.muli %block, %c16 : index
  %from = tile.view %x[:, :] : memref<?x128xf32> -> !tile.view<?x128xf32>
  %to = tile.view %y[:, :] : memref<?x128xf16> -> !tile.view<?x128xf16>
  %t = tile.load %from[%row, %c0] pad(%zero) : !tile.view<?x128xf32> -> tensor<16x128xf32>
  %m = tile.reduce max %t along 1 : tensor<16x128xf32> -> tensor<16xf32>
  %mb = tile.broadcast %m along 1 : tensor<16xf32> -> tensor<16x128xf32>
  %d = arith.subf %t, %mb : tensor<16x128xf32>
  %e = math.exp %d : tensor<16x128xf32>
  %s = tile.reduce add %e along 1 : tensor<16x128xf32> -> tensor<16xf32>
  %one = arith.constant dense<1.0> : tensor<16xf32>
  %i = arith.divf %one, %s : tensor<16xf32>
  %ib = tile.broadcast %i along 1 : tensor<16xf32> -> tensor<16x128xf32>
  %p = arith.mulf %e, %ib : tensor<16x128xf32>
  %h = arith.truncf %p : tensor<16x128xf32> to tensor<16x128xf16>
  tile.store %h, %to[%row, %c0] : tensor<16x128xf16>, !tile.view<?x128xf16>
  tile.return
}

tile.kernel @functions(%x: memref<?xf32>, %n: memref<?xi1>) config <block = [128], warps = 1> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %false = arith.constant false
  %view = tile.view %x[:] : memref<?xf32> -> !tile.view<?xf32>
  %mask = tile.view %n[:] : memref<?xi1> -> !tile.view<?xi1>
  %0 = tile.load %view[%c0] pad(%pad) : !tile.view<?xf32> -> tensor<128xf32>
  %1 = tile.load %mask[%c0] pad(%false) : !tile.view<?xi1> -> tensor<128xi1>
  %2 = math.tanh %0 : tensor<128xf32>
  %3 = math.erf %2 : tensor<128xf32>
  %4 = math.sin %3 : tensor<128xf32>
  %5 = math.cos %4 : tensor<128xf32>
  %6 = math.powf %5, %0 : tensor<128xf32>
  %7 = math.log1p %6 : tensor<128xf32>
  %8 = math.expm1 %7 : tensor<128xf32>
  %9 = math.round %8 : tensor<128xf32>
  %10 = math.sqrt %9 : tensor<128xf32>
  %11 = arith.divf %10, %0 : tensor<128xf32>
  %12 = arith.select %1, %11, %0 : tensor<128xi1>, tensor<128xf32>
  %13 = tile.scan add exclusive %12 along 0 : tensor<128xf32>
  tile.store %13, %view[%c0] : tensor<128xf32>, !tile.view<?xf32>
  tile.return
}
