// Operations that no kernel is formed of on tensors: copies, fills, reductions, gathers, and elementwise work on any type, as tile kernels on
// the CPU and in the simulator, against loops over elements.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --kernels=reference -o %t/reference.so
// RUN: heddle-compile %s --kernels=tile-all --target=cpu,sim-sm_80 -o %t/m.so
// DEFINE: %{entry} =
// DEFINE: %{dims} =
// DEFINE: %{limit} = 0
// DEFINE: %{third} =
// DEFINE: %{verified} =
// DEFINE: %{check} = heddle-run %t/reference.so --entry %{entry} --random 8 %{dims} --output o=%t/o.npy --output p=%t/p.npy %{third} && \
// DEFINE:   heddle-run %t/m.so --entry %{entry} --random 8 %{dims} --target=cpu --verify o=%t/o.npy --verify p=%t/p.npy %{verified} --rtol %{limit} && \
// DEFINE:   heddle-run %t/m.so --entry %{entry} --random 8 %{dims} --target=sim-sm_80 --sim-check --verify o=%t/o.npy --verify p=%t/p.npy %{verified} --rtol %{limit}

// Slices of one tensor put into another; the rest is filled.
// REDEFINE: %{entry} = slices
// REDEFINE: %{dims} = --dim M=5 --dim N=37 --dim R=10 --dim C=39
// RUN: %{check}
// REDEFINE: %{dims} = --dim M=70 --dim N=300 --dim R=140 --dim C=302
// RUN: %{check}
// REDEFINE: %{dims} = --dim M=1 --dim N=1 --dim R=2 --dim C=3
// RUN: %{check}

// REDEFINE: %{entry} = concat
// REDEFINE: %{dims} = --dim B=2 --dim L=19 --dim S=33 --dim T=52
// RUN: %{check}

// Transpositions of rank 2 and 4.
// REDEFINE: %{entry} = transposes
// REDEFINE: %{dims} = --dim B=2 --dim L=45 --dim S=70
// RUN: %{check}

// REDEFINE: %{third} = --output q=%t/q.npy
// REDEFINE: %{verified} = --verify q=%t/q.npy
// REDEFINE: %{entry} = integers
// REDEFINE: %{dims} = --dim M=9 --dim N=131 --dim W=132
// RUN: %{check}

// Sums in another order.
// REDEFINE: %{limit} = 1e-6
// REDEFINE: %{entry} = reductions
// REDEFINE: %{dims} = --dim M=23 --dim N=77 --dim K=9
// RUN: %{check}
// REDEFINE: %{dims} = --dim M=1 --dim N=600 --dim K=3
// RUN: %{check}

// REDEFINE: %{entry} = gathers
// REDEFINE: %{dims} = --dim L=21 --dim T=19
// RUN: %{check}

// REDEFINE: %{third} =
// REDEFINE: %{verified} =
// REDEFINE: %{entry} = scalars
// REDEFINE: %{dims} = --dim N=300
// RUN: %{check}

// REDEFINE: %{entry} = wide
// REDEFINE: %{dims} = --dim B=3 --dim L=20 --dim S=18
// RUN: %{check}

func.func @slices(%x: tensor<?x?xf32> {heddle.name = "x", heddle.dims = ["M", "N"]}, %n: tensor<?x?xf16> {heddle.name = "n", heddle.dims = ["M", "N"]},
                  %like: tensor<?x?xi8> {heddle.name = "like", heddle.dims = ["R", "C"]})
    -> (tensor<?x?xf32> {heddle.name = "o"}, tensor<?x?xf16> {heddle.name = "p"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %k = tensor.dim %x, %c1 : tensor<?x?xf32>
  %rows = tensor.dim %like, %c0 : tensor<?x?xi8>
  %columns = tensor.dim %like, %c1 : tensor<?x?xi8>
  %seven = arith.constant 7.0 : f32
  %e = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %f = linalg.fill ins(%seven : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  // Every second row, and columns from 1 on.
  %o = tensor.insert_slice %x into %f[0, 1] [%m, %k] [2, 1] : tensor<?x?xf32> into tensor<?x?xf32>
  %half = arith.constant -0.5 : f16
  %g = tensor.empty(%rows, %columns) : tensor<?x?xf16>
  %h = linalg.fill ins(%half : f16) outs(%g : tensor<?x?xf16>) -> tensor<?x?xf16>
  %p = tensor.insert_slice %n into %h[%m, 2] [%m, %k] [1, 1] : tensor<?x?xf16> into tensor<?x?xf16>
  return %o, %p : tensor<?x?xf32>, tensor<?x?xf16>
}

func.func @concat(%x: tensor<?x?x3x8xf32> {heddle.name = "x", heddle.dims = ["B", "L", "", ""]}, %y: tensor<?x?x3x8xf32> {heddle.name = "y", heddle.dims = ["B", "S", "", ""]},
                  %like: tensor<?xi8> {heddle.name = "like", heddle.dims = ["T"]})
    -> (tensor<?x?x3x8xf32> {heddle.name = "o"}, tensor<?x?x3x4xf32> {heddle.name = "p"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x3x8xf32>
  %l = tensor.dim %x, %c1 : tensor<?x?x3x8xf32>
  %s = tensor.dim %y, %c1 : tensor<?x?x3x8xf32>
  %n = tensor.dim %like, %c0 : tensor<?xi8>
  %e = tensor.empty(%b, %n) : tensor<?x?x3x8xf32>
  %t = tensor.insert_slice %x into %e[0, 0, 0, 0] [%b, %l, 3, 8] [1, 1, 1, 1] : tensor<?x?x3x8xf32> into tensor<?x?x3x8xf32>
  %o = tensor.insert_slice %y into %t[0, %l, 0, 0] [%b, %s, 3, 8] [1, 1, 1, 1] : tensor<?x?x3x8xf32> into tensor<?x?x3x8xf32>
  // Every second column, which no view with unit strides is.
  %p = tensor.extract_slice %y[0, 0, 0, 1] [%b, %s, 3, 4] [1, 1, 1, 2] : tensor<?x?x3x8xf32> to tensor<?x?x3x4xf32>
  return %o, %p : tensor<?x?x3x8xf32>, tensor<?x?x3x4xf32>
}

func.func @transposes(%x: tensor<?x?x3x8xbf16> {heddle.name = "x", heddle.dims = ["B", "L", "", ""]}, %y: tensor<?x?xf32> {heddle.name = "y", heddle.dims = ["L", "S"]})
    -> (tensor<?x8x3x?xbf16> {heddle.name = "q"}, tensor<?x?xf32> {heddle.name = "o"}, tensor<?x8x3x?xf32> {heddle.name = "p"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x3x8xbf16>
  %l = tensor.dim %x, %c1 : tensor<?x?x3x8xbf16>
  %s = tensor.dim %y, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%b, %l) : tensor<?x8x3x?xbf16>
  %q = linalg.transpose ins(%x : tensor<?x?x3x8xbf16>) outs(%e : tensor<?x8x3x?xbf16>) permutation = [0, 3, 2, 1]
  %f = tensor.empty(%s, %l) : tensor<?x?xf32>
  %o = linalg.transpose ins(%y : tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) permutation = [1, 0]
  %p = arith.extf %q : tensor<?x8x3x?xbf16> to tensor<?x8x3x?xf32>
  return %q, %o, %p : tensor<?x8x3x?xbf16>, tensor<?x?xf32>, tensor<?x8x3x?xf32>
}

#all = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
// i1, i8, i32 and i64; a mask of a triangle in a slice of a larger one.
func.func @integers(%x: tensor<?x?xi8> {heddle.name = "x", heddle.dims = ["M", "N"]}, %like: tensor<?xi8> {heddle.name = "like", heddle.dims = ["W"]})
    -> (tensor<?x?xi64> {heddle.name = "o"}, tensor<?x?xi32> {heddle.name = "p"}, tensor<?x?xi1> {heddle.name = "q"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xi8>
  %n = tensor.dim %x, %c1 : tensor<?x?xi8>
  %wide = tensor.dim %like, %c0 : tensor<?xi8>
  %e1 = tensor.empty(%m, %n) : tensor<?x?xi1>
  %triangle = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]} outs(%e1 : tensor<?x?xi1>) {
  ^bb0(%old: i1):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %r = arith.cmpi sle, %j, %i : index
    linalg.yield %r : i1
  } -> tensor<?x?xi1>
  %true = arith.constant true
  %e = tensor.empty(%m, %wide) : tensor<?x?xi1>
  %f = linalg.fill ins(%true : i1) outs(%e : tensor<?x?xi1>) -> tensor<?x?xi1>
  %q = tensor.insert_slice %triangle into %f[0, 1] [%m, %n] [1, 1] : tensor<?x?xi1> into tensor<?x?xi1>
  %e64 = tensor.empty(%m, %n) : tensor<?x?xi64>
  %o = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %triangle : tensor<?x?xi8>, tensor<?x?xi1>) outs(%e64 : tensor<?x?xi64>) {
  ^bb0(%a: i8, %t: i1, %old: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %j : index
    %l = arith.index_cast %k : index to i64
    %big = arith.constant 10000000000 : i64
    %u = arith.addi %l, %big : i64
    %b = arith.extsi %a : i8 to i64
    %v = arith.addi %u, %b : i64
    %r = arith.select %t, %v, %b : i64
    linalg.yield %r : i64
  } -> tensor<?x?xi64>
  %e32 = tensor.empty(%m, %wide) : tensor<?x?xi32>
  %five = arith.constant 5 : i32
  %f32 = linalg.fill ins(%five : i32) outs(%e32 : tensor<?x?xi32>) -> tensor<?x?xi32>
  %e32b = tensor.empty(%m, %n) : tensor<?x?xi32>
  %low = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%o : tensor<?x?xi64>) outs(%e32b : tensor<?x?xi32>) {
  ^bb0(%a: i64, %old: i32):
    %r = arith.trunci %a : i64 to i32
    linalg.yield %r : i32
  } -> tensor<?x?xi32>
  %p = tensor.insert_slice %low into %f32[0, 0] [%m, %n] [1, 1] : tensor<?x?xi32> into tensor<?x?xi32>
  return %o, %p, %q : tensor<?x?xi64>, tensor<?x?xi32>, tensor<?x?xi1>
}

#in3 = affine_map<(m, n, k) -> (m, n, k)>
#mid = affine_map<(m, n, k) -> (m, k)>
// The largest element of a middle dimension and where it is; sums of the last one.
func.func @reductions(%x: tensor<?x?x?xf32> {heddle.name = "x", heddle.dims = ["M", "N", "K"]}) -> (tensor<?x?xf32> {heddle.name = "o"}, tensor<?x?xi32> {heddle.name = "p"}, tensor<?x?xf32> {heddle.name = "q"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = tensor.dim %x, %c0 : tensor<?x?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?x?xf32>
  %k = tensor.dim %x, %c2 : tensor<?x?x?xf32>
  %lowest = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i32
  %e = tensor.empty(%m, %k) : tensor<?x?xf32>
  %f = linalg.fill ins(%lowest : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %g = tensor.empty(%m, %k) : tensor<?x?xi32>
  %h = linalg.fill ins(%none : i32) outs(%g : tensor<?x?xi32>) -> tensor<?x?xi32>
  %o, %p = linalg.generic {indexing_maps = [#in3, #mid, #mid], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<?x?x?xf32>) outs(%f, %h : tensor<?x?xf32>, tensor<?x?xi32>) {
  ^bb0(%a: f32, %best: f32, %place: i32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %more = arith.cmpf ogt, %a, %best : f32
    %b = arith.select %more, %a, %best : f32
    %q = arith.select %more, %j, %place : i32
    linalg.yield %b, %q : f32, i32
  } -> (tensor<?x?xf32>, tensor<?x?xi32>)
  %zero = arith.constant 0.0 : f32
  %e2 = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %q = linalg.reduce ins(%x : tensor<?x?x?xf32>) outs(%f2 : tensor<?x?xf32>) dimensions = [2]
    (%a: f32, %s: f32) {
      %t = arith.addf %a, %s : f32
      linalg.yield %t : f32
    }
  return %o, %p, %q : tensor<?x?xf32>, tensor<?x?xi32>, tensor<?x?xf32>
}

#vector = affine_map<(n) -> (n)>
#none = affine_map<(n) -> ()>
// Tensors of rank 0.
func.func @scalars(%x: tensor<?xf32> {heddle.name = "x", heddle.dims = ["N"]}) -> (tensor<?xf32> {heddle.name = "o"}, tensor<f32> {heddle.name = "p"}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %squares = linalg.generic {indexing_maps = [#vector, #none], iterator_types = ["reduction"]} ins(%x : tensor<?xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %s: f32):
    %b = arith.mulf %a, %a : f32
    %t = arith.addf %s, %b : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  %g = tensor.empty() : tensor<f32>
  %p = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%squares : tensor<f32>) outs(%g : tensor<f32>) {
  ^bb0(%a: f32, %old: f32):
    %r = math.sqrt %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %h = tensor.empty(%n) : tensor<?xf32>
  %o = linalg.generic {indexing_maps = [#vector, #none, #vector], iterator_types = ["parallel"]} ins(%x, %p : tensor<?xf32>, tensor<f32>) outs(%h : tensor<?xf32>) {
  ^bb0(%a: f32, %s: f32, %old: f32):
    %r = arith.divf %a, %s : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %o, %p : tensor<?xf32>, tensor<f32>
}

#window = affine_map<(i, j) -> (i + j)>
// Rows by computed numbers; neighbours of each element; a diagonal.
func.func @gathers(%table: tensor<?x?xf32> {heddle.name = "table", heddle.dims = ["V", "N"]}, %x: tensor<?xf32> {heddle.name = "x", heddle.dims = ["L"]}, %like: tensor<?xi8> {heddle.name = "like", heddle.dims = ["T"]})
    -> (tensor<?x?xf32> {heddle.name = "o"}, tensor<?xf32> {heddle.name = "p"}, tensor<37xf32> {heddle.name = "q"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tensor.dim %table, %c0 : tensor<?x?xf32>
  %n = tensor.dim %table, %c1 : tensor<?x?xf32>
  %l = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%l, %n) : tensor<?x?xf32>
  %o = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x?xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %seven = arith.constant 7 : index
    %k = arith.muli %i, %seven : index
    %row = arith.remui %k, %v : index
    %m = arith.addi %i, %j : index
    %column = arith.remui %m, %n : index
    %r = tensor.extract %table[%row, %column] : tensor<?x?xf32>
    linalg.yield %r : f32
  } -> tensor<?x?xf32>
  %three = tensor.empty() : tensor<3xf32>
  %short = tensor.dim %like, %c0 : tensor<?xi8>
  %zero = arith.constant 0.0 : f32
  %g = tensor.empty(%short) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%g : tensor<?xf32>) -> tensor<?xf32>
  %p = linalg.generic {indexing_maps = [#window, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %three : tensor<?xf32>, tensor<3xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %unused: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %d0 = tensor.empty() : tensor<37xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%table : tensor<?x?xf32>) outs(%d0 : tensor<37xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  } -> tensor<37xf32>
  return %o, %p, %d : tensor<?x?xf32>, tensor<?xf32>, tensor<37xf32>
}

// Products of matrices in f64, one for each sequence; rows in the reverse order.
func.func @wide(%x: tensor<?x?x40xf64> {heddle.name = "x", heddle.dims = ["B", "L", ""]}, %y: tensor<?x40x?xf64> {heddle.name = "y", heddle.dims = ["B", "", "S"]}) -> (tensor<?x?x?xf64> {heddle.name = "o"}, tensor<?x?x?xf64> {heddle.name = "p"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x40xf64>
  %l = tensor.dim %x, %c1 : tensor<?x?x40xf64>
  %s = tensor.dim %y, %c2 : tensor<?x40x?xf64>
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty(%b, %l, %s) : tensor<?x?x?xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<?x?x?xf64>) -> tensor<?x?x?xf64>
  %o = linalg.batch_matmul ins(%x, %y : tensor<?x?x40xf64>, tensor<?x40x?xf64>) outs(%f : tensor<?x?x?xf64>) -> tensor<?x?x?xf64>
  %last = arith.subi %l, %c1 : index
  %g = tensor.empty(%b, %l, %s) : tensor<?x?x?xf64>
  %p = linalg.generic {indexing_maps = [affine_map<(b, l, s) -> (b, l, s)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%g : tensor<?x?x?xf64>) {
  ^bb0(%old: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %r = arith.subi %last, %j : index
    %v = tensor.extract %o[%i, %r, %k] : tensor<?x?x?xf64>
    linalg.yield %v : f64
  } -> tensor<?x?x?xf64>
  return %o, %p : tensor<?x?x?xf64>, tensor<?x?x?xf64>
}
