// RUN: heddle-opt %s --expand-transcendentals | FileCheck %s
// RUN: heddle-opt %s --expand-transcendentals=scalef | FileCheck %s --check-prefix=SCALEF

// exp2: clamp, round, polynomial of the fraction, two exact powers of two, and NaN put back.
// CHECK-LABEL: func.func @exp2
// CHECK-SAME: (%[[X:[a-z0-9]+]]: f32)
// CHECK-NOT: math.exp2
// CHECK: arith.cmpf ogt, %[[X]], %{{.*}} : f32
// CHECK: %[[N:.*]] = math.roundeven
// CHECK: %[[F:.*]] = arith.subf
// CHECK-COUNT-6: math.fma %{{.*}}, %[[F]], %{{.*}} : f32
// CHECK: arith.fptosi %[[N]] : f32 to i32
// CHECK-COUNT-2: arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.cmpf uno, %[[X]], %[[X]] : f32
func.func @exp2(%x: f32) -> f32 {
  %y = math.exp2 %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @exp
// CHECK-NOT: math.exp
// CHECK: math.roundeven
// CHECK-COUNT-8: math.fma
func.func @exp(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @tanh
// CHECK-NOT: math.tanh
// CHECK: math.absf
// CHECK: arith.divf
// CHECK: math.copysign
// CHECK: arith.cmpf olt
func.func @tanh(%x: f32) -> f32 {
  %y = math.tanh %x : f32
  return %y : f32
}

// Vectors of f32 are expanded in the same way.
// CHECK-LABEL: func.func @vector
// CHECK-NOT: math.exp2
// CHECK: %[[N:.*]] = math.roundeven %{{.*}} : vector<16xf32>
// CHECK-COUNT-6: math.fma %{{.*}} : vector<16xf32>
// CHECK: arith.fptosi %[[N]] : vector<16xf32> to vector<16xi32>
// CHECK-COUNT-2: arith.bitcast %{{.*}} : vector<16xi32> to vector<16xf32>
func.func @vector(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp2 %x : vector<16xf32>
  return %y : vector<16xf32>
}

// With AVX-512 the fraction and the power of two are one instruction each; what is rounded to 16 bits takes degree 3.
// SCALEF-LABEL: func.func @vector
// SCALEF-SAME: (%[[X:[a-z0-9]+]]: vector<16xf32>)
// SCALEF: %[[F:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X]],
// SCALEF-NEXT: %[[N:.*]] = arith.subf %[[X]], %[[F]]
// SCALEF-COUNT-6: math.fma %{{.*}}, %[[F]], %{{.*}} : vector<16xf32>
// SCALEF-NEXT: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[N]],
// SCALEF-NEXT: return
// It takes the fraction above the floor, which is what the last instruction takes of the argument.
// SCALEF-LABEL: func.func @rough
// SCALEF-SAME: (%[[X:[a-z0-9]+]]: vector<16xf32>)
// SCALEF-DAG: %[[DOWN:.*]] = llvm.mlir.constant(1 : i32)
// SCALEF: %[[F:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X]], %[[DOWN]],
// SCALEF-NOT: arith.subf
// SCALEF-COUNT-3: math.fma %{{.*}}, %[[F]], %{{.*}} : vector<16xf32>
// SCALEF-NEXT: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[X]],
// CHECK-LABEL: func.func @rough
// CHECK-COUNT-3: math.fma
// CHECK-NEXT: arith.fptosi
func.func @rough(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp2 %x fastmath<afn> : vector<16xf32>
  return %y : vector<16xf32>
}

// Other types and functions stay for libm.
// CHECK-LABEL: func.func @others
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.exp %{{.*}} : f16
// CHECK: math.exp %{{.*}} : vector<4xf64>
// CHECK: math.erf %{{.*}} : f32
func.func @others(%a: f64, %b: f16, %c: vector<4xf64>, %d: f32) -> (f64, f16, vector<4xf64>, f32) {
  %0 = math.exp %a : f64
  %1 = math.exp %b : f16
  %2 = math.exp %c : vector<4xf64>
  %3 = math.erf %d : f32
  return %0, %1, %2, %3 : f64, f16, vector<4xf64>, f32
}
