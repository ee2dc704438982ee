// Tile kernels against the same computation on tensors: products of odd sizes, loads and stores over every edge, loops that carry tiles.
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s -o %t/m.so
// RUN: heddle-run %t/m.so --entry plain --random 3 --dim M=50 --dim N=83 --dim K=45 --output y=%t/y.npy
// RUN: heddle-run %t/m.so --entry tiles --random 3 --dim M=50 --dim N=83 --dim K=45 --verify y=%t/y.npy
// RUN: heddle-run %t/m.so --entry transposed --random 3 --dim M=50 --dim N=83 --dim K=45 --verify y=%t/y.npy
// RUN: heddle-run %t/m.so --entry plain --random 4 --dim M=1 --dim N=2 --dim K=3 --output y=%t/small.npy
// RUN: heddle-run %t/m.so --entry tiles --random 4 --dim M=1 --dim N=2 --dim K=3 --verify y=%t/small.npy
// RUN: heddle-run %t/m.so --entry transposed --random 4 --dim M=1 --dim N=2 --dim K=3 --verify y=%t/small.npy

!matrix = memref<?x?xf32, strided<[?, 1], offset: ?>>

func.func @plain(%x: tensor<?x?xf32> {heddle.name = "x", heddle.dims = ["M", "K"]}, %w: tensor<?x?xf32> {heddle.name = "w", heddle.dims = ["N", "K"]})
    -> (tensor<?x?xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %w, %c0 : tensor<?x?xf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// A block of 29 x 35, 21 elements of K at a time: partial vectors, register tiles and blocks.
tile.kernel @product(%x: !matrix, %w: !matrix, %y: !matrix) {
  %c0 = arith.constant 0 : index
  %c21 = arith.constant 21 : index
  %c29 = arith.constant 29 : index
  %c35 = arith.constant 35 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<29x35xf32>
  %i = tile.program_id x
  %j = tile.program_id y
  %row = arith.muli %i, %c29 : index
  %column = arith.muli %j, %c35 : index
  %xView = tile.view %x[:, :] : !matrix -> !tile.view<?x?xf32>
  %wView = tile.view %w[:, :] : !matrix -> !tile.view<?x?xf32>
  %yView = tile.view %y[:, :] : !matrix -> !tile.view<?x?xf32>
  %depth = tile.extent %xView, 1 : !tile.view<?x?xf32>
  %sum = scf.for %k = %c0 to %depth step %c21 iter_args(%acc = %zeros) -> (tensor<29x35xf32>) {
    %a = tile.load %xView[%row, %k] pad(%zero) : !tile.view<?x?xf32> -> tensor<29x21xf32>
    %b = tile.load %wView[%column, %k] pad(%zero) : !tile.view<?x?xf32> -> tensor<35x21xf32>
    // A kernel for GPUs may ask for less than f32, which CPUs always multiply in.
    %next = tile.dot %a, %b, %acc precision tf32 {transpose_b} : tensor<29x21xf32>, tensor<35x21xf32> -> tensor<29x35xf32>
    scf.yield %next : tensor<29x35xf32>
  }
  tile.store %sum, %yView[%row, %column] : tensor<29x35xf32>, !tile.view<?x?xf32>
  tile.return
}

func.func @tiles(%x: tensor<?x?xf32> {heddle.name = "x", heddle.dims = ["M", "K"]}, %w: tensor<?x?xf32> {heddle.name = "w", heddle.dims = ["N", "K"]})
    -> (tensor<?x?xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c29 = arith.constant 29 : index
  %c35 = arith.constant 35 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %w, %c0 : tensor<?x?xf32>
  %rows = arith.ceildivui %m, %c29 : index
  %columns = arith.ceildivui %n, %c35 : index
  %init = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = tile.dispatch @product grid(%rows, %columns, %c1) ins(%x, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%init : tensor<?x?xf32>)
  return %y : tensor<?x?xf32>
}

// The same as (w x^T)^T, in blocks of 17 x 16: transposed tiles and a transposed operand a.
tile.kernel @product_transposed(%x: !matrix, %w: !matrix, %y: !matrix) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<17x16xf32>
  %i = tile.program_id x
  %j = tile.program_id y
  %row = arith.muli %i, %c16 : index
  %column = arith.muli %j, %c17 : index
  %xView = tile.view %x[:, :] : !matrix -> !tile.view<?x?xf32>
  %wView = tile.view %w[:, :] : !matrix -> !tile.view<?x?xf32>
  %yView = tile.view %y[:, :] : !matrix -> !tile.view<?x?xf32>
  %depth = tile.extent %xView, 1 : !tile.view<?x?xf32>
  %sum = scf.for %k = %c0 to %depth step %c7 iter_args(%acc = %zeros) -> (tensor<17x16xf32>) {
    %a = tile.load %xView[%row, %k] pad(%zero) : !tile.view<?x?xf32> -> tensor<16x7xf32>
    %at = tile.transpose %a : tensor<16x7xf32> -> tensor<7x16xf32>
    %b = tile.load %wView[%column, %k] pad(%zero) : !tile.view<?x?xf32> -> tensor<17x7xf32>
    %bt = tile.transpose %b : tensor<17x7xf32> -> tensor<7x17xf32>
    %next = tile.dot %bt, %at, %acc {transpose_a} : tensor<7x17xf32>, tensor<7x16xf32> -> tensor<17x16xf32>
    scf.yield %next : tensor<17x16xf32>
  }
  %result = tile.transpose %sum : tensor<17x16xf32> -> tensor<16x17xf32>
  tile.store %result, %yView[%row, %column] : tensor<16x17xf32>, !tile.view<?x?xf32>
  tile.return
}

func.func @transposed(%x: tensor<?x?xf32> {heddle.name = "x", heddle.dims = ["M", "K"]}, %w: tensor<?x?xf32> {heddle.name = "w", heddle.dims = ["N", "K"]})
    -> (tensor<?x?xf32> {heddle.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %w, %c0 : tensor<?x?xf32>
  %rows = arith.ceildivui %m, %c16 : index
  %columns = arith.ceildivui %n, %c17 : index
  %init = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = tile.dispatch @product_transposed grid(%rows, %columns, %c1) ins(%x, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%init : tensor<?x?xf32>)
  return %y : tensor<?x?xf32>
}
