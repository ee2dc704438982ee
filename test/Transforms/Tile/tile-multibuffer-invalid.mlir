// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-multibuffer))' --split-input-file --verify-diagnostics

// Twelve elements counted as 3 x 4 and as 4 x 3: the digits of one of them are not those of memory.
#lanes_outside = #tile.layout<12, lane = [(3), (6)], repeat = [3 x register 1 -> coord0 1]>
#lanes_inside = #tile.layout<12, lane = [(1), (2)], repeat = [3 x register 1 -> coord0 4]>
tile.kernel @digits(%x: memref<12xf32>) {
  %c0 = arith.constant 0 : index
  %xv = tile.view %x[:] : memref<12xf32> -> !tile.view<12xf32>
  %t = tile.load %xv[%c0] : !tile.view<12xf32> -> tensor<12xf32, #lanes_outside>
  // expected-error @below {{expected layouts that can be stored to and loaded from rows in shared memory, got 'tensor<12xf32, #tile.layout<12, lane = [(3), (6)], repeat = [3 x register 1 -> coord0 1]>>' and 'tensor<12xf32, #tile.layout<12, lane = [(1), (2)], repeat = [3 x register 1 -> coord0 4]>>'}}
  %u = tile.convert_layout %t : tensor<12xf32, #lanes_outside> -> tensor<12xf32, #lanes_inside>
  tile.store %u, %xv[%c0] : tensor<12xf32, #lanes_inside>, !tile.view<12xf32>
  tile.return
}

// -----

#mixed = #tile.layout<2x4, register = [(1, 1), (1, 2)], lane = [(0, 1)], warp = [(1, 2)]>
#rows = #tile.layout<2, register = [(1)], lane = [(0)], warp = [(1)]>
tile.kernel @mixed(%x: memref<2x4xf32>, %y: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %xv = tile.view %x[:, :] : memref<2x4xf32> -> !tile.view<2x4xf32>
  %yv = tile.view %y[:] : memref<2xf32> -> !tile.view<2xf32>
  %t = tile.load %xv[%c0, %c0] : !tile.view<2x4xf32> -> tensor<2x4xf32, #mixed>
  // expected-error @below {{'tile.reduce' op expected registers that do not mix dimension 1 with the other, got 'tensor<2x4xf32}}
  %r = "tile.reduce"(%t) {kind = #tile<combining_kind add>, along = 1 : i64} : (tensor<2x4xf32, #mixed>) -> tensor<2xf32, #tile.layout<2, register = [(1), (1)], lane = [(0)], warp = [(1)]>>
  tile.return
}
