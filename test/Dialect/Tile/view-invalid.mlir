// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected a view of rank 1 or 2, got rank 3}}
func.func private @view_rank(!tile.view<4x?x8xf32>)

// -----

// expected-error @below {{expected a view of signless integers or floats, got 'index'}}
func.func private @view_element(!tile.view<?xindex>)

// -----

func.func @view_count(%m: memref<?x8x64xf32>, %i: index) {
  // expected-error @below {{'tile.view' op expected an index or ':' for each of the 3 dimensions of source, got 2}}
  %0 = tile.view %m[%i, :] : memref<?x8x64xf32> -> !tile.view<8xf32>
  return
}

// -----

func.func @view_none_kept(%m: memref<?x8xf32>, %i: index) {
  // expected-error @below {{'tile.view' op expected 1 or 2 kept dimensions, got 0}}
  %0 = tile.view %m[%i, %i] : memref<?x8xf32> -> !tile.view<8xf32>
  return
}

// -----

func.func @view_extent(%m: memref<?x8x64xf32>, %i: index) {
  // expected-error @below {{'tile.view' op expected a view of type '!tile.view<?x64xf32>', got '!tile.view<?x8xf32>'}}
  %0 = tile.view %m[:, %i, :] : memref<?x8x64xf32> -> !tile.view<?x8xf32>
  return
}

// -----

func.func @view_kept_order(%m: memref<?x8xf32>) {
  // expected-error @below {{'tile.view' op expected increasing kept dimensions below 2, got [1, 0]}}
  %0 = "tile.view"(%m) <{kept_dims = array<i64: 1, 0>}> : (memref<?x8xf32>) -> !tile.view<8x?xf32>
  return
}

// -----

func.func @view_source(%m: memref<?xindex>) {
  // expected-error @below {{'tile.view' op operand #0 must be memref of integers or floats, but got 'memref<?xindex>'}}
  %0 = tile.view %m[:] : memref<?xindex> -> !tile.view<?xi64>
  return
}

// -----

func.func @gather_extent(%m: memref<?x16x64xf32>, %t: memref<4xi32>, %n: index) {
  // expected-error @below {{'tile.gather_view' op expected a view of type '!tile.view<?x64xf32>', got '!tile.view<64x64xf32>'}}
  %0 = tile.gather_view %m[table %t, page, :] rows(%n) : memref<?x16x64xf32>, memref<4xi32> -> !tile.view<64x64xf32>
  return
}

// -----

func.func @gather_page(%m: memref<?x16x64xf32>, %t: memref<4xi32>) {
  // expected-error @below {{expected 'page' right after the table}}
  %0 = tile.gather_view %m[table %t, :, page] : memref<?x16x64xf32>, memref<4xi32> -> !tile.view<64x16xf32>
  return
}

// -----

func.func @gather_no_table(%m: memref<?x16x64xf32>, %t: memref<4xi32>, %i: index) {
  // expected-error @below {{expected a dimension 'table %t'}}
  %0 = tile.gather_view %m[%i, :, :] : memref<?x16x64xf32>, memref<4xi32> -> !tile.view<64x16xf32>
  return
}

// -----

func.func @gather_kept(%m: memref<?x16x64xf32>, %t: memref<4xi32>) {
  // expected-error @below {{'tile.gather_view' op expected at most 1 kept dimension besides the table's, got 2}}
  %0 = tile.gather_view %m[table %t, :, :] : memref<?x16x64xf32>, memref<4xi32> -> !tile.view<4x16xf32>
  return
}

// -----

func.func @gather_columns_first(%m: memref<?x16x64xf32>, %t: memref<4xi32>, %i: index) {
  // expected-error @below {{'tile.gather_view' op expected the kept dimension (1) after the table's (2)}}
  %0 = tile.gather_view %m[%i, :, table %t] : memref<?x16x64xf32>, memref<4xi32> -> !tile.view<4x16xf32>
  return
}

// -----

func.func @gather_table(%m: memref<?x64xf32>, %t: memref<4xf32>) {
  // expected-error @below {{'tile.gather_view' op operand #1 must be memref or view of rank 1 of i32 or i64, but got 'memref<4xf32>'}}
  %0 = tile.gather_view %m[table %t, :] : memref<?x64xf32>, memref<4xf32> -> !tile.view<4x64xf32>
  return
}

// -----

func.func @gather_table_dim(%m: memref<?x64xf32>, %t: memref<4xi32>, %i: index) {
  // expected-error @below {{'tile.gather_view' op expected table_dim from 0 to 1, got 2}}
  %0 = "tile.gather_view"(%m, %t, %i) <{kept_dims = array<i64>, table_dim = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (memref<?x64xf32>, memref<4xi32>, index) -> !tile.view<4xf32>
  return
}

// -----

func.func @gather_table_kept(%m: memref<?x64xf32>, %t: memref<4xi32>, %i: index) {
  // expected-error @below {{'tile.gather_view' op expected the table's dimension not to be kept, got 0}}
  %0 = "tile.gather_view"(%m, %t) <{kept_dims = array<i64: 0>, table_dim = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (memref<?x64xf32>, memref<4xi32>) -> !tile.view<4x?xf32>
  return
}

// -----

func.func @extent(%view: !tile.view<?x64xf32>) {
  // expected-error @below {{'tile.extent' op expected 0 <= dim < 2, got 2}}
  %0 = tile.extent %view, 2 : !tile.view<?x64xf32>
  return
}

// -----

func.func @gather_rank(%m: memref<?x64xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{'tile.gather' op expected an index for each of the 2 dimensions of source, got 1}}
  %0 = tile.gather %m[%i] : memref<?x64xf32>, tensor<8xi32> -> tensor<8xf32>
  return
}

// -----

func.func @gather_element(%m: memref<?xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{'tile.gather' op expected a tile of the source's element type ('f32'), got 'tensor<8xf16>'}}
  %0 = tile.gather %m[%i] : memref<?xf32>, tensor<8xi32> -> tensor<8xf16>
  return
}

// -----

func.func @gather_scalar(%m: memref<?xf32>, %i: index) {
  // expected-error @below {{if a result is non-scalar, then at least one operand must be non-scalar}}
  %0 = tile.gather %m[%i] : memref<?xf32>, index -> tensor<8xf32>
  return
}

// -----

func.func @gather_shape(%m: memref<?xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{all non-scalar operands/results must have the same shape and base type}}
  %0 = tile.gather %m[%i] : memref<?xf32>, tensor<8xi32> -> tensor<16xf32>
  return
}
