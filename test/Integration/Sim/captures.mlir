// Score regions that use values from outside, on the CPU by the formula in f64 and as kernels, and in the simulator of sm_80; each
// against the same written with a mask, slopes or a bias.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --kernels=reference --accumulate=f64 -o %t/reference.so
// RUN: heddle-compile %s --target=cpu,sim-sm_80 -o %t/m.so
// DEFINE: %{entry} =
// DEFINE: %{expected} =
// DEFINE: %{dims} =
// DEFINE: %{inputs} =
// DEFINE: %{limit} = 1e-5
// DEFINE: %{check} = heddle-run %t/reference.so --entry %{expected} --random 8 %{dims} %{inputs} --output o=%t/o.npy && \
// DEFINE:   heddle-run %t/reference.so --entry %{entry} --random 8 %{dims} %{inputs} --verify o=%t/o.npy --rtol 1e-6 && \
// DEFINE:   heddle-run %t/m.so --entry %{entry} --random 8 %{dims} %{inputs} --target=cpu --verify o=%t/o.npy --rtol %{limit} && \
// DEFINE:   heddle-run %t/m.so --entry %{entry} --random 8 %{dims} %{inputs} --target=sim-sm_80 --sim-check --verify o=%t/o.npy --rtol %{limit}
// RUN: python3 %S/inputs/write_i32.py %t/ends.npy 7 31 64

// Queries see keys of their own document: against the mask of that.
// REDEFINE: %{entry} = documents
// REDEFINE: %{expected} = documents_by_mask
// REDEFINE: %{dims} = --dim B=2 --dim L=90
// REDEFINE: %{inputs} = --input ends=%t/ends.npy
// RUN: %{check}

// Slopes of four heads.
// REDEFINE: %{inputs} =
// REDEFINE: %{entry} = slopes
// REDEFINE: %{expected} = slopes_by_operand
// REDEFINE: %{dims} = --dim B=2 --dim L=70 --dim S=150
// RUN: %{check}
// More queries than keys: positions before the first key.
// REDEFINE: %{dims} = --dim B=1 --dim L=90 --dim S=40
// RUN: %{check}
// REDEFINE: %{dims} = --dim B=3 --dim L=1 --dim S=70
// RUN: %{check}
// REDEFINE: %{dims} = --dim B=2 --dim L=3 --dim S=0
// RUN: %{check}

// A table of biases by head and bucket of the distance, in f16, and a scalar.
// REDEFINE: %{entry} = buckets
// REDEFINE: %{expected} = buckets_by_bias
// REDEFINE: %{dims} = --dim B=2 --dim L=60 --dim S=131
// RUN: %{check}
// REDEFINE: %{limit} = 1e-3
// REDEFINE: %{entry} = buckets_half
// REDEFINE: %{expected} = buckets_half
// RUN: %{check}

// A capture without elements.
// RUN: not heddle-run %t/m.so --entry empty --random 8 --dim B=1 --dim L=5 --dim N=0 --target=cpu 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not heddle-run %t/m.so --entry empty --random 8 --dim B=1 --dim L=5 --dim N=0 --target=sim-sm_80 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not heddle-run %t/reference.so --entry empty --random 8 --dim B=1 --dim L=5 --dim N=0 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: empty: attention: dimension 0 of capture 0 is 0, expected at least 1
// RUN: heddle-run %t/m.so --entry empty --random 8 --dim B=1 --dim L=0 --dim N=0 --target=sim-sm_80
// RUN: heddle-run %t/m.so --entry empty --random 8 --dim B=1 --dim L=0 --dim N=0 --target=cpu

!q = tensor<?x?x4x32xf32>
!k = tensor<?x?x2x32xf32>

// The document of token l of sequence b: how many ends are at or before l + b.
func.func private @documents_of(%q: !q, %ends: tensor<3xi32>) -> tensor<?x?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %q, %c0 : !q
  %l = tensor.dim %q, %c1 : !q
  %zero = arith.constant 0 : i32
  %e = tensor.empty(%b, %l) : tensor<?x?xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<?x?xi32>) -> tensor<?x?xi32>
  %ids = linalg.generic {indexing_maps = [affine_map<(b, l, e) -> (e)>, affine_map<(b, l, e) -> (b, l)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%ends : tensor<3xi32>) outs(%f : tensor<?x?xi32>) {
  ^bb0(%end: i32, %count: i32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.addi %i, %j : index
    %at = arith.index_cast %k : index to i32
    %isPast = arith.cmpi sge, %at, %end : i32
    %one = arith.extui %isPast : i1 to i32
    %r = arith.addi %count, %one : i32
    linalg.yield %r : i32
  } -> tensor<?x?xi32>
  return %ids : tensor<?x?xi32>
}

func.func @documents(%q: !q {heddle.dims = ["B", "L", "", ""]}, %k: !k {heddle.dims = ["B", "L", "", ""]}, %v: !k, %ends: tensor<3xi32> {heddle.name = "ends"}) -> (!q {heddle.name = "o"}) {
  %ids = func.call @documents_of(%q, %ends) : (!q, tensor<3xi32>) -> tensor<?x?xi32>
  %o = attn.attention %q, %k, %v captures(%ids : tensor<?x?xi32>) {causal} : (!q, !k, !k) -> !q score(%s, %b, %h, %p, %j, %document) {
    %none = arith.constant 0xFF800000 : f32
    %mine = tensor.extract %document[%b, %p] : tensor<?x?xi32>
    %other = tensor.extract %document[%b, %j] : tensor<?x?xi32>
    %same = arith.cmpi eq, %mine, %other : i32
    %t = arith.select %same, %s, %none : f32
    attn.yield %t : f32
  }
  return %o : !q
}
func.func @documents_by_mask(%q: !q {heddle.dims = ["B", "L", "", ""]}, %k: !k {heddle.dims = ["B", "L", "", ""]}, %v: !k, %ends: tensor<3xi32> {heddle.name = "ends"}) -> (!q {heddle.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %q, %c0 : !q
  %l = tensor.dim %q, %c1 : !q
  %ids = func.call @documents_of(%q, %ends) : (!q, tensor<3xi32>) -> tensor<?x?xi32>
  %e = tensor.empty(%b, %l, %l) : tensor<?x1x?x?xi1>
  %mask = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, i)>, affine_map<(b, h, i, j) -> (b, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%ids, %ids : tensor<?x?xi32>, tensor<?x?xi32>) outs(%e : tensor<?x1x?x?xi1>) {
  ^bb0(%mine: i32, %other: i32, %old: i1):
    %same = arith.cmpi eq, %mine, %other : i32
    linalg.yield %same : i1
  } -> tensor<?x1x?x?xi1>
  %o = attn.attention %q, %k, %v mask(%mask : tensor<?x1x?x?xi1>) {causal} : (!q, !k, !k) -> !q
  return %o : !q
}

func.func @slopes(%q: !q {heddle.dims = ["B", "L", "", ""]}, %k: !k {heddle.dims = ["B", "S", "", ""]}, %v: !k, %slopes: tensor<4xf32>) -> (!q {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v captures(%slopes : tensor<4xf32>) : (!q, !k, !k) -> !q score(%s, %b, %h, %p, %j, %each) {
    %slope = tensor.extract %each[%h] : tensor<4xf32>
    %d = arith.subi %p, %j : index
    %i = arith.index_cast %d : index to i32
    %x = arith.sitofp %i : i32 to f32
    %distance = math.absf %x : f32
    %penalty = arith.mulf %distance, %slope : f32
    %t = arith.subf %s, %penalty : f32
    attn.yield %t : f32
  }
  return %o : !q
}
func.func @slopes_by_operand(%q: !q {heddle.dims = ["B", "L", "", ""]}, %k: !k {heddle.dims = ["B", "S", "", ""]}, %v: !k, %slopes: tensor<4xf32>) -> (!q {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v alibi_slopes(%slopes : tensor<4xf32>) : (!q, !k, !k) -> !q
  return %o : !q
}

// 16 buckets: min(|p - j|, 15); the score is scaled by a number of the call.
func.func @buckets(%q: !q {heddle.dims = ["B", "L", "", ""]}, %k: !k {heddle.dims = ["B", "S", "", ""]}, %v: !k, %table: tensor<4x16xf32>, %bias: tensor<?x?xf32> {heddle.dims = ["L", "S"]}) -> (!q {heddle.name = "o"}) {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %k, %c1 : !k
  %o = attn.attention %q, %k, %v captures(%n, %table : index, tensor<4x16xf32>) {window = array<i64: 50, 20>} : (!q, !k, !k) -> !q score(%s, %b, %h, %p, %j, %length, %biases) {
    %last = arith.constant 15 : index
    %d = arith.subi %p, %j : index
    %e = arith.subi %j, %p : index
    %a = arith.maxsi %d, %e : index
    %bucket = arith.minsi %a, %last : index
    %x = tensor.extract %biases[%h, %bucket] : tensor<4x16xf32>
    %t = arith.addf %s, %x : f32
    // Keys at the end get a bonus.
    %ten = arith.constant 10 : index
    %end = arith.subi %length, %ten : index
    %late = arith.cmpi sge, %j, %end : index
    %bonus = arith.constant 0.5 : f32
    %u = arith.addf %t, %bonus : f32
    %r = arith.select %late, %u, %t : f32
    attn.yield %r : f32
  }
  return %o : !q
}
func.func @buckets_by_bias(%q: !q {heddle.dims = ["B", "L", "", ""]}, %k: !k {heddle.dims = ["B", "S", "", ""]}, %v: !k, %table: tensor<4x16xf32>, %like: tensor<?x?xf32> {heddle.dims = ["L", "S"]}) -> (!q {heddle.name = "o"}) {
  %c1 = arith.constant 1 : index
  %l = tensor.dim %q, %c1 : !q
  %n = tensor.dim %k, %c1 : !k
  %offset = arith.subi %n, %l : index
  %e0 = tensor.empty(%l, %n) : tensor<1x4x?x?xf32>
  %bias = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e0 : tensor<1x4x?x?xf32>) {
  ^bb0(%old: f32):
    %h = linalg.index 1 : index
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %p = arith.addi %i, %offset : index
    %last = arith.constant 15 : index
    %d = arith.subi %p, %j : index
    %e = arith.subi %j, %p : index
    %a = arith.maxsi %d, %e : index
    %bucket = arith.minsi %a, %last : index
    %x = tensor.extract %table[%h, %bucket] : tensor<4x16xf32>
    %ten = arith.constant 10 : index
    %end = arith.subi %n, %ten : index
    %late = arith.cmpi sge, %j, %end : index
    %bonus = arith.constant 0.5 : f32
    %u = arith.addf %x, %bonus : f32
    %r = arith.select %late, %u, %x : f32
    linalg.yield %r : f32
  } -> tensor<1x4x?x?xf32>
  %o = attn.attention %q, %k, %v bias(%bias : tensor<1x4x?x?xf32>) {window = array<i64: 50, 20>} : (!q, !k, !k) -> !q
  return %o : !q
}

func.func @buckets_half(%q: tensor<?x?x4x32xf16> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x32xf16> {heddle.dims = ["B", "S", "", ""]}, %v: tensor<?x?x2x32xf16>, %table: tensor<4x16xf16>, %seen: tensor<?xi1> {heddle.dims = ["S"]}, %factor: tensor<?x4xf32> {heddle.dims = ["B", ""]})
    -> (tensor<?x?x4x32xf16> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v captures(%table, %seen, %factor : tensor<4x16xf16>, tensor<?xi1>, tensor<?x4xf32>)
      : (tensor<?x?x4x32xf16>, tensor<?x?x2x32xf16>, tensor<?x?x2x32xf16>) -> tensor<?x?x4x32xf16> score(%s, %b, %h, %p, %j, %biases, %mask, %factors) {
    // Past the table's end in both directions: the nearest one.
    %d = arith.subi %p, %j : index
    %x = tensor.extract %biases[%h, %d] : tensor<4x16xf16>
    %y = arith.extf %x : f16 to f32
    %f = tensor.extract %factors[%b, %h] : tensor<?x4xf32>
    %z = arith.mulf %y, %f : f32
    %t = arith.addf %s, %z : f32
    %isSeen = tensor.extract %mask[%j] : tensor<?xi1>
    %none = arith.constant -3.0 : f32
    %r = arith.select %isSeen, %t, %none : f32
    attn.yield %r : f32
  }
  return %o : tensor<?x?x4x32xf16>
}

func.func @empty(%q: !q {heddle.dims = ["B", "L", "", ""]}, %k: !k {heddle.dims = ["B", "L", "", ""]}, %v: !k, %x: tensor<?xf32> {heddle.dims = ["N"]}) -> (!q {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v captures(%x : tensor<?xf32>) : (!q, !k, !k) -> !q score(%s, %b, %h, %p, %j, %y) {
    %z = tensor.extract %y[%j] : tensor<?xf32>
    %t = arith.addf %s, %z : f32
    attn.yield %t : f32
  }
  return %o : !q
}
