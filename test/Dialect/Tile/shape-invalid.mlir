// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @broadcast_shape(%x: tensor<16xf32>) {
  // expected-error @below {{'tile.broadcast' op expected the result without dimension 0 ('tensor<16x8xf32>') to have the shape of the input ('tensor<16xf32>')}}
  %0 = tile.broadcast %x along 0 : tensor<16xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @broadcast_element(%x: tensor<16xf32>) {
  // expected-error @below {{'tile.broadcast' op expected a result of the input's element type ('f32'), got 'f16'}}
  %0 = tile.broadcast %x along 1 : tensor<16xf32> -> tensor<16x8xf16>
  return
}

// -----

func.func @transpose(%x: tensor<16x8xf32>) {
  // expected-error @below {{'tile.transpose' op failed to infer returned types}}
  // expected-error @below {{'tile.transpose' op inferred type(s) 'tensor<8x16xf32>' are incompatible with return type(s) of operation 'tensor<16x8xf32>'}}
  %0 = tile.transpose %x : tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @slice_offsets(%x: tensor<16x8xf32>) {
  // expected-error @below {{'tile.slice' op expected 2 offsets, got 1}}
  %0 = tile.slice %x[0] : tensor<16x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @slice_outside(%x: tensor<16x8xf32>) {
  // expected-error @below {{'tile.slice' op expected 0 <= offset 0 <= 8, got 9}}
  %0 = tile.slice %x[9, 0] : tensor<16x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @slice_extent(%x: tensor<16x8xf32>) {
  // expected-error @below {{'tile.slice' op expected extent 1 of the result (16) to be at most that of the input (8)}}
  %0 = tile.slice %x[0, 0] : tensor<16x8xf32> -> tensor<8x16xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<16x8xf32>) {
  // expected-error @below {{'tile.slice' op expected a result of the input's rank (2), got 'tensor<8xf32>'}}
  %0 = tile.slice %x[0, 0] : tensor<16x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @concat_none() {
  // expected-error @below {{'tile.concat' op expected at least 1 input, got 0}}
  %0 = "tile.concat"() <{along = 0 : i64}> : () -> tensor<8xf32>
  return
}

// -----

func.func @concat_input(%x: tensor<16x8xf32>, %y: tensor<8x8xf32>) {
  // expected-error @below {{'tile.concat' op expected input 1 to differ from the result ('tensor<16x16xf32>') only in dimension 1, got 'tensor<8x8xf32>'}}
  %0 = tile.concat %x, %y along 1 : tensor<16x8xf32>, tensor<8x8xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @concat_sum(%x: tensor<16x8xf32>) {
  // expected-error @below {{'tile.concat' op expected dimension 1 of the result (24) to be the sum of those of the inputs (16)}}
  %0 = tile.concat %x, %x along 1 : tensor<16x8xf32>, tensor<16x8xf32> -> tensor<16x24xf32>
  return
}

// -----

func.func @iota_along() {
  // expected-error @below {{'tile.iota' op expected 0 <= along < 1, got -1}}
  %0 = tile.iota along -1 : tensor<16xi32>
  return
}

// -----

func.func @iota_element() {
  // expected-error @below {{'tile.iota' op result #0 must be tile (static tensor of rank 1 or 2) of i32, i64 or index, but got 'tensor<16xf32>'}}
  %0 = tile.iota along 0 : tensor<16xf32>
  return
}

// -----

func.func @convert(%x: tensor<16xf32>) {
  // expected-error @below {{'tile.convert_layout' op expected types that differ at most in their encodings, got 'tensor<16xf32>' and 'tensor<8xf32>'}}
  %0 = tile.convert_layout %x : tensor<16xf32> -> tensor<8xf32>
  return
}
