// RUN: heddle-opt %s --convert-contraction-to-vector="lanes=8 rows=6" --split-input-file | FileCheck %s
// RUN: heddle-opt %s --convert-contraction-to-vector=streamed-rows=-1 --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=ALL
// RUN: heddle-opt %s --convert-contraction-to-vector="bf16-pairs amx" --split-input-file | FileCheck %s --check-prefix=AMX

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A few dozen rows: only lhs is packed, columns of rhs are broadcast from where they lie, sums are transposed.
// CHECK-LABEL: func.func @some_rows
// CHECK-SAME: (%[[A:.*]]: memref<32x?xf32>, %[[B:.*]]: memref<?x?xf32>, %[[C:.*]]: memref<32x?xf32>)
// CHECK: memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?x?x?x16xf32>
// CHECK: scf.forall
// CHECK: scf.forall
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<2x8x8xf32>
// CHECK-NOT: memref.alloca
// CHECK: memref.load %[[B]]
// CHECK: vector.broadcast
// CHECK-COUNT-8: vector.fma
// CHECK: vector.shuffle
// CHECK: vector.maskedstore %[[C]]
func.func @some_rows(%a: memref<32x?xf32>, %b: memref<?x?xf32>, %c: memref<32x?xf32>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<32x?xf32>, memref<?x?xf32>) outs(%c : memref<32x?xf32>)
  return
}

// Scalars of another type would be converted one by one: rhs is packed, once.
// CHECK-LABEL: func.func @converted
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<2x512x16xf32>
func.func @converted(%a: memref<32x?xf32>, %b: memref<?x?xf16>, %c: memref<32x?xf32>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<32x?xf32>, memref<?x?xf16>) outs(%c : memref<32x?xf32>)
  return
}

// Any number of rows chooses among the three forms in turn.
// CHECK-LABEL: func.func @any_rows
// CHECK: arith.cmpi sle, %{{.*}}, %c8
// CHECK: scf.if
// CHECK: } else {
// CHECK: arith.cmpi sle, %{{.*}}, %c64
// CHECK: scf.if
// With streamed-rows=-1 there are two forms. Few rows have small tasks; more have tasks of up to 128 columns, and of some rows if these are
// fewer than 16.
// ALL-LABEL: func.func @any_rows
// ALL: scf.if
// ALL: } else {
// ALL: scf.forall
// ALL: %[[IS_FEW:.*]] = arith.cmpi sle, %{{.*}}, %c64
// ALL: arith.select %[[IS_FEW]], %c32
// ALL: arith.select %[[IS_FEW]], %c1
// ALL: scf.forall
// Sums of 1024 steps are added to the others.
// ALL: scf.for %{{.*}} = %c0 to %{{.*}} step %c1024
// ALL: scf.for
// ALL-COUNT-16: vector.fma
// ALL: vector.load
// ALL: arith.addf
// ALL-NOT: scf.forall
// ALL: return
func.func @any_rows(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Tiles of rhs are read as they lie; a step behind k's end goes through a copy.
// AMX-LABEL: func.func @tiles
// AMX-SAME: (%[[A:.*]]: memref<500x?xbf16>, %[[B:.*]]: memref<?x?xbf16>, %{{.*}}: memref<500x?xf32>)
// AMX: %[[PACKED:.*]] = memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?x?x?x32xi32>
// AMX: %[[COPY:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x32xbf16>
// AMX-COUNT-4: amx.tile_zero
// AMX: scf.for
// AMX-COUNT-2: memref.prefetch %[[B]][{{.*}}], read, locality<2>, data
// AMX: amx.tile_load %[[B]]
// AMX: amx.tile_load %[[PACKED]]
// AMX: amx.tile_load %[[B]]
// AMX: amx.tile_load %[[PACKED]]
// AMX-COUNT-4: amx.tile_mulf
// AMX: scf.yield
// AMX: scf.for
// AMX: amx.tile_load %[[COPY]]
// AMX-COUNT-4: amx.tile_store
func.func @tiles(%a: memref<500x?xbf16>, %b: memref<?x?xbf16>, %c: memref<500x?xf32>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<500x?xbf16>, memref<?x?xbf16>) outs(%c : memref<500x?xf32>)
  return
}

// Columns that do not lie in rows of k: by pairs.
// AMX-LABEL: func.func @pairs
// AMX-NOT: amx.
// AMX: dpbf16ps
func.func @pairs(%a: memref<500x?xbf16>, %b: memref<?x?xbf16>, %c: memref<500x?xf32>) {
  linalg.contract indexing_maps = [#a, #kn, #c] ins(%a, %b : memref<500x?xbf16>, memref<?x?xbf16>) outs(%c : memref<500x?xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// Sums of a product from zeros are rounded where they are stored; not so if rounded elements do not lie side by side.
// ALL-LABEL: func.func @rounded
// ALL-NOT: linalg
// ALL: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// ALL-NEXT: vector.maskedstore
// ALL-NOT: linalg
// ALL: return
func.func @rounded(%a: memref<?x64xf32>, %b: memref<?x64xf32>, %c: memref<?x?xbf16>, %m: index, %n: index) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<?x?xf32>)
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<?x64xf32>, memref<?x64xf32>) outs(%sums : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<?x?xf32>) outs(%c : memref<?x?xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %r = arith.truncf %in : f32 to bf16
    linalg.yield %r : bf16
  }
  return
}

// ALL-LABEL: func.func @rounded_apart
// ALL-NOT: arith.truncf
// ALL: vector.maskedstore {{.*}} : memref<?x?xf32>
// ALL: linalg.generic
// ALL: arith.truncf {{.*}} : f32 to bf16
func.func @rounded_apart(%a: memref<?x64xf32>, %b: memref<?x64xf32>, %c: memref<?x?xbf16, strided<[?, 2]>>, %m: index, %n: index) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<?x?xf32>)
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<?x64xf32>, memref<?x64xf32>) outs(%sums : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<?x?xf32>) outs(%c : memref<?x?xbf16, strided<[?, 2]>>) {
  ^bb0(%in: f32, %out: bf16):
    %r = arith.truncf %in : f32 to bf16
    linalg.yield %r : bf16
  }
  return
}
