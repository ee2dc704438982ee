// Element types, views without contiguous columns, tables, scans and triangular systems in tile kernels, against the same on tensors.
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s -o %t/m.so
// RUN: heddle-run %t/m.so --entry copy --random 1 --output y=%t/copy.npy --output f=%t/f.npy
// RUN: heddle-run %t/m.so --entry copy_tiles --random 1 --verify y=%t/copy.npy --verify f=%t/f.npy --rtol 0
// RUN: heddle-run %t/m.so --entry product --random 2 --output y=%t/product.npy
// RUN: heddle-run %t/m.so --entry product_tiles --random 2 --verify y=%t/product.npy --rtol 1e-6
// RUN: heddle-run %t/m.so --entry wide --random 3 --output y=%t/wide.npy
// RUN: heddle-run %t/m.so --entry wide_tiles --random 3 --verify y=%t/wide.npy --rtol 1e-12
// RUN: heddle-run %t/m.so --entry solve --random 4 --output y=%t/solve.npy
// RUN: heddle-run %t/m.so --entry solve_tiles --random 4 --verify y=%t/solve.npy --rtol 1e-5
// RUN: heddle-run %t/m.so --entry integers --random 5 --output y=%t/integers.npy
// RUN: heddle-run %t/m.so --entry integers_tiles --random 5 --verify y=%t/integers.npy --rtol 0

#any2 = strided<[?, 1], offset: ?>

// y[i, j] = x[3, 3, j, i], and f is column 2 of y.
func.func @copy(%x: tensor<5x4x9x7xf32> {heddle.name = "x"}) -> (tensor<7x9xf32> {heddle.name = "y"}, tensor<7xf32> {heddle.name = "f"}) {
  %empty = tensor.empty() : tensor<7x9xf32>
  %slice = tensor.extract_slice %x[3, 3, 0, 0] [1, 1, 9, 7] [1, 1, 1, 1] : tensor<5x4x9x7xf32> to tensor<9x7xf32>
  %y = linalg.transpose ins(%slice : tensor<9x7xf32>) outs(%empty : tensor<7x9xf32>) permutation = [1, 0]
  %none = tensor.empty() : tensor<7xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%none : tensor<7xf32>) {
  ^bb0(%old: f32):
    %c2 = arith.constant 2 : index
    %i = linalg.index 0 : index
    %e = tensor.extract %y[%i, %c2] : tensor<7x9xf32>
    linalg.yield %e : f32
  } -> tensor<7xf32>
  return %y, %f : tensor<7x9xf32>, tensor<7xf32>
}
tile.kernel @copy_kernel(%x: memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>, %t: memref<?xi64, strided<[1], offset: ?>>,
                         %y: memref<?x?xf32, #any2>, %f: memref<?xf32, strided<[1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %matrix = tile.view %x[%c3, %c3, :, :] : memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>> -> !tile.view<?x?xf32>
  %tile = tile.load %matrix[%c0, %c0] pad(%zero) : !tile.view<?x?xf32> -> tensor<10x8xf32>
  %turned = tile.transpose %tile : tensor<10x8xf32> -> tensor<8x10xf32>
  // The first row again, along a dimension with gaps.
  %column = tile.view %x[%c3, %c3, :, %c0] : memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>> -> !tile.view<?xf32>
  %row = tile.load %column[%c0] pad(%zero) : !tile.view<?xf32> -> tensor<10xf32>
  %rows = tile.broadcast %row along 0 : tensor<10xf32> -> tensor<8x10xf32>
  %number = tile.iota along 0 : tensor<8x10xi32>
  %none = arith.constant dense<0> : tensor<8x10xi32>
  %isFirst = arith.cmpi eq, %number, %none : tensor<8x10xi32>
  %result = arith.select %isFirst, %rows, %turned : tensor<8x10xi1>, tensor<8x10xf32>
  // The table lists the rows 0 to 6; a negative entry is dropped.
  %target = tile.gather_view %y[table %t, :] : memref<?x?xf32, #any2>, memref<?xi64, strided<[1], offset: ?>> -> !tile.view<?x?xf32>
  tile.store %result, %target[%c0, %c0] : tensor<8x10xf32>, !tile.view<?x?xf32>
  // Elements of a column, through the table; the view of rank 1 has no columns.
  %elements = tile.gather_view %y[table %t, %c2] : memref<?x?xf32, #any2>, memref<?xi64, strided<[1], offset: ?>> -> !tile.view<?xf32>
  %read = tile.load %elements[%c0] pad(%zero) : !tile.view<?xf32> -> tensor<9xf32>
  %out = tile.view %f[:] : memref<?xf32, strided<[1], offset: ?>> -> !tile.view<?xf32>
  tile.store %read, %out[%c0] : tensor<9xf32>, !tile.view<?xf32>
  tile.return
}
func.func @copy_tiles(%x: tensor<5x4x9x7xf32> {heddle.name = "x"}) -> (tensor<7x9xf32> {heddle.name = "y"}, tensor<7xf32> {heddle.name = "f"}) {
  %c1 = arith.constant 1 : index
  %t = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, -1]> : tensor<8xi64>
  %y0 = tensor.empty() : tensor<7x9xf32>
  %f0 = tensor.empty() : tensor<7xf32>
  %y, %f = tile.dispatch @copy_kernel grid(%c1, %c1, %c1) ins(%x, %t : tensor<5x4x9x7xf32>, tensor<8xi64>) outs(%y0, %f0 : tensor<7x9xf32>, tensor<7xf32>)
  return %y, %f : tensor<7x9xf32>, tensor<7xf32>
}

// bf16 operands, few rows: read from memory without a buffer.
func.func @product(%x: tensor<3x70xbf16> {heddle.name = "x"}, %w: tensor<70x70xbf16> {heddle.name = "w"}) -> (tensor<3x70xf32> {heddle.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x70xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x70xf32>) -> tensor<3x70xf32>
  %a = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<3x70xbf16>, tensor<70x70xbf16>) outs(%init : tensor<3x70xf32>) -> tensor<3x70xf32>
  %b = linalg.matmul ins(%x, %w : tensor<3x70xbf16>, tensor<70x70xbf16>) outs(%a : tensor<3x70xf32>) -> tensor<3x70xf32>
  return %b : tensor<3x70xf32>
}
tile.kernel @product_kernel(%x: memref<?x?xbf16, #any2>, %w: memref<?x?xbf16, #any2>, %y: memref<?x?xf32, #any2>) {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<3x70xf32>
  %xView = tile.view %x[:, :] : memref<?x?xbf16, #any2> -> !tile.view<?x?xbf16>
  %wView = tile.view %w[:, :] : memref<?x?xbf16, #any2> -> !tile.view<?x?xbf16>
  %yView = tile.view %y[:, :] : memref<?x?xf32, #any2> -> !tile.view<?x?xf32>
  %a = tile.load %xView[%c0, %c0] : !tile.view<?x?xbf16> -> tensor<3x70xbf16>
  %wt = tile.load %wView[%c0, %c0] : !tile.view<?x?xbf16> -> tensor<70x70xbf16>
  %s = tile.dot %a, %wt, %zeros {transpose_b} : tensor<3x70xbf16>, tensor<70x70xbf16> -> tensor<3x70xf32>
  %wn = tile.load %wView[%c0, %c0] : !tile.view<?x?xbf16> -> tensor<70x70xbf16>
  %t = tile.dot %a, %wn, %s : tensor<3x70xbf16>, tensor<70x70xbf16> -> tensor<3x70xf32>
  tile.store %t, %yView[%c0, %c0] : tensor<3x70xf32>, !tile.view<?x?xf32>
  tile.return
}
func.func @product_tiles(%x: tensor<3x70xbf16> {heddle.name = "x"}, %w: tensor<70x70xbf16> {heddle.name = "w"}) -> (tensor<3x70xf32> {heddle.name = "y"}) {
  %c1 = arith.constant 1 : index
  %empty = tensor.empty() : tensor<3x70xf32>
  %y = tile.dispatch @product_kernel grid(%c1, %c1, %c1) ins(%x, %w : tensor<3x70xbf16>, tensor<70x70xbf16>) outs(%empty : tensor<3x70xf32>)
  return %y : tensor<3x70xf32>
}

// f64: x x^T + x, of 21 rows.
func.func @wide(%x: tensor<21x21xf64> {heddle.name = "x"}) -> (tensor<21x21xf64> {heddle.name = "y"}) {
  %y = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %x : tensor<21x21xf64>, tensor<21x21xf64>) outs(%x : tensor<21x21xf64>) -> tensor<21x21xf64>
  return %y : tensor<21x21xf64>
}
tile.kernel @wide_kernel(%x: memref<?x?xf64, #any2>, %y: memref<?x?xf64, #any2>) {
  %c0 = arith.constant 0 : index
  %xView = tile.view %x[:, :] : memref<?x?xf64, #any2> -> !tile.view<?x?xf64>
  %yView = tile.view %y[:, :] : memref<?x?xf64, #any2> -> !tile.view<?x?xf64>
  %a = tile.load %xView[%c0, %c0] : !tile.view<?x?xf64> -> tensor<21x21xf64>
  %s = tile.dot %a, %a, %a {transpose_b} : tensor<21x21xf64>, tensor<21x21xf64> -> tensor<21x21xf64>
  tile.store %s, %yView[%c0, %c0] : tensor<21x21xf64>, !tile.view<?x?xf64>
  tile.return
}
func.func @wide_tiles(%x: tensor<21x21xf64> {heddle.name = "x"}) -> (tensor<21x21xf64> {heddle.name = "y"}) {
  %c1 = arith.constant 1 : index
  %empty = tensor.empty() : tensor<21x21xf64>
  %y = tile.dispatch @wide_kernel grid(%c1, %c1, %c1) ins(%x : tensor<21x21xf64>) outs(%empty : tensor<21x21xf64>)
  return %y : tensor<21x21xf64>
}

// The solution of (I + L) x = b, where all elements of L below the diagonal are 0.1, plus 0.1 times the sums of the rows before: b again.
func.func @solve(%b: tensor<19x37xf32> {heddle.name = "b"}) -> (tensor<19x37xf32> {heddle.name = "y"}) {
  return %b : tensor<19x37xf32>
}
tile.kernel @solve_kernel(%b: memref<?x?xf32, #any2>, %y: memref<?x?xf32, #any2>) {
  %c0 = arith.constant 0 : index
  %bView = tile.view %b[:, :] : memref<?x?xf32, #any2> -> !tile.view<?x?xf32>
  %yView = tile.view %y[:, :] : memref<?x?xf32, #any2> -> !tile.view<?x?xf32>
  %a = arith.constant dense<0.1> : tensor<19x19xf32>
  %tenths = arith.constant dense<0.1> : tensor<19x37xf32>
  %right = tile.load %bView[%c0, %c0] : !tile.view<?x?xf32> -> tensor<19x37xf32>
  %x = tile.solve_triangular %a, %right : tensor<19x19xf32>, tensor<19x37xf32>
  %sums = tile.scan add exclusive %x along 0 : tensor<19x37xf32>
  %scaled = arith.mulf %sums, %tenths : tensor<19x37xf32>
  %back = arith.addf %x, %scaled : tensor<19x37xf32>
  tile.store %back, %yView[%c0, %c0] : tensor<19x37xf32>, !tile.view<?x?xf32>
  tile.return
}
func.func @solve_tiles(%b: tensor<19x37xf32> {heddle.name = "b"}) -> (tensor<19x37xf32> {heddle.name = "y"}) {
  %c1 = arith.constant 1 : index
  %empty = tensor.empty() : tensor<19x37xf32>
  %y = tile.dispatch @solve_kernel grid(%c1, %c1, %c1) ins(%b : tensor<19x37xf32>) outs(%empty : tensor<19x37xf32>)
  return %y : tensor<19x37xf32>
}

// y[i] = x[i] < 0 ? 3 + 7 i : i (i + 1) / 2.
func.func @integers(%x: tensor<21xf32> {heddle.name = "x"}) -> (tensor<21xi32> {heddle.name = "y"}) {
  %empty = tensor.empty() : tensor<21xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<21xf32>) outs(%empty : tensor<21xi32>) {
  ^bb0(%a: f32, %old: i32):
    %zero = arith.constant 0.0 : f32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %c7 = arith.constant 7 : i32
    %index = linalg.index 0 : index
    %i = arith.index_cast %index : index to i32
    %isNegative = arith.cmpf olt, %a, %zero : f32
    %seven = arith.muli %i, %c7 : i32
    %line = arith.addi %seven, %c3 : i32
    %next = arith.addi %i, %c1 : i32
    %product = arith.muli %i, %next : i32
    %triangle = arith.divsi %product, %c2 : i32
    %y = arith.select %isNegative, %line, %triangle : i32
    linalg.yield %y : i32
  } -> tensor<21xi32>
  return %y : tensor<21xi32>
}
tile.kernel @integers_kernel(%x: memref<?xf32, strided<[1], offset: ?>>, %y: memref<?xi32, strided<[1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %xView = tile.view %x[:] : memref<?xf32, strided<[1], offset: ?>> -> !tile.view<?xf32>
  %yView = tile.view %y[:] : memref<?xi32, strided<[1], offset: ?>> -> !tile.view<?xi32>
  %zeros = arith.constant dense<0.0> : tensor<21xf32>
  %t = tile.load %xView[%c0] : !tile.view<?xf32> -> tensor<21xf32>
  %isNegative = arith.cmpf olt, %t, %zeros : tensor<21xf32>
  // 3 + 7 i, as the product of [1, i] and [[3], [7]] in i8.
  %i = tile.iota along 0 : tensor<21xi32>
  %numbers = arith.trunci %i : tensor<21xi32> to tensor<21xi8>
  %column = tile.broadcast %numbers along 0 : tensor<21xi8> -> tensor<1x21xi8>
  %ones = arith.constant dense<1> : tensor<1x21xi8>
  %right = tile.concat %ones, %column along 0 : tensor<1x21xi8>, tensor<1x21xi8> -> tensor<2x21xi8>
  %left = arith.constant dense<[[3, 7]]> : tensor<1x2xi8>
  %none = arith.constant dense<0> : tensor<1x21xi32>
  %lines = tile.dot %left, %right, %none : tensor<1x2xi8>, tensor<2x21xi8> -> tensor<1x21xi32>
  %line = tile.reduce max %lines along 0 : tensor<1x21xi32> -> tensor<21xi32>
  %triangle = tile.scan add inclusive %i along 0 : tensor<21xi32>
  // Quotients of numbers that the padding does not have.
  %quotient = arith.divsi %triangle, %line : tensor<21xi32>
  %rest = arith.remsi %triangle, %line : tensor<21xi32>
  %back = arith.muli %quotient, %line : tensor<21xi32>
  %same = arith.addi %back, %rest : tensor<21xi32>
  %y0 = arith.select %isNegative, %line, %same : tensor<21xi1>, tensor<21xi32>
  tile.store %y0, %yView[%c0] : tensor<21xi32>, !tile.view<?xi32>
  tile.return
}
func.func @integers_tiles(%x: tensor<21xf32> {heddle.name = "x"}) -> (tensor<21xi32> {heddle.name = "y"}) {
  %c1 = arith.constant 1 : index
  %empty = tensor.empty() : tensor<21xi32>
  %y = tile.dispatch @integers_kernel grid(%c1, %c1, %c1) ins(%x : tensor<21xf32>) outs(%empty : tensor<21xi32>)
  return %y : tensor<21xi32>
}
