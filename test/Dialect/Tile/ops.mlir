// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @copy(
// CHECK-SAME:    %[[X:.*]]: memref<?x128xf16, strided<[?, 1], offset: ?>>, %[[Y:.*]]: memref<?x128xf16>)
// CHECK-SAME:    config <block = [64, 128], stages = 3, warps = 4> {
tile.kernel @copy(%x: memref<?x128xf16, strided<[?, 1], offset: ?>>, %y: memref<?x128xf16>)
    config <block = [64, 128], stages = 3, warps = 4> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f16
  // CHECK: %[[BLOCK:.*]] = tile.program_id x
  %block = tile.program_id x
  %row = arith.muli %block, %c64 : index
  // CHECK: %[[FROM:.*]] = tile.view %[[X]][:, :] : memref<?x128xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x128xf16>
  %from = tile.view %x[:, :] : memref<?x128xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x128xf16>
  // CHECK: %[[TO:.*]] = tile.view %[[Y]][:, :] : memref<?x128xf16> -> !tile.view<?x128xf16>
  %to = tile.view %y[:, :] : memref<?x128xf16> -> !tile.view<?x128xf16>
  // CHECK: %[[TILE:.*]] = tile.load %[[FROM]][%{{.*}}, %{{.*}}] pad(%{{.*}}) : !tile.view<?x128xf16> -> tensor<64x128xf16>
  %tile = tile.load %from[%row, %c0] pad(%zero) : !tile.view<?x128xf16> -> tensor<64x128xf16>
  // CHECK: tile.load %[[FROM]][%{{.*}}, %{{.*}}] ahead 64 : !tile.view<?x128xf16> -> tensor<64x128xf16>
  %next = tile.load %from[%row, %c0] ahead 64 : !tile.view<?x128xf16> -> tensor<64x128xf16>
  // CHECK: tile.store %[[TILE]], %[[TO]][%{{.*}}, %{{.*}}] : tensor<64x128xf16>, !tile.view<?x128xf16>
  tile.store %tile, %to[%row, %c0] : tensor<64x128xf16>, !tile.view<?x128xf16>
  // CHECK: tile.return
  tile.return
}

// CHECK-LABEL: tile.kernel private @arguments(
// CHECK-SAME:    %{{.*}}: index {heddle.name = "n"}, %{{.*}}: f32, %{{.*}}: i1, %{{.*}}: memref<f64>) attributes {heddle.note = 1 : i64} {
tile.kernel private @arguments(%n: index {heddle.name = "n"}, %s: f32, %flag: i1, %m: memref<f64>)
    attributes {heddle.note = 1 : i64} {
  // CHECK: tile.num_programs z
  %z = tile.num_programs z
  tile.return
}

// CHECK-LABEL: tile.kernel @hint() config <block = [32]> {
tile.kernel @hint() config <block = [32]> {
  tile.return
}

// CHECK-LABEL: func.func @launch
func.func @launch(%x: memref<?x128xf16, strided<[?, 1], offset: ?>>, %y: memref<?x128xf16>, %n: index) {
  %c1 = arith.constant 1 : index
  // CHECK: tile.launch @copy grid(%{{.*}}, %{{.*}}, %{{.*}}) (%{{.*}}, %{{.*}}) : memref<?x128xf16, strided<[?, 1], offset: ?>>, memref<?x128xf16>
  tile.launch @copy grid(%n, %c1, %c1) (%x, %y) : memref<?x128xf16, strided<[?, 1], offset: ?>>, memref<?x128xf16>
  // CHECK: tile.launch @hint grid(%{{.*}}, %{{.*}}, %{{.*}}) (){{$}}
  tile.launch @hint grid(%n, %c1, %c1) ()
  return
}

// CHECK-LABEL: func.func @views
func.func @views(%k: memref<?x?x8x128xf16, strided<[?, ?, ?, 1], offset: ?>>, %pages: memref<?x16x8x128xi8>,
                 %table: memref<40xi32>, %tables: memref<?x?xi64>, %b: index, %n: index) {
  // CHECK: %[[K:.*]] = tile.view %{{.*}}[%{{.*}}, :, %{{.*}}, :] : memref<{{.*}}> -> !tile.view<?x128xf16>
  %0 = tile.view %k[%b, :, %n, :] : memref<?x?x8x128xf16, strided<[?, ?, ?, 1], offset: ?>> -> !tile.view<?x128xf16>
  // CHECK: tile.view %{{.*}}[:, %{{.*}}, %{{.*}}, %{{.*}}] : memref<{{.*}}> -> !tile.view<?xf16>
  %1 = tile.view %k[:, %b, %n, %n] : memref<?x?x8x128xf16, strided<[?, ?, ?, 1], offset: ?>> -> !tile.view<?xf16>
  // CHECK: tile.gather_view %{{.*}}[table %{{.*}}, page, %{{.*}}, :] : memref<?x16x8x128xi8>, memref<40xi32> -> !tile.view<640x128xi8>
  %2 = tile.gather_view %pages[table %table, page, %b, :] : memref<?x16x8x128xi8>, memref<40xi32> -> !tile.view<640x128xi8>
  // CHECK: %[[T:.*]] = tile.view %{{.*}}[%{{.*}}, :] : memref<?x?xi64> -> !tile.view<?xi64>
  %t = tile.view %tables[%b, :] : memref<?x?xi64> -> !tile.view<?xi64>
  // CHECK: tile.gather_view %{{.*}}[table %[[T]], page, %{{.*}}, :] rows(%{{.*}}) : memref<?x16x8x128xi8>, !tile.view<?xi64> -> !tile.view<?x128xi8>
  %3 = tile.gather_view %pages[table %t, page, %b, :] rows(%n) : memref<?x16x8x128xi8>, !tile.view<?xi64> -> !tile.view<?x128xi8>
  // CHECK: tile.gather_view %{{.*}}[%{{.*}}, table %[[T]], %{{.*}}, %{{.*}}] : memref<{{.*}}>, !tile.view<?xi64> -> !tile.view<?xf16>
  %4 = tile.gather_view %k[%b, table %t, %n, %n] : memref<?x?x8x128xf16, strided<[?, ?, ?, 1], offset: ?>>, !tile.view<?xi64> -> !tile.view<?xf16>
  // CHECK: tile.extent %[[K]], 0 : !tile.view<?x128xf16>
  %5 = tile.extent %0, 0 : !tile.view<?x128xf16>
  %6 = tile.load %4[%n] : !tile.view<?xf16> -> tensor<16xf16>
  return
}

// CHECK-LABEL: func.func @compute
func.func @compute(%q: tensor<128x64xf16>, %k: tensor<80x64xf16>, %s: tensor<128x80xf32>, %a: tensor<64x64xf32>,
                   %i8: tensor<32x16xi8>, %i32: tensor<16x16xi32>, %n: index) {
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} {transpose_b} : tensor<128x64xf16>, tensor<80x64xf16> -> tensor<128x80xf32>
  %0 = tile.dot %q, %k, %s {transpose_b} : tensor<128x64xf16>, tensor<80x64xf16> -> tensor<128x80xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} precision tf32x3 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = tile.dot %a, %a, %a precision tf32x3 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} {transpose_a} : tensor<32x16xi8>, tensor<32x16xi8> -> tensor<16x16xi32>
  %2 = tile.dot %i8, %i8, %i32 {transpose_a} : tensor<32x16xi8>, tensor<32x16xi8> -> tensor<16x16xi32>
  // CHECK: %[[MAX:.*]] = tile.reduce max %{{.*}} along 1 : tensor<128x80xf32> -> tensor<128xf32>
  %3 = tile.reduce max %0 along 1 : tensor<128x80xf32> -> tensor<128xf32>
  // CHECK: tile.reduce add %[[MAX]] along 0 : tensor<128xf32> -> tensor<f32>
  %4 = tile.reduce add %3 along 0 : tensor<128xf32> -> tensor<f32>
  // CHECK: tile.scan add exclusive %[[MAX]] along 0 : tensor<128xf32>
  %5 = tile.scan add exclusive %3 along 0 : tensor<128xf32>
  // CHECK: tile.solve_triangular %{{.*}}, %{{.*}} : tensor<64x64xf32>, tensor<64x64xf32>
  %6 = tile.solve_triangular %a, %1 : tensor<64x64xf32>, tensor<64x64xf32>
  return
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%m: tensor<128xf32>, %x: tensor<64x96xf32>, %y: tensor<64x32xf32>, %one: tensor<f32>, %n: index) {
  // CHECK: tile.broadcast %{{.*}} along 1 : tensor<128xf32> -> tensor<128x64xf32>
  %0 = tile.broadcast %m along 1 : tensor<128xf32> -> tensor<128x64xf32>
  // CHECK: tile.broadcast %{{.*}} along 0 : tensor<f32> -> tensor<128xf32>
  %1 = tile.broadcast %one along 0 : tensor<f32> -> tensor<128xf32>
  // CHECK: tile.transpose %{{.*}} : tensor<64x96xf32> -> tensor<96x64xf32>
  %2 = tile.transpose %x : tensor<64x96xf32> -> tensor<96x64xf32>
  // CHECK: tile.slice %{{.*}}[0, 32] : tensor<64x96xf32> -> tensor<64x64xf32>
  %3 = tile.slice %x[0, 32] : tensor<64x96xf32> -> tensor<64x64xf32>
  // CHECK: tile.concat %{{.*}}, %{{.*}} along 1 : tensor<64x96xf32>, tensor<64x32xf32> -> tensor<64x128xf32>
  %4 = tile.concat %x, %y along 1 : tensor<64x96xf32>, tensor<64x32xf32> -> tensor<64x128xf32>
  // CHECK: tile.iota along 1 start(%{{.*}}) : tensor<128x64xi32>
  %5 = tile.iota along 1 start(%n) : tensor<128x64xi32>
  // CHECK: tile.iota along 0 : tensor<64xindex>
  %6 = tile.iota along 0 : tensor<64xindex>
  return
}

// CHECK-LABEL: @gather
func.func @gather(%m: memref<?x32xf32>, %i: index, %j: tensor<64x16xi32>, %k: tensor<64x16xindex>) {
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x32xf32>, index, tensor<64x16xi32> -> tensor<64x16xf32>
  %0 = tile.gather %m[%i, %j] : memref<?x32xf32>, index, tensor<64x16xi32> -> tensor<64x16xf32>
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x32xf32>, tensor<64x16xindex>, tensor<64x16xi32> -> tensor<64x16xf32>
  %1 = tile.gather %m[%k, %j] : memref<?x32xf32>, tensor<64x16xindex>, tensor<64x16xi32> -> tensor<64x16xf32>
  return
}

// CHECK-LABEL: func.func @if_any
func.func @if_any(%changes: tensor<128xi1>, %factor: tensor<128xf32>, %acc: tensor<128x64xf32>) -> (tensor<128x64xf32>, tensor<128xf32>) {
  // CHECK: %[[R:.*]]:2 = tile.if_any %{{.*}} changes(%{{.*}}, %{{.*}}) : tensor<128xi1>, tensor<128x64xf32>, tensor<128xf32> {
  %r:2 = tile.if_any %changes changes(%acc, %factor) : tensor<128xi1>, tensor<128x64xf32>, tensor<128xf32> {
    %factors = tile.broadcast %factor along 1 : tensor<128xf32> -> tensor<128x64xf32>
    %product = arith.mulf %acc, %factors : tensor<128x64xf32>
    // CHECK: tile.yield %{{.*}}, %{{.*}} : tensor<128x64xf32>, tensor<128xf32>
    tile.yield %product, %factor : tensor<128x64xf32>, tensor<128xf32>
  }
  return %r#0, %r#1 : tensor<128x64xf32>, tensor<128xf32>
}

// CHECK-LABEL: func.func @skip_unless
func.func @skip_unless(%sees: tensor<128xi1>, %x: tensor<128x64xf32>, %i: index) -> tensor<128x64xf32> {
  %r = scf.for %j = %i to %i step %i iter_args(%y = %x) -> (tensor<128x64xf32>) {
    // CHECK: tile.skip_unless %{{.*}} : tensor<128xi1>
    tile.skip_unless %sees : tensor<128xi1>
    // CHECK: tile.skip_unless products %{{.*}}, %{{.*}} : tensor<128xi1>, tensor<128xi1>
    tile.skip_unless products %sees, %sees : tensor<128xi1>, tensor<128xi1>
    scf.yield %y : tensor<128x64xf32>
  }
  return %r : tensor<128x64xf32>
}
