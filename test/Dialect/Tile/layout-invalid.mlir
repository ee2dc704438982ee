// RUN: heddle-opt %s --split-input-file --verify-diagnostics

#a = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>
// expected-error @below {{expected a layout of 16, got one of 32}}
func.func private @extent(tensor<16xf32, #a>)

// -----

#a = #tile.layout<32, lane = [(1), (2), (4), (8), (16)]>
// expected-error @below {{expected a layout of 32x2, got one of 32x1}}
func.func private @missing_dimension(tensor<32x2xf32, #a>)

// -----

#a = #tile.layout<16x2, lane = [(1, 0), (2, 0), (4, 0), (8, 0), (0, 1)]>
// expected-error @below {{expected a layout of 16, got one of 16x2}}
func.func private @more_dimensions(tensor<16xf32, #a>)

// -----

#a = #tile.layout<16, lane = [(1), (2), (4)]>
// expected-error @below {{expected a layout that covers all elements of 16, got lane = [(1) (2) (4)]; coord0 16}}
func.func private @coverage(tensor<16xf32, #a>)

// -----

#a = #tile.layout<80, lane = [(1), (2), (4), (8)]>
// expected-error @below {{expected a layout that covers all elements of 80, got lane = [(1) (2) (4) (8)], 5 x none -> coord0 16; coord0 80}}
func.func private @odd_coverage(tensor<80xf32, #a>)

// -----

#a = #tile.layout<64, lane = [(1), (2), (4), (8), (16), (32)]>
// expected-error @below {{expected a power of two of at most 32 lanes, got 64}}
func.func private @lanes(tensor<64xf32, #a>)

// -----

#a = #tile.layout<64, warp = [(1), (2), (4), (8)], warpgroup = [(16), (32)]>
// expected-error @below {{expected at most 32 warps, got 64}}
func.func private @warps(tensor<64xf32, #a>)

// -----

#a = #tile.layout<4, offset = [(1), (2)]>
// expected-error @below {{expected a layout of registers, got one of memory offsets}}
func.func private @offsets(tensor<4xf32, #a>)

// -----

// expected-error @below {{expected basis 1 of lane to be a sum of bits of coord0 (size 16), got 16}}
#a = #tile.layout<16, lane = [(1), (16)]>

// -----

// expected-error @below {{expected basis 0 of lane to have 2 coordinates, got 1}}
#a = #tile.layout<16x8, lane = [(1)]>

// -----

// expected-error @below {{input lane is given twice}}
#a = #tile.layout<16, lane = [(1)], lane = [(2)]>

// -----

// expected-error @below {{expected hardware indices to have bases, got coord1}}
#a = #tile.layout<16, coord1 = [(1)]>

// -----

// expected-error @below {{expected register, lane, warp, warpgroup, cta, offset or a coordinate, got thread}}
#a = #tile.layout<16, thread = [(1)]>

// -----

#rows = #tile.layout<16, lane = [(0), (1), (2), (4), (8)]>
#acc = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
func.func @broadcast(%x: tensor<16xf32, #rows>) {
  // expected-error @below {{'tile.broadcast' op expected the input's layout to be that of the result without dimension 1 (#tile.layout<16, register = [(8)], lane = [(0), (0), (1), (2), (4)]>), got #tile.layout<16, lane = [(0), (1), (2), (4), (8)]>}}
  %0 = tile.broadcast %x along 1 : tensor<16xf32, #rows> -> tensor<16x8xf32, #acc>
  return
}
