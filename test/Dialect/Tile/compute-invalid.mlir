// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @dot_k(%a: tensor<16x32xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.dot' op expected K of b (16) to equal that of a (32)}}
  %0 = tile.dot %a, %b, %c : tensor<16x32xf16>, tensor<16x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @dot_m(%a: tensor<16x32xf16>, %b: tensor<32x8xf16>, %c: tensor<32x8xf32>) {
  // expected-error @below {{'tile.dot' op expected M of acc (32) to equal that of a (16)}}
  %0 = tile.dot %a, %b, %c : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<32x8xf32>
  return
}

// -----

func.func @dot_n(%a: tensor<16x32xf16>, %b: tensor<8x32xf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{'tile.dot' op expected N of acc (16) to equal that of b (8)}}
  %0 = tile.dot %a, %b, %c {transpose_b} : tensor<16x32xf16>, tensor<8x32xf16> -> tensor<16x16xf32>
  return
}

// -----

func.func @dot_operands(%a: tensor<16x16xi32>) {
  // expected-error @below {{'tile.dot' op expected operands of f16, bf16, f32, f64 or i8, got 'i32'}}
  %0 = tile.dot %a, %a, %a : tensor<16x16xi32>, tensor<16x16xi32> -> tensor<16x16xi32>
  return
}

// -----

func.func @dot_mixed(%a: tensor<16x16xf16>, %b: tensor<16x16xbf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{'tile.dot' op expected b to have the element type of a ('f16'), got 'bf16'}}
  %0 = tile.dot %a, %b, %c : tensor<16x16xf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
  return
}

// -----

func.func @dot_acc(%a: tensor<16x16xf16>) {
  // expected-error @below {{'tile.dot' op expected acc to have elements of 'f32' for operands of 'f16', got 'f16'}}
  %0 = tile.dot %a, %a, %a : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf16>
  return
}

// -----

func.func @dot_precision(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{'tile.dot' op expected precision tf32 only with operands of f32, got 'f16'}}
  %0 = tile.dot %a, %a, %c precision tf32 : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  return
}

// -----

func.func @reduce_along(%x: tensor<16x8xf32>) {
  // expected-error @below {{'tile.reduce' op expected 0 <= along < 2, got 2}}
  // expected-error @below {{'tile.reduce' op failed to infer returned types}}
  %0 = tile.reduce add %x along 2 : tensor<16x8xf32> -> tensor<16xf32>
  return
}

// -----

func.func @reduce_result(%x: tensor<16x8xf32>) {
  // expected-error @below {{'tile.reduce' op failed to infer returned types}}
  // expected-error @below {{'tile.reduce' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<16xf32>'}}
  %0 = tile.reduce add %x along 0 : tensor<16x8xf32> -> tensor<16xf32>
  return
}

// -----

func.func @scan_along(%x: tensor<16xf32>) {
  // expected-error @below {{'tile.scan' op expected 0 <= along < 1, got 1}}
  %0 = tile.scan add inclusive %x along 1 : tensor<16xf32>
  return
}

// -----

func.func @scan_element(%x: tensor<16xi1>) {
  // expected-error @below {{'tile.scan' op expected elements other than i1, got 'tensor<16xi1>'}}
  %0 = tile.scan add inclusive %x along 0 : tensor<16xi1>
  return
}

// -----

func.func @solve_square(%a: tensor<16x8xf32>, %b: tensor<16x4xf32>) {
  // expected-error @below {{'tile.solve_triangular' op expected a to be square, got 'tensor<16x8xf32>'}}
  %0 = tile.solve_triangular %a, %b : tensor<16x8xf32>, tensor<16x4xf32>
  return
}

// -----

func.func @solve_rows(%a: tensor<16x16xf32>, %b: tensor<8x4xf32>) {
  // expected-error @below {{'tile.solve_triangular' op expected as many rows in b (8) as in a (16)}}
  %0 = tile.solve_triangular %a, %b : tensor<16x16xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @solve_element(%a: tensor<16x16xf32>, %b: tensor<16x4xf64>) {
  // expected-error @below {{'tile.solve_triangular' op expected b to have the element type of a ('f32'), got 'f64'}}
  %0 = tile.solve_triangular %a, %b : tensor<16x16xf32>, tensor<16x4xf64>
  return
}
