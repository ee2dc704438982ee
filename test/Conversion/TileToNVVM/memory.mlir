// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

// Columns that may be outside: a vector only as far as the extent is a multiple of it.
// CHECK-LABEL: llvm.func @columns
// CHECK: scf.if %{{.*}} -> (f32, f32)
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
// CHECK: else
// CHECK: scf.yield %[[PAD:.*]], %[[PAD]] : f32, f32
// CHECK-COUNT-3: vector<2xf32>
// CHECK-NOT: vector<4xf32>
// CHECK: llvm.return
#quads = #tile.layout<8x32, register = [(0, 1), (0, 2), (0, 16)], lane = [(0, 4), (0, 8), (1, 0), (2, 0), (4, 0)]>
tile.kernel @columns(%x: memref<8x30xf32>, %pad: f32) config <block = [8], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<8x30xf32> -> !tile.view<8x30xf32>
  %t = tile.load %view[%c0, %c0] pad(%pad) : !tile.view<8x30xf32> -> tensor<8x32xf32, #quads>
  tile.store %t, %view[%c0, %c0] : tensor<8x32xf32, #quads>, !tile.view<8x30xf32>
  tile.return
}

// -----

// A dynamic extent of the columns: element by element, each with its condition. No vector can be assumed to be aligned.
// CHECK: tile_nv.alignments = array<i32: 4, 4, 0>
// CHECK-LABEL: llvm.func @dynamic
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load
// CHECK: llvm.return
#row = #tile.layout<128, register = [(1), (2)], lane = [(4), (8), (16), (32), (64)]>
tile.kernel @dynamic(%x: memref<?xf32, strided<[1], offset: ?>>, %y: memref<?xf32>, %pad: f32) config <block = [128], warps = 1> {
  %c128 = arith.constant 128 : index
  %block = tile.program_id x
  %at = arith.muli %block, %c128 : index
  %from = tile.view %x[:] : memref<?xf32, strided<[1], offset: ?>> -> !tile.view<?xf32>
  %to = tile.view %y[:] : memref<?xf32> -> !tile.view<?xf32>
  %t = tile.load %from[%at] pad(%pad) : !tile.view<?xf32> -> tensor<128xf32, #row>
  tile.store %t, %to[%at] : tensor<128xf32, #row>, !tile.view<?xf32>
  tile.return
}

// -----

// Booleans are bytes: four of them in a word.
// CHECK-LABEL: llvm.func @booleans
// CHECK: %[[WORD:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: %[[BYTE:.*]] = arith.trunci %[[WORD]] : i32 to i8
// CHECK: arith.cmpi ne, %[[BYTE]]
// CHECK: arith.shrui %[[WORD]], %c8_i32
// CHECK: arith.extui %{{.*}} : i1 to i32
// CHECK: arith.ori
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : i32
#bytes = #tile.layout<1x128, register = [(0, 1), (0, 2)], lane = [(0, 4), (0, 8), (0, 16), (0, 32), (0, 64)]>
tile.kernel @booleans(%x: memref<?x128xi1>, %y: memref<?x128xi1>) config <block = [1], warps = 1> {
  %c0 = arith.constant 0 : index
  %row = tile.program_id x
  %from = tile.view %x[:, :] : memref<?x128xi1> -> !tile.view<?x128xi1>
  %to = tile.view %y[:, :] : memref<?x128xi1> -> !tile.view<?x128xi1>
  %t = tile.load %from[%row, %c0] : !tile.view<?x128xi1> -> tensor<1x128xi1, #bytes>
  tile.store %t, %to[%row, %c0] : tensor<1x128xi1, #bytes>, !tile.view<?x128xi1>
  tile.return
}

// -----

// Pages: the table is read for rows below the extent only; an entry that is no page is outside.
// CHECK-LABEL: llvm.func @pages
// CHECK-SAME: (%{{[^:]*}}: !llvm.ptr<1> {{{[^}]*}}}, %[[PAGES:[^:]*]]: i64
// CHECK-DAG: %[[COUNT:.*]] = arith.trunci %[[PAGES]] : i64 to i32
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[ROW:.*]], %{{.*}} : i32
// CHECK: %[[ENTRY:.*]] = scf.if %[[INSIDE]] -> (i32)
// CHECK: arith.shrui %[[ROW]], %c4_i32
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: else
// CHECK: scf.yield %c-1_i32
// CHECK: arith.cmpi ult, %[[ENTRY]], %[[COUNT]] : i32
// CHECK: arith.andi %[[ROW]], %c15_i32
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
#rows = #tile.layout<4x64, register = [(0, 1), (0, 2), (0, 4)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)]>
tile.kernel @pages(%s: memref<?x16x8x64xbf16>, %table: memref<?xi32>, %n: index, %h: index, %o: memref<?x64xbf16>) config <block = [4], warps = 1> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %pad = arith.constant 0.0 : bf16
  %block = tile.program_id x
  %row = arith.muli %block, %c4 : index
  %view = tile.gather_view %s[table %table, page, %h, :] rows(%n) : memref<?x16x8x64xbf16>, memref<?xi32> -> !tile.view<?x64xbf16>
  %to = tile.view %o[:, :] : memref<?x64xbf16> -> !tile.view<?x64xbf16>
  %t = tile.load %view[%row, %c0] pad(%pad) : !tile.view<?x64xbf16> -> tensor<4x64xbf16, #rows>
  tile.store %t, %to[%row, %c0] : tensor<4x64xbf16, #rows>, !tile.view<?x64xbf16>
  tile.return
}

// -----

// Columns of a swizzled register layout are one XOR apart; strides of any kind are multiplied.
// CHECK-LABEL: llvm.func @swizzled
// CHECK: arith.xori
// CHECK: llvm.load
#swizzled = #tile.layout<8x16, register = [(0, 1), (0, 2)], lane = [(0, 4), (0, 8), (1, 1), (2, 2), (4, 0)]>
tile.kernel @swizzled(%x: memref<8x16xf32, strided<[?, ?], offset: ?>>) config <block = [8], warps = 1> {
  %c0 = arith.constant 0 : index
  %view = tile.view %x[:, :] : memref<8x16xf32, strided<[?, ?], offset: ?>> -> !tile.view<8x16xf32>
  %t = tile.load %view[%c0, %c0] : !tile.view<8x16xf32> -> tensor<8x16xf32, #swizzled>
  tile.store %t, %view[%c0, %c0] : tensor<8x16xf32, #swizzled>, !tile.view<8x16xf32>
  tile.return
}

// -----

// Different elements of a constant come from a table of the module; scalars are loaded as they are.
// CHECK: llvm.mlir.global internal constant @constant_0(dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>) {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<4 x f32>
// CHECK-LABEL: llvm.func @table
// CHECK: llvm.mlir.addressof @constant_0 : !llvm.ptr<1>
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
#four = #tile.layout<4, lane = [(1), (2), (0), (0), (0)]>
tile.kernel @table(%y: memref<?xf32>, %n: memref<?xi32>, %i: index) config <block = [4], warps = 1> {
  %t = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32, #four>
  %at32 = memref.load %n[%i] : memref<?xi32>
  %at = arith.index_cast %at32 : i32 to index
  %view = tile.view %y[:] : memref<?xf32> -> !tile.view<?xf32>
  tile.store %t, %view[%at] : tensor<4xf32, #four>, !tile.view<?xf32>
  tile.return
}

// -----

// Elements by their indices, kept inside: one load for each register. Rows that a column gives are loaded once.
// CHECK-LABEL: llvm.func @gathered
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load
// CHECK: llvm.store
#quads = #tile.layout<128, register = [(1), (2)], lane = [(4), (8), (16), (32), (64)]>
tile.kernel @gathered(%x: memref<?x?xf32>, %row: index, %y: memref<128xf32>) config <block = [128], warps = 1> {
  %c0 = arith.constant 0 : index
  %column = tile.iota along 0 start(%row) : tensor<128xi32, #quads>
  %t = tile.gather %x[%row, %column] : memref<?x?xf32>, index, tensor<128xi32, #quads> -> tensor<128xf32, #quads>
  %to = tile.view %y[:] : memref<128xf32> -> !tile.view<128xf32>
  tile.store %t, %to[%c0] : tensor<128xf32, #quads>, !tile.view<128xf32>
  tile.return
}

// -----

// One of two memrefs: its pointer, extents and strides, but for those that both have. Both are asked to be aligned for the vectors.
// CHECK: tile_nv.alignments = array<i32: 16, 16, 0, 16>
// CHECK-LABEL: llvm.func @selected
// CHECK-DAG: arith.select %{{.*}}, %{{.*}}, %{{.*}} : !llvm.ptr<1>
// CHECK-DAG: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i64
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
#quads = #tile.layout<8x32, register = [(0, 1), (0, 2), (0, 16)], lane = [(0, 4), (0, 8), (1, 0), (2, 0), (4, 0)]>
!rows = memref<?x32xf32, strided<[?, 1], offset: ?>>
tile.kernel @selected(%x: !rows, %y: !rows, %first: i1, %z: memref<8x32xf32>) config <block = [8], warps = 1> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %source = arith.select %first, %x, %y : !rows
  %part = memref.subview %source[%c8, 0] [8, 32] [1, 1] : !rows to memref<8x32xf32, strided<[?, 1], offset: ?>>
  %view = tile.view %part[:, :] : memref<8x32xf32, strided<[?, 1], offset: ?>> -> !tile.view<8x32xf32>
  %to = tile.view %z[:, :] : memref<8x32xf32> -> !tile.view<8x32xf32>
  %t = tile.load %view[%c0, %c0] : !tile.view<8x32xf32> -> tensor<8x32xf32, #quads>
  tile.store %t, %to[%c0, %c0] : tensor<8x32xf32, #quads>, !tile.view<8x32xf32>
  tile.return
}
