// RUN: heddle-opt %s --convert-contraction-to-vector="bf16-pairs dot-rows=4" --split-input-file | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// Pairs of bf16 are packed as i32 and multiplied as they are.
// CHECK-LABEL: func.func @packed
// CHECK: memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?x?x?x12xi32>
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<2x512x32xi32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>,
// CHECK-COUNT-24: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// CHECK-NEXT: scf.yield
func.func @packed(%a: memref<500x?xbf16>, %b: memref<?x?xbf16>, %c: memref<500x?xf32>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<500x?xbf16>, memref<?x?xbf16>) outs(%c : memref<500x?xf32>)
  return
}

// Few rows: both operands lie in pairs already.
// CHECK-LABEL: func.func @dots
// CHECK: %[[X:.*]] = vector.load %{{.*}} : memref<1x?xbf16>, vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK: math.fma
// CHECK: vector.reduction <add>
func.func @dots(%a: memref<1x?xbf16>, %b: memref<?x?xbf16>, %c: memref<1x?xf32>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<1x?xbf16>, memref<?x?xbf16>) outs(%c : memref<1x?xf32>)
  return
}

// An operand of another type, or another accumulator: elements are converted.
// CHECK-LABEL: func.func @mixed
// CHECK-NOT: call_intrinsic
// CHECK: return
func.func @mixed(%a: memref<?x?xf32>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<?x?xf32>, memref<?x?xbf16>) outs(%c : memref<?x?xf32>)
  return
}
// CHECK-LABEL: func.func @wide
// CHECK-NOT: call_intrinsic
// CHECK: return
func.func @wide(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf64>) {
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<?x?xbf16>, memref<?x?xbf16>) outs(%c : memref<?x?xf64>)
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// An output that holds zeros, and is rounded right after, is never written: sums are rounded and stored where they go.
// CHECK-LABEL: func.func @rounded
// CHECK-SAME: %[[R:[a-z0-9]+]]: memref<32x?xbf16>)
// CHECK-NOT: linalg
// CHECK-NOT: memref<32x?xf32>
// CHECK: %[[SUM:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%{{.*}}) : (vector<16xf32>) -> vector<16xbf16>
// CHECK: vector.maskedstore %[[R]][{{.*}}], %{{.*}}, %[[SUM]]
// CHECK-NOT: memref<32x?xf32>
// CHECK-NOT: linalg
// CHECK: return
func.func @rounded(%a: memref<32x?xbf16>, %b: memref<?x?xbf16>, %n: index, %r: memref<32x?xbf16>) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc(%n) : memref<32x?xf32>
  linalg.fill ins(%zero : f32) outs(%c : memref<32x?xf32>)
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<32x?xbf16>, memref<?x?xbf16>) outs(%c : memref<32x?xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : memref<32x?xf32>) outs(%r : memref<32x?xbf16>) {
  ^bb0(%p: f32, %q: bf16):
    %s = arith.truncf %p : f32 to bf16
    linalg.yield %s : bf16
  }
  return
}
