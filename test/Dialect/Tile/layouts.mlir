// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// CHECK-DAG: #[[ACC:layout[0-9]*]] = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#acc = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
// CHECK-DAG: #[[WIDE:layout[0-9]*]] = #tile.layout<16x40, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], repeat = [5 x register 4 -> coord1 8]>
#wide = #tile.layout<16x40, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], repeat = [5 x register 4 -> coord1 8]>
// Rows of the accumulator: four lanes hold the same element.
// CHECK-DAG: #[[ROWS:layout[0-9]*]] = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>
#rows = #tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>
// CHECK-DAG: #[[TURNED:layout[0-9]*]] = #tile.layout<8x16, register = [(1, 0), (0, 8)], lane = [(2, 0), (4, 0), (0, 1), (0, 2), (0, 4)]>
#turned = #tile.layout<8x16, register = [(1, 0), (0, 8)], lane = [(2, 0), (4, 0), (0, 1), (0, 2), (0, 4)]>
// The same elements in all warps, and a repeat that is held many times.
// CHECK-DAG: #[[COPIES:layout[0-9]*]] = #tile.layout<16, lane = [(1), (2), (4), (8), (0)], warp = [(0), (0)], repeat = [3 x register 1 -> none]>
#copies = #tile.layout<16, lane = [(1), (2), (4), (8), (0)], warp = [(0), (0)], repeat = [3 x register 1 -> none]>
// An extent of 1 is written where a larger one follows it.
// CHECK-DAG: #[[ROW:layout[0-9]*]] = #tile.layout<1x32, lane = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16)]>
#row = #tile.layout<1x32, lane = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16)]>
// CHECK-DAG: #[[COLUMN:layout[0-9]*]] = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>
#column = #tile.layout<32x1, lane = [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]>
// CHECK-DAG: #[[ONE:layout[0-9]*]] = #tile.layout<1, lane = [(0), (0), (0), (0), (0)]>
#one = #tile.layout<1, lane = [(0), (0), (0), (0), (0)]>

// CHECK-LABEL: func.func @encodings
func.func @encodings(%x: tensor<16x8xf32, #acc>, %w: tensor<16x40xf32, #wide>, %c: tensor<16xf32, #copies>,
                     %row: tensor<1x32xf32, #row>, %column: tensor<32x1xf32, #column>, %one: tensor<f32, #one>) {
  // CHECK: tile.reduce max %{{.*}} along 1 : tensor<16x8xf32, #[[ACC]]> -> tensor<16xf32, #[[ROWS]]>
  %0 = tile.reduce max %x along 1 : tensor<16x8xf32, #acc> -> tensor<16xf32, #rows>
  // CHECK: tile.reduce add %{{.*}} along 1 : tensor<16x40xf32, #[[WIDE]]> -> tensor<16xf32, #[[ROWS]]>
  %1 = tile.reduce add %w along 1 : tensor<16x40xf32, #wide> -> tensor<16xf32, #rows>
  // CHECK: tile.broadcast %{{.*}} along 1 : tensor<16xf32, #[[ROWS]]> -> tensor<16x8xf32, #[[ACC]]>
  %2 = tile.broadcast %1 along 1 : tensor<16xf32, #rows> -> tensor<16x8xf32, #acc>
  // CHECK: tile.transpose %{{.*}} : tensor<16x8xf32, #[[ACC]]> -> tensor<8x16xf32, #[[TURNED]]>
  %3 = tile.transpose %2 : tensor<16x8xf32, #acc> -> tensor<8x16xf32, #turned>
  // CHECK: tile.convert_layout %{{.*}} : tensor<16xf32, #[[COPIES]]> -> tensor<16xf32, #[[ROWS]]>
  %4 = tile.convert_layout %c : tensor<16xf32, #copies> -> tensor<16xf32, #rows>
  // CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<16xf32, #[[ROWS]]>
  %5 = arith.addf %4, %0 : tensor<16xf32, #rows>
  return
}

// Layouts of shared memory are attributes, not encodings.
// CHECK-LABEL: func.func private @shared
// CHECK-SAME: heddle.shared = #{{layout[0-9]*}}
func.func private @shared() attributes {heddle.shared = #tile.layout<2x2, offset = [(0, 1), (1, 1)]>}
