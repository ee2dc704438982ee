// Operations of tile kernels against the same computation on tensors. 37 columns are two vectors and a tail.
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s -o %t/m.so
// RUN: heddle-run %t/m.so --entry softmax --random 1 --dim M=23 --dim N=37 --output y=%t/softmax.npy
// RUN: heddle-run %t/m.so --entry softmax_tiles --random 1 --dim M=23 --dim N=37 --verify y=%t/softmax.npy --rtol 1e-6
// RUN: heddle-run %t/m.so --entry softmax_columns --random 1 --dim M=23 --dim N=37 --verify y=%t/softmax.npy --rtol 1e-6
// RUN: heddle-run %t/m.so --entry softmax --random 2 --dim M=1 --dim N=1 --output y=%t/one.npy
// RUN: heddle-run %t/m.so --entry softmax_tiles --random 2 --dim M=1 --dim N=1 --verify y=%t/one.npy --rtol 1e-6
// RUN: heddle-run %t/m.so --entry shapes --random 3 --dim M=5 --output y=%t/shapes.npy
// RUN: heddle-run %t/m.so --entry shapes_tiles --random 3 --dim M=5 --verify y=%t/shapes.npy --rtol 0

!matrix = memref<?x?xf32, strided<[?, 1], offset: ?>>
#row = affine_map<(m, n) -> (m)>
#all = affine_map<(m, n) -> (m, n)>

func.func @softmax(%x: tensor<?x?xf32> {heddle.name = "x", heddle.dims = ["M", "N"]}) -> (tensor<?x?xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %none = tensor.empty(%m) : tensor<?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<?xf32>) -> tensor<?xf32>
  %sums = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%zeros : tensor<?xf32>) {
  ^bb0(%a: f32, %s: f32):
    %e = math.exp %a : f32
    %t = arith.addf %s, %e : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %sums : tensor<?x?xf32>, tensor<?xf32>) outs(%empty : tensor<?x?xf32>) {
  ^bb0(%a: f32, %s: f32, %old: f32):
    %e = math.exp %a : f32
    %t = arith.divf %e, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// Rows of at most 150 elements: more than fits a row of unrolled vectors, and padded with -inf.
tile.kernel @softmax_kernel(%x: !matrix, %y: !matrix) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %pad = arith.constant 0xFF800000 : f32
  %block = tile.program_id x
  %row = arith.muli %block, %c7 : index
  %from = tile.view %x[:, :] : !matrix -> !tile.view<?x?xf32>
  %to = tile.view %y[:, :] : !matrix -> !tile.view<?x?xf32>
  %t = tile.load %from[%row, %c0] pad(%pad) : !tile.view<?x?xf32> -> tensor<7x150xf32>
  %max = tile.reduce max %t along 1 : tensor<7x150xf32> -> tensor<7xf32>
  %maxima = tile.broadcast %max along 1 : tensor<7xf32> -> tensor<7x150xf32>
  %centered = arith.subf %t, %maxima : tensor<7x150xf32>
  %e = math.exp %centered : tensor<7x150xf32>
  %sum = tile.reduce add %e along 1 : tensor<7x150xf32> -> tensor<7xf32>
  %sums = tile.broadcast %sum along 1 : tensor<7xf32> -> tensor<7x150xf32>
  %q = arith.divf %e, %sums : tensor<7x150xf32>
  tile.store %q, %to[%row, %c0] : tensor<7x150xf32>, !tile.view<?x?xf32>
  tile.return
}
func.func @softmax_tiles(%x: tensor<?x?xf32> {heddle.name = "x", heddle.dims = ["M", "N"]}) -> (tensor<?x?xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %blocks = arith.ceildivui %m, %c7 : index
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = tile.dispatch @softmax_kernel grid(%blocks, %c1, %c1) ins(%x : tensor<?x?xf32>) outs(%empty : tensor<?x?xf32>)
  return %y : tensor<?x?xf32>
}

// The same on transposed tiles, from a tile that starts before the matrix: reductions along 0.
tile.kernel @softmax_columns_kernel(%x: !matrix, %y: !matrix) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %before = arith.constant -5 : index
  %pad = arith.constant 0xFF800000 : f32
  %zero = arith.constant dense<0.0> : tensor<40xf32>
  %row = tile.program_id x
  %from = tile.view %x[:, :] : !matrix -> !tile.view<?x?xf32>
  %to = tile.view %y[%row, :] : !matrix -> !tile.view<?xf32>
  %first = arith.subi %row, %c3 : index
  %t = tile.load %from[%first, %before] pad(%pad) : !tile.view<?x?xf32> -> tensor<4x45xf32>
  %own = tile.slice %t[3, 5] : tensor<4x45xf32> -> tensor<1x40xf32>
  %columns = tile.transpose %own : tensor<1x40xf32> -> tensor<40x1xf32>
  %max = tile.reduce max %columns along 0 : tensor<40x1xf32> -> tensor<1xf32>
  %maxima = tile.broadcast %max along 0 : tensor<1xf32> -> tensor<40x1xf32>
  %centered = arith.subf %columns, %maxima : tensor<40x1xf32>
  %e = math.exp %centered : tensor<40x1xf32>
  %sum = tile.reduce add %e along 0 : tensor<40x1xf32> -> tensor<1xf32>
  %sums = tile.broadcast %sum along 0 : tensor<1xf32> -> tensor<40x1xf32>
  %q = arith.divf %e, %sums : tensor<40x1xf32>
  %rows = tile.transpose %q : tensor<40x1xf32> -> tensor<1x40xf32>
  %result = tile.reduce add %rows along 0 : tensor<1x40xf32> -> tensor<40xf32>
  // The total is 1, here a scalar.
  %total = tile.reduce add %result along 0 : tensor<40xf32> -> tensor<f32>
  %one = tensor.extract %total[] : tensor<f32>
  %ones = tensor.splat %one : tensor<40xf32>
  %scaled = arith.divf %result, %ones : tensor<40xf32>
  tile.store %scaled, %to[%c0] : tensor<40xf32>, !tile.view<?xf32>
  tile.return
}
func.func @softmax_columns(%x: tensor<?x?xf32> {heddle.name = "x", heddle.dims = ["M", "N"]}) -> (tensor<?x?xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = tile.dispatch @softmax_columns_kernel grid(%m, %c1, %c1) ins(%x : tensor<?x?xf32>) outs(%empty : tensor<?x?xf32>)
  return %y : tensor<?x?xf32>
}

// The columns turned by 20, and zeros where (i + j) mod 3 is 2.
func.func @shapes(%x: tensor<?x37xf32> {heddle.name = "x", heddle.dims = ["M", ""]}) -> (tensor<?x37xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x37xf32>
  %empty = tensor.empty(%m) : tensor<?x37xf32>
  %y = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]} outs(%empty : tensor<?x37xf32>) {
  ^bb0(%old: f32):
    %c2 = arith.constant 2 : index
    %c17 = arith.constant 17 : index
    %c20 = arith.constant 20 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0.0 : f32
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %isLeft = arith.cmpi ult, %j, %c17 : index
    %left = arith.addi %j, %c20 : index
    %right = arith.subi %j, %c17 : index
    %from = arith.select %isLeft, %left, %right : index
    %value = tensor.extract %x[%i, %from] : tensor<?x37xf32>
    %sum = arith.addi %i, %j : index
    %rest = arith.remui %sum, %c3 : index
    %keep = arith.cmpi ne, %rest, %c2 : index
    %y = arith.select %keep, %value, %zero : f32
    linalg.yield %y : f32
  } -> tensor<?x37xf32>
  return %y : tensor<?x37xf32>
}
tile.kernel @shapes_kernel(%x: !matrix, %y: !matrix) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<3x37xf32>
  %threes = arith.constant dense<3> : tensor<3x37xi32>
  %twos = arith.constant dense<2> : tensor<3x37xi32>
  %block = tile.program_id x
  %row = arith.muli %block, %c3 : index
  %from = tile.view %x[:, :] : !matrix -> !tile.view<?x?xf32>
  %to = tile.view %y[:, :] : !matrix -> !tile.view<?x?xf32>
  %t = tile.load %from[%row, %c0] pad(%zero) : !tile.view<?x?xf32> -> tensor<3x37xf32>
  %first = tile.slice %t[0, 20] : tensor<3x37xf32> -> tensor<3x17xf32>
  %last = tile.slice %t[0, 0] : tensor<3x37xf32> -> tensor<3x20xf32>
  %moved = tile.concat %first, %last along 1 : tensor<3x17xf32>, tensor<3x20xf32> -> tensor<3x37xf32>
  %rows = tile.iota along 0 start(%row) : tensor<3x37xi32>
  %columns = tile.iota along 1 : tensor<3x37xi32>
  %sum = arith.addi %rows, %columns : tensor<3x37xi32>
  %rest = arith.remui %sum, %threes : tensor<3x37xi32>
  %keep = arith.cmpi ne, %rest, %twos : tensor<3x37xi32>
  // A mask that is needed twice has a buffer; the two values of the loop change places three times.
  %not = arith.constant dense<true> : tensor<3x37xi1>
  %drop = arith.xori %keep, %not : tensor<3x37xi1>
  %a = arith.select %drop, %zeros, %moved : tensor<3x37xi1>, tensor<3x37xf32>
  %b = arith.select %keep, %moved, %zeros : tensor<3x37xi1>, tensor<3x37xf32>
  %swapped:3 = scf.for %n = %c0 to %c3 step %c1 iter_args(%p = %zeros, %q = %b, %count = %c0) -> (tensor<3x37xf32>, tensor<3x37xf32>, index) {
    %next = arith.addi %count, %c1 : index
    scf.yield %q, %p, %next : tensor<3x37xf32>, tensor<3x37xf32>, index
  }
  %odd = arith.cmpi eq, %swapped#2, %c3 : index
  %chosen = scf.if %odd -> (tensor<3x37xf32>) {
    %both = arith.maximumf %swapped#0, %a : tensor<3x37xf32>
    %least = arith.minimumf %swapped#0, %a : tensor<3x37xf32>
    %twice = arith.addf %both, %least : tensor<3x37xf32>
    %halves = arith.constant dense<0.5> : tensor<3x37xf32>
    %mean = arith.mulf %twice, %halves : tensor<3x37xf32>
    %withZeros = arith.addf %mean, %swapped#1 : tensor<3x37xf32>
    scf.yield %withZeros : tensor<3x37xf32>
  } else {
    scf.yield %zeros : tensor<3x37xf32>
  }
  tile.store %chosen, %to[%row, %c0] : tensor<3x37xf32>, !tile.view<?x?xf32>
  tile.return
}
func.func @shapes_tiles(%x: tensor<?x37xf32> {heddle.name = "x", heddle.dims = ["M", ""]}) -> (tensor<?x37xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = tensor.dim %x, %c0 : tensor<?x37xf32>
  %blocks = arith.ceildivui %m, %c3 : index
  %empty = tensor.empty(%m) : tensor<?x37xf32>
  %y = tile.dispatch @shapes_kernel grid(%blocks, %c1, %c1) ins(%x : tensor<?x37xf32>) outs(%empty : tensor<?x37xf32>)
  return %y : tensor<?x37xf32>
}
