// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#shared = #tile.layout<16x32, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (1, 0), (2, 8), (4, 16), (8, 0)]>

// Fragments of A and B of one step along K, then their products. B is read in pairs of adjacent registers: lanes 8 to 15 name the other
// half of K, lanes 16 to 23 the next 8 columns. The second step is one XOR away.
// CHECK-LABEL: llvm.func @scores
// CHECK: %[[A:.*]] = nvvm.ldmatrix %[[AT:.*]] {{{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK: %[[A0:.*]] = llvm.extractvalue %[[A]][0]
// CHECK: %[[A0F:.*]] = llvm.bitcast %[[A0]] : i32 to vector<2xf16>
// CHECK: %[[B:.*]] = nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK-DAG: %[[B0:.*]] = llvm.extractvalue %[[B]][0]
// CHECK-DAG: %[[B0F:.*]] = llvm.bitcast %[[B0]] :
// CHECK-DAG: %[[B1:.*]] = llvm.extractvalue %[[B]][1]
// CHECK-DAG: %[[B1F:.*]] = llvm.bitcast %[[B1]] :
// CHECK-DAG: %[[B2:.*]] = llvm.extractvalue %[[B]][2]
// CHECK-DAG: %[[B2F:.*]] = llvm.bitcast %[[B2]] :
// CHECK-DAG: %[[B3:.*]] = llvm.extractvalue %[[B]][3]
// CHECK-DAG: %[[B3F:.*]] = llvm.bitcast %[[B3]] :
// CHECK: nvvm.mma.sync A[%[[A0F]], %{{.*}}] B[%[[B0F]], %[[B1F]]] C[%{{.*}}] {{.*}}m = 16, n = 8, k = 16
// CHECK: nvvm.mma.sync A[%[[A0F]], %{{.*}}] B[%[[B2F]], %[[B3F]]]
// CHECK: arith.xori %{{.*}}, %c32_i32
// CHECK-COUNT-2: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @scores(%o: memref<?x16xf32>) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %o[:, :] : memref<?x16xf32> -> !tile.view<?x16xf32>
  %q = tile_nv.alloc offset 0 : !tile_nv.buffer<16x32xf16, #shared>
  %k = tile_nv.alloc offset 1024 : !tile_nv.buffer<16x32xf16, #shared>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  %s = tile_nv.dot %q, %k, %zero {transpose_b} : !tile_nv.buffer<16x32xf16, #shared>, !tile_nv.buffer<16x32xf16, #shared> -> tensor<16x16xf32, #acc>
  tile.store %s, %view[%c0, %c0] : tensor<16x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}

// -----

#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#shared = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8), (8, 0)]>

// P is rounded where the product needs it; V, with a row for each k, is read transposed, at addresses formed anew.
// CHECK-LABEL: llvm.func @weigh
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, $1;", "=r,r"
// CHECK: %[[P:.*]] = nvvm.convert.f32x2.to.bf16x2
// CHECK: %[[PI:.*]] = llvm.bitcast %[[P]] : vector<2xbf16> to i32
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4
// CHECK-COUNT-2: nvvm.mma.sync A[%[[PI]]
tile.kernel @weigh(%o: memref<?x16xf32>, %p: f32) config <block = [16], warps = 1> attributes {tile_nv.interleave = true, tile_nv.remat = ["b"]} {
  %c0 = arith.constant 0 : index
  %view = tile.view %o[:, :] : memref<?x16xf32> -> !tile.view<?x16xf32>
  %v = tile_nv.alloc offset 0 : !tile_nv.buffer<16x16xbf16, #shared>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  %weights = tensor.splat %p : tensor<16x16xf32, #acc>
  %rounded = arith.truncf %weights : tensor<16x16xf32, #acc> to tensor<16x16xbf16, #acc>
  %s = tile_nv.dot %rounded, %v, %zero : tensor<16x16xbf16, #acc>, !tile_nv.buffer<16x16xbf16, #shared> -> tensor<16x16xf32, #acc>
  tile.store %s, %view[%c0, %c0] : tensor<16x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}

// -----

#acc = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#shared = #tile.layout<8x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 4)]>

// An accumulator as operand A: K is permuted in both operands. Three products, the small ones first.
// CHECK-LABEL: llvm.func @split
// CHECK: %[[HI:.*]] = nvvm.convert.float.to.tf32 %[[X:.*]] {rnd = #nvvm.fp_rnd_mode<rna>}
// CHECK: %[[HIF:.*]] = llvm.bitcast %[[HI]] : i32 to f32
// CHECK: %[[REST:.*]] = arith.subf %[[X]], %[[HIF]]
// CHECK: %[[LO:.*]] = nvvm.convert.float.to.tf32 %[[REST]]
// CHECK: %[[B:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK: %[[BHI:.*]] = nvvm.convert.float.to.tf32 %[[B]]
// CHECK: %[[BLO:.*]] = nvvm.convert.float.to.tf32
// CHECK: nvvm.mma.sync A[%[[HI]], {{.*}}] B[%[[BLO]], {{.*}}
// CHECK: nvvm.mma.sync A[%[[LO]], {{.*}}] B[%[[BHI]], {{.*}}
// CHECK: nvvm.mma.sync A[%[[HI]], {{.*}}] B[%[[BHI]], {{.*}}m = 16, n = 8, k = 8
tile.kernel @split(%o: memref<?x8xf32>, %x: f32) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %o[:, :] : memref<?x8xf32> -> !tile.view<?x8xf32>
  %v = tile_nv.alloc offset 0 : !tile_nv.buffer<8x8xf32, #shared>
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %a = tensor.splat %x : tensor<16x8xf32, #acc>
  %s = tile_nv.dot %a, %v, %zero precision tf32x3 : tensor<16x8xf32, #acc>, !tile_nv.buffer<8x8xf32, #shared> -> tensor<16x8xf32, #acc>
  tile.store %s, %view[%c0, %c0] : tensor<16x8xf32, #acc>, !tile.view<?x8xf32>
  tile.return
}

// -----

#acc = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#a = #tile.layout<16x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 4), (8, 0)]>
#b = #tile.layout<8x8, offset = [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (4, 4)]>

// Without rounding: a loop over parts of K of one load of A.
// CHECK-LABEL: llvm.func @exact
// CHECK: scf.for %[[PART:.*]] = %c0_i32 to %c2_i32
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// CHECK-COUNT-16: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK: scf.yield
tile.kernel @exact(%o: memref<?x8xf32>) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %o[:, :] : memref<?x8xf32> -> !tile.view<?x8xf32>
  %x = tile_nv.alloc offset 0 : !tile_nv.buffer<16x8xf32, #a>
  %y = tile_nv.alloc offset 1024 : !tile_nv.buffer<8x8xf32, #b>
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %s = tile_nv.dot %x, %y, %zero : !tile_nv.buffer<16x8xf32, #a>, !tile_nv.buffer<8x8xf32, #b> -> tensor<16x8xf32, #acc>
  tile.store %s, %view[%c0, %c0] : tensor<16x8xf32, #acc>, !tile.view<?x8xf32>
  tile.return
}
