// RUN: heddle-opt %s --int-range-optimizations | FileCheck %s

// Program ids and extents are not negative and in the bounds of a launch.
// CHECK-LABEL: func.func @ranges
func.func @ranges(%view: !tile.view<?x128xf16>) -> (i1, i1, i1) {
  %c0 = arith.constant 0 : index
  %limit = arith.constant 65535 : index
  %id = tile.program_id y
  %count = tile.num_programs x
  %extent = tile.extent %view, 0 : !tile.view<?x128xf16>
  %0 = arith.cmpi slt, %id, %limit : index
  %1 = arith.cmpi sle, %count, %c0 : index
  %2 = arith.cmpi sge, %extent, %c0 : index
  // CHECK-DAG: %[[TRUE:.*]] = arith.constant true
  // CHECK-DAG: %[[FALSE:.*]] = arith.constant false
  // CHECK: return %[[TRUE]], %[[FALSE]], %[[TRUE]]
  return %0, %1, %2 : i1, i1, i1
}
