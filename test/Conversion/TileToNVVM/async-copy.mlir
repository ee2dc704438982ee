// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

#shared = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 8), (2, 16), (4, 32), (8, 0), (16, 0), (32, 0)]>
!view = !tile.view<?x64xf16>
!buffer = !tile_nv.buffer<64x64xf16, #shared>

// Four lanes a row, 32 rows a pass: a thread has two rows, one pass apart, and of each two chunks 64 bytes apart, the last one first. There is
// no size where no row can be outside.
// CHECK-LABEL: llvm.func @copy
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK-NOT: arith.select
// CHECK: %[[P1:.*]] = llvm.getelementptr %[[P:.*]][64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %[[P1]], 16, cache = cg :
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %[[P]], 16, cache = cg :
// CHECK: %[[Q:.*]] = llvm.getelementptr %[[P]][%{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK: %[[Q1:.*]] = llvm.getelementptr %[[Q]][64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %[[Q1]], 16, cache = cg :
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %[[Q]], 16, cache = cg :
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 0
tile.kernel @copy(%x: memref<?x64xf16, strided<[?, 1]>>, %i: index) config <block = [64], warps = 4> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<?x64xf16, strided<[?, 1]>> -> !view
  %to = tile_nv.alloc offset 0 : !buffer
  tile_nv.copy_async %view[%i, %c0] to %to : !view, !buffer
  tile_nv.commit_group
  tile_nv.wait_group 0
  tile.return
}

// -----

#shared = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 8), (2, 16), (4, 32), (8, 0), (16, 0), (32, 0)]>

// The first row is at least 0, so one subtraction serves all passes. Columns past 60 cut no chunk: 60 = 7 * 8 + 4 does.
// CHECK-LABEL: llvm.func @rows
// CHECK: %[[LEFT:.*]] = arith.subi
// CHECK: %[[IN:.*]] = arith.cmpi sgt, %[[LEFT]], %c0_i32
// CHECK: %[[SIZE:.*]] = arith.select %[[IN]], %c16_i32, %c0_i32
// CHECK-COUNT-2: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[SIZE]]
// CHECK: %[[IN1:.*]] = arith.cmpi sgt, %[[LEFT]], %c32_i32
// CHECK: %[[SIZE1:.*]] = arith.select %[[IN1]], %c16_i32, %c0_i32
// CHECK-COUNT-2: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[SIZE1]]
tile.kernel @rows(%x: memref<?x64xf16, strided<[?, 1]>>) config <block = [64], warps = 4> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %block = tile.program_id x
  %i = arith.muli %block, %c64 : index
  %view = tile.view %x[:, :] : memref<?x64xf16, strided<[?, 1]>> -> !tile.view<?x64xf16>
  %to = tile_nv.alloc offset 0 : !tile_nv.buffer<64x64xf16, #shared>
  tile_nv.copy_async %view[%i, %c0] to %to bounded : !tile.view<?x64xf16>, !tile_nv.buffer<64x64xf16, #shared>
  tile.return
}

// -----

#shared = #tile.layout<32x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 8), (2, 16), (4, 32), (8, 0), (16, 0)]>

// Rows of 60 elements are aligned to 8 bytes and end between chunks of 8.
// CHECK-LABEL: llvm.func @columns
// CHECK: %[[LEFT:.*]] = arith.subi %c60_i32, %{{.*}}
// CHECK: %[[IN:.*]] = arith.cmpi sgt, %[[LEFT]], %c0_i32
// CHECK: %[[SIZE:.*]] = arith.select %[[IN]], %c8_i32, %c0_i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8, cache = ca, %[[SIZE]]
tile.kernel @columns(%x: memref<32x60xf16>) config <block = [32], warps = 4> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<32x60xf16> -> !tile.view<32x60xf16>
  %to = tile_nv.alloc offset 0 : !tile_nv.buffer<32x64xf16, #shared>
  tile_nv.copy_async %view[%c0, %c0] to %to bounded : !tile.view<32x60xf16>, !tile_nv.buffer<32x64xf16, #shared>
  tile.return
}

// -----

#shared = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 8), (2, 16), (4, 32), (8, 0), (16, 0), (32, 0)]>

// Rows of a table are looked up in each pass; a negative entry is a row outside.
// CHECK-LABEL: llvm.func @table
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: nvvm.cp.async.shared.global
tile.kernel @table(%x: memref<?x64xf16, strided<[?, 1]>>, %t: memref<?xi32>, %i: index) config <block = [64], warps = 4> {
  %c0 = arith.constant 0 : index
  %view = tile.gather_view %x[table %t, :] : memref<?x64xf16, strided<[?, 1]>>, memref<?xi32> -> !tile.view<?x64xf16>
  %to = tile_nv.alloc offset 0 : !tile_nv.buffer<64x64xf16, #shared>
  tile_nv.copy_async %view[%i, %c0] to %to bounded : !tile.view<?x64xf16>, !tile_nv.buffer<64x64xf16, #shared>
  tile.return
}

// -----

#shared = #tile.layout<32x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 8), (2, 16), (4, 32), (8, 0), (16, 0)]>

// Two bytes are too few for cp.async: a strided dimension is copied element by element, zeros where there is no row.
// CHECK-LABEL: llvm.func @strided
// CHECK-NOT: nvvm.cp.async.shared
// CHECK: %[[X:.*]] = scf.if %{{.*}} -> (f16)
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> f16
// CHECK: llvm.store %[[X]], %{{.*}} {alignment = 2 : i64} : f16, !llvm.ptr<3>
tile.kernel @strided(%x: memref<?x64xf16, strided<[?, 2]>>) config <block = [32], warps = 4> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<?x64xf16, strided<[?, 2]>> -> !tile.view<?x64xf16>
  %to = tile_nv.alloc offset 0 : !tile_nv.buffer<32x64xf16, #shared>
  tile_nv.copy_async %view[%c0, %c0] to %to bounded : !tile.view<?x64xf16>, !tile_nv.buffer<32x64xf16, #shared>
  tile.return
}
