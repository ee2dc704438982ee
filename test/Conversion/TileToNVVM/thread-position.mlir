// RUN: heddle-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#shared = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 8), (8, 0)]>

// Behind a loop with products the indices of thread and CTA are read again, and what is computed of them is computed again: neither
// holds a register in the loop. What was loaded is kept.
// CHECK-LABEL: llvm.func @position
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: %[[ID:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: arith.muli %[[ID]], %c16_i32
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.inline_asm
// CHECK: scf.for
// CHECK: nvvm.mma.sync
// CHECK: scf.yield
// CHECK-DAG: llvm.inline_asm has_side_effects asm_dialect = att "mov.u32 $0, %tid.x;", "=r"
// CHECK-DAG: %[[AGAIN:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "mov.u32 $0, %ctaid.x;", "=r"
// CHECK: arith.muli %[[AGAIN]], %c16_i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: llvm.return
tile.kernel @position(%o: memref<?x16xf32>, %lengths: memref<?xi32>) config <block = [16], warps = 1> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %block = tile.program_id x
  %row = arith.muli %block, %c16 : index
  %length = memref.load %lengths[%row] : memref<?xi32>
  %n = arith.index_cast %length : i32 to index
  %view = tile.view %o[:, :] : memref<?x16xf32> -> !tile.view<?x16xf32>
  %x = tile_nv.alloc offset 0 : !tile_nv.buffer<16x16xf16, #shared>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<16x16xf32, #acc>) {
    %s = tile_nv.dot %x, %x, %sum : !tile_nv.buffer<16x16xf16, #shared>, !tile_nv.buffer<16x16xf16, #shared> -> tensor<16x16xf32, #acc>
    scf.yield %s : tensor<16x16xf32, #acc>
  }
  tile.store %r, %view[%row, %c0] : tensor<16x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}
