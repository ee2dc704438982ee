// RUN: heddle-opt %s --convert-tile-to-vector="bf16-pairs amx" --canonicalize --cse | FileCheck %s

// An online softmax of 64 queries, the lanes, goes through two panels of 32. Scores and rounded weights have buffers for two panels.
// CHECK-LABEL: func.func private @softmax(
// CHECK-DAG: %[[WEIGHTS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x32xi32>
// CHECK-DAG: %[[SCORES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x32xf32>
// CHECK-DAG: %[[VALUES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x16xi32>
// CHECK-DAG: %[[ACC:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x64xf32>

// Scores of the first panel; beside them, squares of the values are transposed, halves of rows from memory.
// CHECK: scf.for
// CHECK-COUNT-4: amx.tile_zero
// CHECK: scf.for
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: scf.for
// CHECK: vector.load %arg2[{{.*}}] : memref<?x64xbf16>, vector<16xbf16>
// CHECK-COUNT-16: vector.store {{.*}}, %[[VALUES]][
// CHECK-NOT: vector.store
// CHECK-COUNT-4: amx.tile_store %[[SCORES]]

// For each panel: the maxima, four rows at a time,
// CHECK: scf.for %[[PANEL:.*]] = %c0 to %c2 step %c1
// CHECK: scf.for {{.*}} = %c0 to %c32 step %c4
// CHECK-COUNT-8: vector.load %[[SCORES]]

// scores of the next one, and in each step a share of the weights of this one and of the accumulator's decay,
// CHECK: scf.if
// CHECK-COUNT-4: amx.tile_zero
// CHECK: scf.for
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: scf.for
// CHECK-COUNT-4: memref.prefetch
// CHECK-COUNT-2: math.exp2
// CHECK-NEXT: cvtne2ps2bf16
// CHECK: vector.store {{.*}}, %[[WEIGHTS]]
// CHECK-COUNT-2: math.exp2
// CHECK-NEXT: cvtne2ps2bf16
// CHECK: scf.for
// CHECK-COUNT-2: vector.store {{.*}}, %[[ACC]]
// CHECK: scf.yield {{.*}} : !amx.tile
// CHECK-COUNT-4: amx.tile_store %[[SCORES]]
// or, for the last panel, all of it at once.
// CHECK: else
// CHECK: scf.for {{.*}} = %c0 to %c8 step %c1
// CHECK-COUNT-4: math.exp2

// Then the product of the panel before, beside the rest of the weights.
// CHECK: scf.if
// CHECK-COUNT-4: amx.tile_load %[[ACC]]
// CHECK-COUNT-2: amx.tile_load %[[VALUES]]
// CHECK-COUNT-2: amx.tile_load %[[WEIGHTS]]
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-COUNT-4: math.exp2
// CHECK-COUNT-4: amx.tile_store %[[ACC]]
// CHECK: else
// CHECK: scf.for {{.*}} = %c8 to %c16 step %c1
// CHECK-COUNT-4: math.exp2

// The product of the last panel.
// CHECK-COUNT-4: amx.tile_load %[[ACC]]
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-COUNT-4: amx.tile_store %[[ACC]]
// CHECK-NOT: amx.tile_mulf
tile.kernel @softmax(%k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %q: memref<64x64xbf16>, %o: memref<64x64xf32>, %end: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zeros = arith.constant dense<0.0> : tensor<32x64xf32>
  %start = arith.constant dense<0.0> : tensor<64x64xf32>
  %least = arith.constant dense<-1.0e30> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %kView = tile.view %k[:, :] : memref<?x64xbf16> -> !tile.view<?x64xbf16>
  %vView = tile.view %v[:, :] : memref<?x64xbf16> -> !tile.view<?x64xbf16>
  %qView = tile.view %q[:, :] : memref<64x64xbf16> -> !tile.view<64x64xbf16>
  %oView = tile.view %o[:, :] : memref<64x64xf32> -> !tile.view<64x64xf32>
  %queries = tile.load %qView[%c0, %c0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %loop:3 = scf.for %i = %c0 to %end step %c32 iter_args(%acc = %start, %max = %least, %sum = %none) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %keys = tile.load %kView[%i, %c0] : !tile.view<?x64xbf16> -> tensor<32x64xbf16>
    %s = tile.dot %keys, %queries, %zeros : tensor<32x64xbf16>, tensor<64x64xbf16> -> tensor<32x64xf32>
    %top = tile.reduce max %s along 0 : tensor<32x64xf32> -> tensor<64xf32>
    %newMax = arith.maximumf %max, %top : tensor<64xf32>
    %tops = tile.broadcast %newMax along 0 : tensor<64xf32> -> tensor<32x64xf32>
    %x = arith.subf %s, %tops : tensor<32x64xf32>
    %w = math.exp2 %x fastmath<afn> : tensor<32x64xf32>
    %rise = arith.subf %max, %newMax : tensor<64xf32>
    %decay = math.exp2 %rise : tensor<64xf32>
    %blockSum = tile.reduce add %w along 0 : tensor<32x64xf32> -> tensor<64xf32>
    %newSum = math.fma %sum, %decay, %blockSum : tensor<64xf32>
    %decays = tile.broadcast %decay along 0 : tensor<64xf32> -> tensor<64x64xf32>
    %decayed = arith.mulf %acc, %decays : tensor<64x64xf32>
    %values = tile.load %vView[%i, %c0] : !tile.view<?x64xbf16> -> tensor<32x64xbf16>
    %rounded = arith.truncf %w : tensor<32x64xf32> to tensor<32x64xbf16>
    %new = tile.dot %values, %rounded, %decayed {transpose_a} : tensor<32x64xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    scf.yield %new, %newMax, %newSum : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %totals = tile.broadcast %loop#2 along 0 : tensor<64xf32> -> tensor<64x64xf32>
  %result = arith.divf %loop#0, %totals : tensor<64x64xf32>
  tile.store %result, %oView[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}

// Scores that another op reads, here a store behind the last product, stay in a buffer of their own: one product after the other.
// CHECK-LABEL: func.func private @kept(
// CHECK: amx.tile_zero
// CHECK-NOT: math.exp2
// CHECK-COUNT-4: amx.tile_store
// CHECK-COUNT-4: math.exp2
// CHECK-NOT: math.exp2
// CHECK-COUNT-4: amx.tile_mulf
tile.kernel @kept(%k: memref<32x32xbf16>, %v: memref<32x32xbf16>, %q: memref<32x32xbf16>, %s: memref<32x32xf32>, %o: memref<32x32xf32>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<32x32xf32>
  %kView = tile.view %k[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %vView = tile.view %v[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %qView = tile.view %q[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %sView = tile.view %s[:, :] : memref<32x32xf32> -> !tile.view<32x32xf32>
  %oView = tile.view %o[:, :] : memref<32x32xf32> -> !tile.view<32x32xf32>
  %keys = tile.load %kView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %queries = tile.load %qView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %values = tile.load %vView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %scores = tile.dot %keys, %queries, %zeros : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  %w = math.exp2 %scores fastmath<afn> : tensor<32x32xf32>
  %rounded = arith.truncf %w : tensor<32x32xf32> to tensor<32x32xbf16>
  %new = tile.dot %values, %rounded, %zeros {transpose_a} : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  tile.store %scores, %sView[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.store %new, %oView[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.return
}

// Nothing lies between the products: one after the other.
// CHECK-LABEL: func.func private @adjacent(
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-COUNT-4: amx.tile_store
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-NOT: amx.tile_mulf
tile.kernel @adjacent(%a: memref<32x32xbf16>, %b: memref<32x32xbf16>, %c: memref<32x32xbf16>, %o: memref<32x32xf32>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<32x32xf32>
  %aView = tile.view %a[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %bView = tile.view %b[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %cView = tile.view %c[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %oView = tile.view %o[:, :] : memref<32x32xf32> -> !tile.view<32x32xf32>
  %x = tile.load %aView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %y = tile.load %bView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %z = tile.load %cView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %inner = tile.dot %x, %y, %zeros : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  %rounded = arith.truncf %inner : tensor<32x32xf32> to tensor<32x32xbf16>
  %new = tile.dot %z, %rounded, %zeros : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  tile.store %new, %oView[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.return
}

// Two chains that interlace: the second product is none of what lies between those of the first.
// CHECK-LABEL: func.func private @two(
// CHECK-COUNT-16: amx.tile_mulf
// CHECK-NOT: amx.tile_mulf
tile.kernel @two(%k: memref<32x32xbf16>, %v: memref<32x32xbf16>, %q: memref<32x32xbf16>, %r: memref<32x32xbf16>, %o: memref<32x32xf32>, %p: memref<32x32xf32>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<32x32xf32>
  %kView = tile.view %k[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %vView = tile.view %v[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %qView = tile.view %q[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %rView = tile.view %r[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %oView = tile.view %o[:, :] : memref<32x32xf32> -> !tile.view<32x32xf32>
  %pView = tile.view %p[:, :] : memref<32x32xf32> -> !tile.view<32x32xf32>
  %keys = tile.load %kView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %values = tile.load %vView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %queries = tile.load %qView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %others = tile.load %rView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %s1 = tile.dot %keys, %queries, %zeros : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  %s2 = tile.dot %keys, %others, %zeros : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  %w1 = math.exp2 %s1 fastmath<afn> : tensor<32x32xf32>
  %w2 = math.exp2 %s2 fastmath<afn> : tensor<32x32xf32>
  %rounded1 = arith.truncf %w1 : tensor<32x32xf32> to tensor<32x32xbf16>
  %rounded2 = arith.truncf %w2 : tensor<32x32xf32> to tensor<32x32xbf16>
  %o1 = tile.dot %values, %rounded1, %zeros {transpose_a} : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  %o2 = tile.dot %values, %rounded2, %zeros {transpose_a} : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  tile.store %o1, %oView[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.store %o2, %pView[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.return
}

// The next keys are loaded in the trip before: they must not replace those that the products behind them still read.
// CHECK-LABEL: func.func private @ahead(
// CHECK: scf.for {{.*}} to %arg5 step %c32
// CHECK-NOT: vector.store
// CHECK: amx.tile_zero
// CHECK-COUNT-4: amx.tile_mulf
tile.kernel @ahead(%k: memref<?x32xbf16>, %v: memref<?x32xbf16>, %q: memref<32x32xbf16>, %o: memref<32x32xf32>, %end: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zeros = arith.constant dense<0.0> : tensor<32x32xf32>
  %kView = tile.view %k[:, :] : memref<?x32xbf16> -> !tile.view<?x32xbf16>
  %vView = tile.view %v[:, :] : memref<?x32xbf16> -> !tile.view<?x32xbf16>
  %qView = tile.view %q[:, :] : memref<32x32xbf16> -> !tile.view<32x32xbf16>
  %oView = tile.view %o[:, :] : memref<32x32xf32> -> !tile.view<32x32xf32>
  %queries = tile.load %qView[%c0, %c0] : !tile.view<32x32xbf16> -> tensor<32x32xbf16>
  %first = tile.load %kView[%c0, %c0] : !tile.view<?x32xbf16> -> tensor<32x32xbf16>
  %loop:2 = scf.for %i = %c0 to %end step %c32 iter_args(%acc = %zeros, %keys = %first) -> (tensor<32x32xf32>, tensor<32x32xbf16>) {
    %s = tile.dot %keys, %queries, %zeros : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
    %j = arith.addi %i, %c32 : index
    %next = tile.load %kView[%j, %c0] : !tile.view<?x32xbf16> -> tensor<32x32xbf16>
    %w = math.exp2 %s fastmath<afn> : tensor<32x32xf32>
    %values = tile.load %vView[%i, %c0] : !tile.view<?x32xbf16> -> tensor<32x32xbf16>
    %rounded = arith.truncf %w : tensor<32x32xf32> to tensor<32x32xbf16>
    %new = tile.dot %values, %rounded, %acc {transpose_a} : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
    scf.yield %new, %next : tensor<32x32xf32>, tensor<32x32xbf16>
  }
  tile.store %loop#0, %oView[%c0, %c0] : tensor<32x32xf32>, !tile.view<32x32xf32>
  tile.return
}
