// What is hidden but not finite, and products that overflow. The entries say where the output is NaN: 1 there, else 0.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --kernels=reference -o %t/reference.so
// RUN: heddle-compile %s --target=cpu,sim-sm_80 -o %t/m.so
// RUN: heddle-compile %s --target=sim-sm_80 --f32-products=ieee -o %t/ieee.so
// DEFINE: %{module} =
// DEFINE: %{entry} =
// DEFINE: %{expected} =
// DEFINE: %{is} = heddle-run %t/reference.so --entry %{expected} --random 3 --output nan=%t/nan.npy && \
// DEFINE:   heddle-run %{module} --entry %{entry} --random 3 --verify nan=%t/nan.npy --rtol 0 --atol 0

// A value of NaN whose key only a mask hides: 0 times NaN, for all queries.
// REDEFINE: %{entry} = hidden_value
// REDEFINE: %{expected} = ones
// REDEFINE: %{module} = %t/reference.so
// RUN: %{is}
// REDEFINE: %{module} = %t/m.so --target=cpu
// RUN: %{is}
// REDEFINE: %{module} = %t/m.so --target=sim-sm_80
// RUN: %{is}

// A key of NaN that the mask hides has no score.
// REDEFINE: %{entry} = hidden_key
// REDEFINE: %{expected} = zeros
// REDEFINE: %{module} = %t/reference.so
// RUN: %{is}
// REDEFINE: %{module} = %t/m.so --target=cpu
// RUN: %{is}
// REDEFINE: %{module} = %t/m.so --target=sim-sm_80
// RUN: %{is}

// A query of NaN: all of its statistics are, beside a sink, too.
// REDEFINE: %{entry} = nan_query
// REDEFINE: %{expected} = ones
// REDEFINE: %{module} = %t/reference.so
// RUN: %{is}
// REDEFINE: %{module} = %t/m.so --target=cpu
// RUN: %{is}
// REDEFINE: %{module} = %t/m.so --target=sim-sm_80
// RUN: %{is}
// REDEFINE: %{expected} = zeros

// A score of NaN: the statistics of the queries that see it are, and no others.
// REDEFINE: %{entry} = nan_score
// REDEFINE: %{expected} = nan_score
// REDEFINE: %{module} = %t/m.so --target=cpu
// RUN: %{is}
// REDEFINE: %{module} = %t/m.so --target=sim-sm_80
// RUN: %{is}
// REDEFINE: %{expected} = zeros

// A score below the range of f32 is -inf, and its key has no weight. With tf32x3 that holds up to 2^139: past it the parts of the product
// are infinite with both signs.
// REDEFINE: %{entry} = overflow
// REDEFINE: %{module} = %t/reference.so
// RUN: %{is}
// REDEFINE: %{module} = %t/m.so --target=cpu
// RUN: %{is}
// REDEFINE: %{module} = %t/ieee.so
// RUN: %{is}
// REDEFINE: %{entry} = small_overflow
// REDEFINE: %{module} = %t/m.so --target=sim-sm_80
// RUN: %{is}
// REDEFINE: %{entry} = overflow
// REDEFINE: %{expected} = ones
// RUN: %{is}

!q = tensor<1x70x2x32xf32>
!row = tensor<1x2x70xf32>
#all = affine_map<(b, l, h, d) -> (b, l, h, d)>

func.func private @where_nan(%o: !q) -> !q {
  %e = tensor.empty() : !q
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%o : !q) outs(%e : !q) {
  ^bb0(%a: f32, %old: f32):
    %one = arith.constant 1.0 : f32
    %zero = arith.constant 0.0 : f32
    %is = arith.cmpf uno, %a, %a : f32
    %b = arith.select %is, %one, %zero : f32
    linalg.yield %b : f32
  } -> !q
  return %r : !q
}

// `x` with row 3 set to a number.
func.func private @with_row(%x: !q, %number: f32) -> !q {
  %e = tensor.empty() : !q
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : !q) outs(%e : !q) {
  ^bb0(%a: f32, %old: f32):
    %three = arith.constant 3 : index
    %i = linalg.index 1 : index
    %is = arith.cmpi eq, %i, %three : index
    %b = arith.select %is, %number, %a : f32
    linalg.yield %b : f32
  } -> !q
  return %r : !q
}

// All keys but key 3.
func.func private @mask_of(%x: !q) -> tensor<1x1x1x70xi1> {
  %e = tensor.empty() : tensor<1x1x1x70xi1>
  %r = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e : tensor<1x1x1x70xi1>) {
  ^bb0(%old: i1):
    %three = arith.constant 3 : index
    %j = linalg.index 3 : index
    %is = arith.cmpi ne, %j, %three : index
    linalg.yield %is : i1
  } -> tensor<1x1x1x70xi1>
  return %r : tensor<1x1x1x70xi1>
}

func.func @hidden_value(%q: !q) -> (!q {heddle.name = "nan"}) {
  %nan = arith.constant 0x7FC00000 : f32
  %v = func.call @with_row(%q, %nan) : (!q, f32) -> !q
  %mask = func.call @mask_of(%q) : (!q) -> tensor<1x1x1x70xi1>
  %o = attn.attention %q, %q, %v mask(%mask : tensor<1x1x1x70xi1>) : (!q, !q, !q) -> !q
  %r = func.call @where_nan(%o) : (!q) -> !q
  return %r : !q
}

#row = affine_map<(b, l, h, d) -> (b, h, l)>

// NaN where all are.
func.func private @largest_of(%lse: !row, %max: !row, %sink: !row, %first: !row) -> !q {
  %e = tensor.empty() : !q
  %r = linalg.generic {indexing_maps = [#row, #row, #row, #row, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%lse, %max, %sink, %first : !row, !row, !row, !row) outs(%e : !q) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %old: f32):
    %ab = arith.maxnumf %a, %b : f32
    %cd = arith.maxnumf %c, %d : f32
    %m = arith.maxnumf %ab, %cd : f32
    linalg.yield %m : f32
  } -> !q
  return %r : !q
}

func.func @nan_score(%q: !q) -> (!q {heddle.name = "nan"}) {
  %sinks = arith.constant dense<1.0> : tensor<2xf32>
  %o, %lse, %max, %sink, %first = attn.attention %q, %q, %q sinks(%sinks : tensor<2xf32>) {causal, return_lse, return_max, return_sink_mass, return_first_key_mass}
      : (!q, !q, !q) -> (!q, !row, !row, !row, !row)
      score(%s, %b, %h, %p, %j) {
    %nan = arith.constant 0x7FC00000 : f32
    %five = arith.constant 5 : index
    %is = arith.cmpi eq, %j, %five : index
    %t = arith.select %is, %nan, %s : f32
    attn.yield %t : f32
  }
  %statistics = func.call @largest_of(%lse, %max, %sink, %first) : (!row, !row, !row, !row) -> !q
  %r = func.call @where_nan(%statistics) : (!q) -> !q
  return %r : !q
}

func.func @nan_query(%q: !q, %k: !q) -> (!q {heddle.name = "nan"}) {
  %nan = arith.constant 0x7FC00000 : f32
  %e = tensor.empty() : !q
  %nans = linalg.fill ins(%nan : f32) outs(%e : !q) -> !q
  %sinks = arith.constant dense<1.0> : tensor<2xf32>
  %o, %lse, %max, %sink, %first = attn.attention %nans, %k, %k sinks(%sinks : tensor<2xf32>) {return_lse, return_max, return_sink_mass, return_first_key_mass}
      : (!q, !q, !q) -> (!q, !row, !row, !row, !row)
  %statistics = func.call @largest_of(%lse, %max, %sink, %first) : (!row, !row, !row, !row) -> !q
  %r = func.call @where_nan(%statistics) : (!q) -> !q
  return %r : !q
}

func.func @hidden_key(%q: !q) -> (!q {heddle.name = "nan"}) {
  %nan = arith.constant 0x7FC00000 : f32
  %k = func.call @with_row(%q, %nan) : (!q, f32) -> !q
  %mask = func.call @mask_of(%q) : (!q) -> tensor<1x1x1x70xi1>
  %o = attn.attention %q, %k, %q mask(%mask : tensor<1x1x1x70xi1>) : (!q, !q, !q) -> !q
  %r = func.call @where_nan(%o) : (!q) -> !q
  return %r : !q
}

// q is `large` in dimension 0, which key 3 alone has too, negated.
func.func private @overflow_by(%x: !q, %large: f32) -> !q {
  %e = tensor.empty() : !q
  %q = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : !q) outs(%e : !q) {
  ^bb0(%a: f32, %old: f32):
    %zero = arith.constant 0 : index
    %d = linalg.index 3 : index
    %is = arith.cmpi eq, %d, %zero : index
    %b = arith.select %is, %large, %a : f32
    linalg.yield %b : f32
  } -> !q
  %k = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : !q) outs(%e : !q) {
  ^bb0(%a: f32, %old: f32):
    %zero = arith.constant 0 : index
    %three = arith.constant 3 : index
    %none = arith.constant 0.0 : f32
    %i = linalg.index 1 : index
    %d = linalg.index 3 : index
    %isFirst = arith.cmpi eq, %d, %zero : index
    %isKey = arith.cmpi eq, %i, %three : index
    %negated = arith.negf %large : f32
    %first = arith.select %isKey, %negated, %none : f32
    %b = arith.select %isFirst, %first, %a : f32
    linalg.yield %b : f32
  } -> !q
  %o = attn.attention %q, %k, %x : (!q, !q, !q) -> !q
  %r = func.call @where_nan(%o) : (!q) -> !q
  return %r : !q
}

// (2 - 2^-11) 2^83: as tf32 it is 2^84, and what is missing is negative.
func.func @overflow(%q: !q) -> (!q {heddle.name = "nan"}) {
  %large = arith.constant 0x697FF000 : f32
  %r = func.call @overflow_by(%q, %large) : (!q, f32) -> !q
  return %r : !q
}

// The same times 2^-16.
func.func @small_overflow(%q: !q) -> (!q {heddle.name = "nan"}) {
  %large = arith.constant 0x617FF000 : f32
  %r = func.call @overflow_by(%q, %large) : (!q, f32) -> !q
  return %r : !q
}

func.func @ones(%q: !q) -> (!q {heddle.name = "nan"}) {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : !q
  %r = linalg.fill ins(%one : f32) outs(%e : !q) -> !q
  return %r : !q
}

func.func @zeros(%q: !q) -> (!q {heddle.name = "nan"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : !q
  %r = linalg.fill ins(%zero : f32) outs(%e : !q) -> !q
  return %r : !q
}
