// RUN: heddle-opt %s --convert-contraction-to-vector="lanes=8 rows=6 vectors=2 dot-rows=4" --split-input-file | FileCheck %s

// The packed form: two loops over tasks; accumulators are loop-carried vectors; only the store knows about partial tiles.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: (%[[A:[a-z0-9]+]]: memref<?x?xf32>, %[[B:[a-z0-9]+]]: memref<?x?xbf16>, %[[C:[a-z0-9]+]]: memref<?x?xf32>)
// CHECK: %[[PACKED:.*]] = memref.alloc(%{{.*}}, %{{.*}}, %{{.*}}) {alignment = 64 : i64} : memref<?x?x?x6xf32>
// CHECK: scf.forall
// CHECK: memref.load %[[A]]
// CHECK: memref.store %{{.*}}, %[[PACKED]]
// CHECK: scf.forall
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<2x512x16xf32>
// CHECK: %[[WIDE:.*]] = vector.load %[[B]][%{{.*}}] : memref<?x?xbf16>, vector<8xbf16>
// CHECK: arith.extf %[[WIDE]] : vector<8xbf16> to vector<8xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, {{.*}}vector<8xf32>) {
// CHECK-COUNT-2: vector.load {{.*}} : memref<2x512x16xf32>, vector<8xf32>
// CHECK-COUNT-12: vector.fma
// CHECK-NEXT: scf.yield
// CHECK: vector.maskedload %[[C]]
// CHECK: vector.maskedstore %[[C]]
// CHECK-NOT: linalg.matmul
func.func @matmul(%a: memref<?x?xf32>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xbf16>) outs(%c : memref<?x?xf32>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Weights as models store them, [out, in]: few rows take the dot form, decided at run time; else tiles of rhs are transposed in registers.
// CHECK-LABEL: func.func @projection
// CHECK: %[[FEW:.*]] = arith.cmpi sle, %{{.*}}, %c4
// CHECK: scf.if %[[FEW]] {
// The columns that come next are on their way.
// CHECK: memref.prefetch %{{.*}}, read, locality<2>, data
// CHECK: vector.reduction <add>
// CHECK: } else {
// CHECK: vector.shuffle
// CHECK: vector.fma
func.func @projection(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// A static number of rows decides at compile time.
// CHECK-LABEL: func.func @one_row
// CHECK-NOT: scf.if
// CHECK: vector.reduction <add>
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @one_row(%a: memref<1x64xf32>, %b: memref<?x64xf32>, %c: memref<1x?xf32>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<1x64xf32>, memref<?x64xf32>) outs(%c : memref<1x?xf32>)
  return
}

// f64 has half the lanes.
// CHECK-LABEL: func.func @double
// CHECK: vector.fma {{.*}} : vector<4xf64>
func.func @double(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>) {
  linalg.matmul ins(%a, %b : memref<?x?xf64>, memref<?x?xf64>) outs(%c : memref<?x?xf64>)
  return
}

// Zeros in front, in each form: dot products are stored as they are, blocks of k are added to zeros that the packed form writes itself, and
// rounded behind it.
// CHECK-LABEL: func.func @zeros
// CHECK-SAME: %[[R:[a-z0-9]+]]: memref<?x?xbf16>, %{{[a-z0-9]+}}: index
// CHECK: %[[C:.*]] = memref.alloc({{.*}}) : memref<?x?xf32>
// CHECK-NOT: linalg
// CHECK: scf.if
// CHECK: arith.truncf
// CHECK: memref.store %{{.*}}, %[[R]]
// CHECK: } else {
// CHECK: linalg.fill {{.*}} outs(%[[C]]
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[C]]
// CHECK: linalg.generic {{.*}} ins(%[[C]] : {{.*}}) outs(%[[R]]
// CHECK: linalg.yield
// CHECK-NOT: linalg
// CHECK: return
func.func @zeros(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %r: memref<?x?xbf16>, %m: index, %n: index) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc(%m, %n) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32>)
  linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : memref<?x?xbf16>, memref<?x?xbf16>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%c : memref<?x?xf32>) outs(%r : memref<?x?xbf16>) {
  ^bb0(%p: f32, %q: bf16):
    %s = arith.truncf %p : f32 to bf16
    linalg.yield %s : bf16
  }
  return
}
