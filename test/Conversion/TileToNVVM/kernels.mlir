// RUN: heddle-opt %s --convert-tile-to-nvvm=chip=sm_86 --canonicalize --cse | FileCheck %s

#tile = #tile.layout<64x128, register = [(0, 1), (0, 2), (0, 4), (8, 0), (16, 0), (32, 0)], lane = [(0, 8), (0, 16), (0, 32), (0, 64), (1, 0)], warp = [(2, 0), (4, 0)]>

// CHECK-LABEL: func.func @entry
func.func @entry(%x: memref<?x128xf16, strided<[?, 1], offset: ?>>, %y: memref<?x128xf16>, %n: index) {
  %c1 = arith.constant 1 : index
  // CHECK: tile_nv.launch @copy grid(%{{.*}}, %{{.*}}, %{{.*}}) (%{{.*}}, %{{.*}}) : memref<?x128xf16, strided<[?, 1], offset: ?>>, memref<?x128xf16>
  tile.launch @copy grid(%n, %c1, %c1) (%x, %y) : memref<?x128xf16, strided<[?, 1], offset: ?>>, memref<?x128xf16>
  return
}

// The ABI: a pointer, extents and strides for each memref.
// CHECK: module @copy attributes {
// CHECK-SAME: tile_nv.alignments = array<i32: 16, 16>
// CHECK-SAME: tile_nv.chip = "sm_86"
// CHECK-SAME: tile_nv.config = #tile.config<block = [64, 128], warps = 4>
// CHECK-SAME: tile_nv.needed_flops = [#tile.products<flops = 2, extents = [0, 0, 0, 1]>]
// CHECK-SAME: tile_nv.shared_bytes = 0 : i32
// CHECK-SAME: tile_nv.threads = 128 : i32
// CHECK-SAME: tile_nv.written = array<i1: false, true>
// CHECK: llvm.func @copy(%{{[^:]*}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[ROWS:[^:]*]]: i64, %{{[^:]*}}: i64, %[[STRIDE:[^:]*]]: i64, %{{[^:]*}}: i64,
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64)
// CHECK-SAME: denormal_fp_math_f32 = "preserve-sign,preserve-sign"
// CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 128>, nvvm.minctasm = 3 : i32
tile.kernel @copy(%x: memref<?x128xf16, strided<[?, 1], offset: ?>>, %y: memref<?x128xf16>) config <block = [64, 128], warps = 4>
    attributes {needed_flops = [#tile.products<flops = 2, extents = [0, 0, 0, 1]>], tile_nv.ctas = 3 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f16
  // CHECK: nvvm.read.ptx.sreg.tid.x range <i32, 0, 128>
  // CHECK: %[[EXTENT:.*]] = arith.trunci %[[ROWS]] : i64 to i32
  // CHECK: nvvm.read.ptx.sreg.ctaid.x
  %block = tile.program_id x
  %row = arith.muli %block, %c64 : index
  %from = tile.view %x[:, :] : memref<?x128xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x128xf16>
  %to = tile.view %y[:, :] : memref<?x128xf16> -> !tile.view<?x128xf16>
  // A 64-bit address, then a pointer that walks down the rows; one comparison and 16 bytes for each row.
  // CHECK: %[[LEFT:.*]] = arith.subi %[[EXTENT]], %{{.*}} : i32
  // CHECK: %[[IN:.*]] = arith.cmpi sgt, %[[LEFT]], %{{.*}} : i32
  // CHECK: arith.muli %{{.*}}, %[[STRIDE]] : i64
  // CHECK: arith.cmpi sgt, %[[LEFT]], %c8{{.*}} : i32
  // CHECK: arith.shli %[[STRIDE]]
  // CHECK: arith.cmpi sgt, %[[LEFT]], %c56{{.*}} : i32
  // CHECK: scf.if %[[IN]] -> (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
  // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK: else
  // CHECK: scf.yield
  %tile = tile.load %from[%row, %c0] pad(%zero) : !tile.view<?x128xf16> -> tensor<64x128xf16, #tile>
  // Rows of static strides are at constant distances.
  // CHECK: llvm.getelementptr %{{.*}}[2048]
  // CHECK: scf.if
  // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
  tile.store %tile, %to[%row, %c0] : tensor<64x128xf16, #tile>, !tile.view<?x128xf16>
  // CHECK: llvm.return
  tile.return
}

// Scalars: index is i64 outside and i32 inside; other types are what they are.
// CHECK: module @scalars attributes {{.*}}tile_nv.alignments = array<i32: 4, 0, 0, 0>
// CHECK: llvm.func @scalars(%{{[^:]*}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %[[N:[^:]*]]: i64, %[[S:[^:]*]]: f32, %[[I:[^:]*]]: i32)
#one = #tile.layout<32, lane = [(1), (2), (4), (8), (16)], warp = [(0)]>
tile.kernel @scalars(%y: memref<?xf32>, %n: index, %s: f32, %i: i32) config <block = [32], warps = 2> {
  // CHECK: arith.trunci %[[N]] : i64 to i32
  %view = tile.view %y[:] : memref<?xf32> -> !tile.view<?xf32>
  %j = arith.index_cast %i : i32 to index
  %row = arith.addi %n, %j : index
  %grid = tile.num_programs y
  // CHECK: nvvm.read.ptx.sreg.nctaid.y
  %at = arith.muli %row, %grid : index
  %t = tensor.splat %s : tensor<32xf32, #one>
  // Both warps hold the tile: the first one stores it. The index may be negative: one unsigned comparison.
  // CHECK: %[[WARP:.*]] = arith.cmpi eq
  // CHECK: scf.if %[[WARP]]
  // CHECK: arith.cmpi ult
  // CHECK: llvm.store %[[S]]
  tile.store %t, %view[%at] : tensor<32xf32, #one>, !tile.view<?xf32>
  tile.return
}

// Shared memory is declared where there are buffers; alignments that the kernel states are taken.
// CHECK: module @shared attributes {{.*}}tile_nv.alignments = array<i32: 8>{{.*}}tile_nv.shared_bytes = 8192 : i32
// CHECK: llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
#small = #tile.layout<8x64, register = [(0, 1), (0, 2), (0, 4), (4, 0)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)]>
#buffer = #tile.layout<8x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 8), (2, 16), (4, 32)]>
tile.kernel @shared(%x: memref<?x64xf16>) config <block = [8], warps = 1>
    attributes {tile_nv.shared_bytes = 8192 : i32, tile_nv.alignments = array<i32: 8>} {
  %c0 = arith.constant 0 : index
  %b = tile_nv.alloc offset 1024 : !tile_nv.buffer<8x64xf16, #buffer>
  %view = tile.view %x[:, :] : memref<?x64xf16> -> !tile.view<?x64xf16>
  %t = tile.load %view[%c0, %c0] : !tile.view<?x64xf16> -> tensor<8x64xf16, #small>
  tile_nv.store %t, %b : tensor<8x64xf16, #small>, !tile_nv.buffer<8x64xf16, #buffer>
  tile.return
}

// Alignment is what every launch has: here columns from 6 on, and rows of 100 elements.
func.func @entry_of_parts(%x: memref<?x256xf16, strided<[?, 1], offset: ?>>, %y: memref<?x128xf16>, %z: memref<?x100xf16>, %n: index) {
  %c1 = arith.constant 1 : index
  %a = memref.subview %x[0, 6] [%n, 128] [1, 1] : memref<?x256xf16, strided<[?, 1], offset: ?>> to memref<?x128xf16, strided<[?, 1], offset: ?>>
  %columns = memref.subview %y[0, 6] [%n, 64] [1, 1] : memref<?x128xf16> to memref<?x64xf16, strided<[128, 1], offset: 6>>
  %b = memref.cast %columns : memref<?x64xf16, strided<[128, 1], offset: 6>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %rows = memref.subview %z[0, 0] [%n, 64] [1, 1] : memref<?x100xf16> to memref<?x64xf16, strided<[100, 1]>>
  %c = memref.cast %rows : memref<?x64xf16, strided<[100, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  tile.launch @parts grid(%n, %c1, %c1) (%a, %c, %b) : memref<?x128xf16, strided<[?, 1], offset: ?>>, memref<?x64xf16, strided<[?, 1], offset: ?>>, memref<?x64xf16, strided<[?, 1], offset: ?>>
  tile.launch @parts grid(%n, %c1, %c1) (%a, %c, %c) : memref<?x128xf16, strided<[?, 1], offset: ?>>, memref<?x64xf16, strided<[?, 1], offset: ?>>, memref<?x64xf16, strided<[?, 1], offset: ?>>
  return
}

#half = #tile.layout<64x64, register = [(0, 1), (0, 2), (0, 4), (8, 0), (16, 0)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)], warp = [(4, 0), (32, 0)]>

// CHECK: module @parts attributes {{.*}}tile_nv.alignments = array<i32: 16, 8, 4>
tile.kernel @parts(%x: memref<?x128xf16, strided<[?, 1], offset: ?>>, %y: memref<?x64xf16, strided<[?, 1], offset: ?>>, %z: memref<?x64xf16, strided<[?, 1], offset: ?>>) config <block = [64, 64], warps = 4> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f16
  %a = tile.view %x[:, :] : memref<?x128xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x128xf16>
  %b = tile.view %y[:, :] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x64xf16>
  %c = tile.view %z[:, :] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x64xf16>
  %0 = tile.load %a[%c0, %c0] pad(%zero) : !tile.view<?x128xf16> -> tensor<64x64xf16, #half>
  %1 = tile.load %b[%c0, %c0] pad(%zero) : !tile.view<?x64xf16> -> tensor<64x64xf16, #half>
  %2 = arith.addf %0, %1 : tensor<64x64xf16, #half>
  tile.store %2, %c[%c0, %c0] : tensor<64x64xf16, #half>, !tile.view<?x64xf16>
  tile.return
}
