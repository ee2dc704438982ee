// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{'tile.kernel' op expected no results, got 1}}
tile.kernel @results() -> index {
  tile.return
}

// -----

// expected-error @below {{'tile.kernel' op expected argument 1 to be an index, a signless integer, a float or a memref of these, got 'tensor<4xf32>'}}
tile.kernel @argument(%n: index, %x: tensor<4xf32>) {
  tile.return
}

// -----

// expected-error @below {{'tile.kernel' op expected the body to end with 'tile.return', got 'llvm.unreachable'}}
tile.kernel @terminator() {
  // expected-note @below {{the last operation is here}}
  llvm.unreachable
}

// -----

// expected-error @below {{expected flops >= 1, got 0}}
tile.kernel @needed_flops() attributes {needed_flops = [#tile.products<flops = 0, extents = []>]} {
  tile.return
}

// -----

// expected-error @below {{expected extents to be pairs of an argument and a dimension, got 1 numbers}}
tile.kernel @needed_pairs(%x: memref<?xf32>) attributes {needed_flops = [#tile.products<flops = 2, extents = [0]>]} {
  tile.return
}

// -----

// expected-error @below {{expected query and key together, got only one}}
tile.kernel @needed_query(%x: memref<?x?xf32>) attributes {needed_flops = [#tile.products<flops = 2, extents = [], query = 0>]} {
  tile.return
}

// -----

// expected-error @below {{expected lengths, added, left, right and global only with query and key}}
tile.kernel @needed_lengths(%x: memref<?xi32>) attributes {needed_flops = [#tile.products<flops = 2, extents = [], lengths = 0>]} {
  tile.return
}

// -----

// expected-error @below {{expected added only with lengths}}
tile.kernel @needed_added(%x: memref<?x?xf32>, %n: index) attributes {needed_flops = [#tile.products<flops = 2, extents = [], query = 0, key = 0, added = 1>]} {
  tile.return
}

// -----

// expected-error @below {{expected right >= 0, got -1}}
tile.kernel @needed_right(%x: memref<?x?xf32>) attributes {needed_flops = [#tile.products<flops = 2, extents = [], query = 0, key = 0, right = -1>]} {
  tile.return
}

// -----

// expected-error @below {{'tile.kernel' op expected an extent of needed_flops to be one of 1 arguments, got 1}}
tile.kernel @needed_argument(%x: memref<?xf32>) attributes {needed_flops = [#tile.products<flops = 2, extents = [1, 0]>]} {
  tile.return
}

// -----

// expected-error @below {{'tile.kernel' op expected an extent of needed_flops, argument 0, to be a memref with a dimension 1, got 'memref<?xf32>'}}
tile.kernel @needed_dimension(%x: memref<?xf32>) attributes {needed_flops = [#tile.products<flops = 2, extents = [0, 1]>]} {
  tile.return
}

// -----

// expected-error @below {{'tile.kernel' op expected lengths of needed_flops, argument 1, to be a memref of rank 1 of i32 or i64, got 'index'}}
tile.kernel @needed_table(%x: memref<?x?xf32>, %n: index) attributes {needed_flops = [#tile.products<flops = 2, extents = [], query = 0, key = 0, lengths = 1>]} {
  tile.return
}

// -----

// expected-error @below {{expected 1 to 4 extents of a block, got 0}}
tile.kernel @config_block() config <block = []> {
  tile.return
}

// -----

// expected-error @below {{expected extents of a block >= 1, got 0}}
tile.kernel @config_extent() config <block = [64, 0]> {
  tile.return
}

// -----

// expected-error @below {{expected 1 <= stages <= 16, got 17}}
tile.kernel @config_stages() config <block = [64], stages = 17> {
  tile.return
}

// -----

// expected-error @below {{expected 1 <= warps <= 32, got 0}}
tile.kernel @config_warps() config <block = [64], warps = 0> {
  tile.return
}

// -----

func.func @launch_unknown(%n: index) {
  // expected-error @below {{'tile.launch' op expected a kernel named 'missing', found none}}
  tile.launch @missing grid(%n, %n, %n) ()
  return
}

// -----

func.func @launch_function(%n: index) { // expected-note {{'launch_function' is defined here}}
  // expected-error @below {{'tile.launch' op expected 'launch_function' to be a 'tile.kernel', got 'func.func'}}
  tile.launch @launch_function grid(%n, %n, %n) ()
  return
}

// -----

tile.kernel @two(%n: index, %m: memref<?xf32>) { // expected-note {{'two' is defined here}}
  tile.return
}

func.func @launch_count(%n: index) {
  // expected-error @below {{'tile.launch' op expected 2 arguments for kernel 'two', got 1}}
  tile.launch @two grid(%n, %n, %n) (%n) : index
  return
}

// -----

tile.kernel @two(%n: index, %m: memref<?xf32>) { // expected-note {{'two' is defined here}}
  tile.return
}

func.func @launch_type(%n: index, %m: memref<8xf32>) {
  // expected-error @below {{'tile.launch' op expected argument 1 to have type 'memref<?xf32>', got 'memref<8xf32>'}}
  tile.launch @two grid(%n, %n, %n) (%n, %m) : index, memref<8xf32>
  return
}

// -----

tile.kernel @none() {
  tile.return
}

func.func @launch_grid(%n: index) {
  %many = arith.constant 65536 : index
  // expected-error @below {{'tile.launch' op expected 0 <= y <= 65535, got 65536}}
  tile.launch @none grid(%n, %many, %n) ()
  return
}

// -----

func.func @load_rank(%view: !tile.view<?x128xf16>, %i: index) {
  // expected-error @below {{'tile.load' op expected a tile of the view's rank (2), got 'tensor<64xf16>'}}
  %0 = tile.load %view[%i, %i] : !tile.view<?x128xf16> -> tensor<64xf16>
  return
}

// -----

func.func @load_indices(%view: !tile.view<?x128xf16>, %i: index) {
  // expected-error @below {{'tile.load' op expected 2 indices for a view of type '!tile.view<?x128xf16>', got 1}}
  %0 = tile.load %view[%i] : !tile.view<?x128xf16> -> tensor<64x128xf16>
  return
}

// -----

func.func @load_ahead(%view: !tile.view<?x128xf16>, %i: index) {
  // expected-error @below {{'tile.load' op expected 'ahead' to be at least 1, got 0}}
  %0 = tile.load %view[%i, %i] ahead 0 : !tile.view<?x128xf16> -> tensor<64x128xf16>
  return
}

// -----

func.func @load_row_ahead(%view: !tile.view<?xf16>, %i: index) {
  // expected-error @below {{'tile.load' op expected a view of rank 2 for 'ahead', got '!tile.view<?xf16>'}}
  %0 = tile.load %view[%i] ahead 1 : !tile.view<?xf16> -> tensor<64xf16>
  return
}

// -----

func.func @load_element(%view: !tile.view<?x128xf16>, %i: index) {
  // expected-error @below {{'tile.load' op expected a tile of the view's element type ('f16'), got 'tensor<64x128xf32>'}}
  %0 = tile.load %view[%i, %i] : !tile.view<?x128xf16> -> tensor<64x128xf32>
  return
}

// -----

func.func @load_pad(%view: !tile.view<?xf16>, %i: index, %pad: f32) { // expected-note {{prior use here}}
  // expected-error @below {{use of value '%pad' expects different type than prior uses: 'f16' vs 'f32'}}
  %0 = tile.load %view[%i] pad(%pad) : !tile.view<?xf16> -> tensor<64xf16>
  return
}

// -----

func.func @load_dynamic(%view: !tile.view<?xf16>, %i: index) {
  // expected-error @below {{'tile.load' op result #0 must be tile (static tensor of rank 1 or 2) of integers or floats, but got 'tensor<?xf16>'}}
  %0 = tile.load %view[%i] : !tile.view<?xf16> -> tensor<?xf16>
  return
}

// -----

func.func @store_element(%view: !tile.view<?x128xf16>, %i: index, %x: tensor<64x128xbf16>) {
  // expected-error @below {{'tile.store' op expected a tile of the view's element type ('f16'), got 'tensor<64x128xbf16>'}}
  tile.store %x, %view[%i, %i] : tensor<64x128xbf16>, !tile.view<?x128xf16>
  return
}
