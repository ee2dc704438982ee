// RUN: heddle-opt %s --attn-to-tile --canonicalize --cse --split-input-file | FileCheck %s

// Equal regions share a kernel.
// CHECK-LABEL: func.func @regions
// CHECK: tile.dispatch @[[SUM:attention[_0-9]*]] grid
// CHECK: tile.dispatch @[[SUM]] grid
// CHECK: tile.dispatch @[[SMALLER:attention[_0-9]*]] grid
// CHECK: tile.dispatch @[[DIFFERENCE:attention[_0-9]*]] grid
func.func @regions(%q: tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) {
  %0 = attn.attention %q, %q, %q : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32>
      score(%s, %b, %h, %p, %j) {
    %c = arith.constant 0.5 : f32
    %d = arith.subi %p, %j : index
    %n = arith.addi %h, %b : index
    %m = arith.muli %d, %n : index
    %i = arith.index_cast %m : index to i32
    %x = arith.sitofp %i : i32 to f32
    %y = arith.mulf %x, %c : f32
    %t = arith.addf %s, %y : f32
    attn.yield %t : f32
  }
  %1 = attn.attention %0, %q, %q : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32>
      score(%s, %b, %h, %p, %j) {
    %c = arith.constant 0.5 : f32
    %d = arith.subi %p, %j : index
    %n = arith.addi %h, %b : index
    %m = arith.muli %d, %n : index
    %i = arith.index_cast %m : index to i32
    %x = arith.sitofp %i : i32 to f32
    %y = arith.mulf %x, %c : f32
    %t = arith.addf %s, %y : f32
    attn.yield %t : f32
  }
  %2 = attn.attention %1, %q, %q : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32>
      score(%s, %b, %h, %p, %j) {
    %c = arith.constant 0.25 : f32
    %d = arith.subi %p, %j : index
    %n = arith.addi %h, %b : index
    %m = arith.muli %d, %n : index
    %i = arith.index_cast %m : index to i32
    %x = arith.sitofp %i : i32 to f32
    %y = arith.mulf %x, %c : f32
    %t = arith.addf %s, %y : f32
    attn.yield %t : f32
  }
  %3 = attn.attention %2, %q, %q : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32>
      score(%s, %b, %h, %p, %j) {
    %c = arith.constant 0.5 : f32
    %d = arith.subi %p, %j : index
    %n = arith.addi %h, %b : index
    %m = arith.muli %d, %n : index
    %i = arith.index_cast %m : index to i32
    %x = arith.sitofp %i : i32 to f32
    %y = arith.mulf %x, %c : f32
    %t = arith.subf %s, %y : f32
    attn.yield %t : f32
  }
  return %0, %1, %2, %3 : tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>
}

// What depends on batch and head only is a scalar; indices in tiles are i32.
// CHECK: tile.kernel private @[[SUM]](
// CHECK: %[[QUERIES:.*]] = tile.load
// CHECK: scf.for
// CHECK: %[[PRODUCTS:.*]] = tile.dot
// CHECK: %[[S:.*]] = arith.mulf %[[PRODUCTS]], %{{.*}} : tensor<64x64xf32>
// CHECK: %[[P:.*]] = tile.iota along 0 start(%{{.*}}) : tensor<64x64xi32>
// CHECK: %[[J:.*]] = tile.iota along 1 start(%{{.*}}) : tensor<64x64xi32>
// CHECK: %[[D:.*]] = arith.subi %[[P]], %[[J]] : tensor<64x64xi32>
// CHECK: %[[N:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK: %[[N32:.*]] = arith.index_cast %[[N]] : index to i32
// CHECK: %[[NS:.*]] = tensor.splat %[[N32]] : tensor<64x64xi32>
// CHECK: %[[M:.*]] = arith.muli %[[D]], %[[NS]] : tensor<64x64xi32>
// CHECK: %[[X:.*]] = arith.sitofp %[[M]] : tensor<64x64xi32> to tensor<64x64xf32>
// CHECK: %[[Y:.*]] = arith.mulf %[[X]], %{{.*}} : tensor<64x64xf32>
// CHECK: %[[T:.*]] = arith.addf %[[S]], %[[Y]] : tensor<64x64xf32>
// CHECK: tile.reduce max %[[T]] along 1
// CHECK: tile.kernel private @[[SMALLER]](
// CHECK: tile.kernel private @[[DIFFERENCE]](

// -----

// Statistics come from what the loop carries anyway.
// CHECK-LABEL: func.func @statistics
// CHECK: tile.dispatch @attention grid{{.*}} outs({{.*}} : tensor<?x?x2x16xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>)
func.func @statistics(%q: tensor<?x?x2x16xf32>, %sinks: tensor<2xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>) {
  %o, %lse, %max, %mass = attn.attention %q, %q, %q sinks(%sinks : tensor<2xf32>) {return_lse, return_max, return_sink_mass}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> (tensor<?x?x2x16xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>)
  return %o, %lse, %max, %mass : tensor<?x?x2x16xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>
}

// CHECK: tile.kernel private @attention(
// CHECK-DAG: %[[LN2:.*]] = arith.constant dense<0.693147182> : tensor<64xf32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<-3.40282347E+38> : tensor<64xf32>
// CHECK-DAG: %[[LEAST:.*]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<64xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK: %[[EDGES:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}#1, %{{.*}} = %{{.*}}#2)
// CHECK: scf.yield
// CHECK: %[[LARGER:.*]] = arith.maximumf %[[EDGES]]#1, %[[SINK:.*]] : tensor<64xf32>
// CHECK: %[[FALL:.*]] = arith.subf %[[SINK]], %[[LARGER]]
// CHECK: %[[WEIGHT:.*]] = math.exp2 %[[FALL]]
// CHECK: %[[DEN:.*]] = arith.addf %{{.*}}, %[[WEIGHT]]
// CHECK: %[[IS_EMPTY:.*]] = arith.cmpf oeq, %[[EDGES]]#2, %[[ZERO]]
// CHECK: arith.select %[[IS_EMPTY]], %[[ZERO]], %{{.*}}
// CHECK: tile.store %{{.*}} : tensor<64x16xf32>
// CHECK: %[[LOG:.*]] = math.log %[[EDGES]]#2
// CHECK: %[[LSE:.*]] = math.fma %[[EDGES]]#1, %[[LN2]], %[[LOG]]
// CHECK: tile.store %[[LSE]]
// CHECK: %[[MAX:.*]] = arith.mulf %[[EDGES]]#1, %[[LN2]]
// CHECK: %[[IS_NONE:.*]] = arith.cmpf oeq, %[[EDGES]]#1, %[[NONE]]
// CHECK: %[[FOUND:.*]] = arith.select %[[IS_NONE]], %[[LEAST]], %[[MAX]]
// CHECK: %[[OR_SUM:.*]] = arith.select %{{.*}}, %[[FOUND]], %[[EDGES]]#2
// CHECK: %[[IS_NUMBER:.*]] = arith.cmpf olt, %[[EDGES]]#2, %{{.*}}
// CHECK: %[[RESULT:.*]] = arith.select %[[IS_NUMBER]], %[[FOUND]], %[[OR_SUM]]
// CHECK: tile.store %[[RESULT]]
// CHECK: %[[SHARE:.*]] = arith.divf %[[WEIGHT]], %[[DEN]]
// CHECK: arith.select %{{.*}}, %[[ONE]], %[[SHARE]]
// CHECK: %[[MASS:.*]] = arith.select %{{.*}}, %[[ZERO]], %{{.*}}
// CHECK: tile.store %[[MASS]]

// -----

// Global keys left of the window come first. A window so long ends behind the tile of keys, so nothing is padded there.
// CHECK-LABEL: func.func @global_keys
func.func @global_keys(%q: tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32> {
  %o = attn.attention %q, %q, %q {causal, window = array<i64: 200, -1>, global_keys = 20 : i64} : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32>
  return %o : tensor<?x?x2x16xf32>
}

// CHECK: tile.kernel private @attention(
// CHECK: %[[BEFORE:.*]] = arith.subi %{{.*}}, %c200 : index
// CHECK: %[[WINDOW:.*]] = arith.maxsi %[[BEFORE]], %c0 : index
// CHECK: %[[END:.*]] = arith.minsi %[[WINDOW]], %c20 : index
// CHECK: %[[GLOBAL:.*]]:3 = scf.for %[[N:.*]] = %c0 to %[[END]] step %c32
// CHECK-NOT: pad(
// CHECK:   %[[COLUMN:.*]] = tile.iota along 1 : tensor<64x32xi32>
// CHECK:   %[[REST:.*]] = arith.subi %[[END]], %[[N]] : index
// CHECK:   %[[LAST:.*]] = arith.subi %[[REST]], %c1 : index
// CHECK:   %[[LAST32:.*]] = arith.index_cast %[[LAST]] : index to i32
// CHECK:   %[[LIMIT:.*]] = tensor.splat %[[LAST32]]
// CHECK:   %[[VISIBLE:.*]] = arith.cmpi sle, %[[COLUMN]], %[[LIMIT]]
// CHECK:   arith.select %[[VISIBLE]]

// The window's first blocks hold those that are not left of it.
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[GLOBAL]]#0,
// CHECK:   %[[NEAR:.*]] = arith.cmpi sle, %{{.*}}, %[[COLUMNS:.*]] :
// CHECK:   %[[IS_GLOBAL:.*]] = arith.cmpi sle, %[[COLUMNS]], %{{.*}} :
// CHECK:   arith.ori %[[NEAR]], %[[IS_GLOBAL]] : tensor<64x32xi1>
