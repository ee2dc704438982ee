// RUN: heddle-opt %s --infer-entry-dims --split-input-file --verify-diagnostics | FileCheck %s

// Elementwise ops tie all their dimensions; names that the input gives win, static extents are numbers.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: (%{{.*}}: tensor<?x?x4xf32> {heddle.dims = ["d0", "L", 4], heddle.name = "arg0"},
// CHECK-SAME: %{{.*}}: tensor<?x?x?xf32> {heddle.dims = ["d0", "L", 4], heddle.name = "y", heddle.role = "cache"},
// CHECK-SAME: %{{.*}}: tensor<?xf32> {heddle.dims = ["d1"], heddle.name = "arg2"})
// CHECK-SAME: -> (tensor<?x?x4xf32> {heddle.dims = ["d0", "L", 4], heddle.name = "result0"})
func.func @elementwise(%x: tensor<?x?x4xf32>, %y: tensor<?x?x?xf32> {heddle.name = "y", heddle.role = "cache", heddle.dims = ["", "L", ""]},
                       %z: tensor<?xf32>) -> tensor<?x?x4xf32> {
  %c = tensor.cast %y : tensor<?x?x?xf32> to tensor<?x?x4xf32>
  %s = arith.addf %x, %c : tensor<?x?x4xf32>
  return %s : tensor<?x?x4xf32>
}

// Sizes of new tensors lead back to the dimension that they were read from; a given d0 is not used twice.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: tensor<?x?xf32> {heddle.dims = ["d1", "d0"], heddle.name = "arg0"}
// CHECK-SAME: tensor<?x8xf32> {heddle.dims = ["d0", 8], heddle.name = "arg1"}
// CHECK-SAME: -> (tensor<?x2x4xf32> {heddle.dims = ["d1", 2, 4], heddle.name = "result0"})
func.func @matmul(%x: tensor<?x?xf32>, %w: tensor<?x8xf32> {heddle.dims = ["d0", 8]}) -> tensor<?x2x4xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %empty = tensor.empty(%rows) : tensor<?x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x?xf32>, tensor<?x8xf32>) outs(%init : tensor<?x8xf32>) -> tensor<?x8xf32>
  %split = tensor.expand_shape %y [[0], [1, 2]] output_shape [%rows, 2, 4] : tensor<?x8xf32> into tensor<?x2x4xf32>
  return %split : tensor<?x2x4xf32>
}

// A loop that only overwrites rows keeps every extent; a slice of rank 1 keeps the size that it was given.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: tensor<?x?xf32> {heddle.dims = ["d0", "d1"], heddle.name = "cache"}
// CHECK-SAME: tensor<?xf32> {heddle.dims = ["d1"], heddle.name = "row"}
// CHECK-SAME: -> (tensor<?x?xf32> {heddle.dims = ["d0", "d1"], heddle.name = "result0", heddle.updates = "cache"},
// CHECK-SAME: tensor<?xf32> {heddle.dims = ["d0"], heddle.name = "column"})
func.func @loop(%cache: tensor<?x?xf32> {heddle.name = "cache"}, %row: tensor<?xf32> {heddle.name = "row"})
    -> (tensor<?x?xf32> {heddle.updates = "cache"}, tensor<?xf32> {heddle.name = "column"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %cache, %c0 : tensor<?x?xf32>
  %columns = tensor.dim %cache, %c1 : tensor<?x?xf32>
  %twice = arith.addf %row, %row : tensor<?xf32>
  %like = tensor.empty(%columns) : tensor<?xf32>
  %same = arith.addf %like, %twice : tensor<?xf32>
  %r = scf.for %i = %c0 to %rows step %c1 iter_args(%c = %cache) -> tensor<?x?xf32> {
    %n = tensor.insert_slice %same into %c[%i, 0] [1, %columns] [1, 1] : tensor<?xf32> into tensor<?x?xf32>
    scf.yield %n : tensor<?x?xf32>
  }
  %column = tensor.extract_slice %r[0, 0] [%rows, 1] [1, 1] : tensor<?x?xf32> to tensor<?xf32>
  return %r, %column : tensor<?x?xf32>, tensor<?xf32>
}

// -----

// A group of a reshape whose other dimensions are 1 keeps its extent: the mask has one row a batch entry.
// CHECK-LABEL: func.func @unit_groups
// CHECK-SAME: tensor<?x?xf32> {heddle.dims = ["d0", "d1"],
// CHECK-SAME: tensor<?x1x?xf32> {heddle.dims = ["d0", 1, "d1"],
func.func @unit_groups(%x: tensor<?x?xf32>, %m: tensor<?x1x?xf32>) -> tensor<?x?xf32> {
  %c = tensor.collapse_shape %m [[0, 1], [2]] : tensor<?x1x?xf32> into tensor<?x?xf32>
  %s = arith.addf %x, %c : tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}

// -----

// A tensor that grows from trip to trip has no extent that an argument gives.
func.func @grows(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %d = tensor.dim %a, %c0 : tensor<?xf32>
    %more = arith.addi %d, %c1 : index
    %e = tensor.empty(%more) : tensor<?xf32>
    scf.yield %e : tensor<?xf32>
  }
  // expected-error @+1 {{dimension 0 of result 0 of entry 'grows' is not the dimension of an argument; callers could not know its extent}}
  return %r : tensor<?xf32>
}

// -----

func.func @branches(%x: tensor<?xf32>, %y: tensor<?xf32>, %p: tensor<i1>) -> tensor<?xf32> {
  %c = tensor.extract %p[] : tensor<i1>
  %r = scf.if %c -> tensor<?xf32> {
    scf.yield %x : tensor<?xf32>
  } else {
    scf.yield %y : tensor<?xf32>
  }
  // expected-error @+1 {{dimension 0 of result 0 of entry 'branches' is not the dimension of an argument; callers could not know its extent}}
  return %r : tensor<?xf32>
}

// -----

// expected-error @+1 {{entry 'different' needs one dimension to be 4 and 5}}
func.func @different(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<?xf32> {
  %a = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %b = tensor.cast %y : tensor<5xf32> to tensor<?xf32>
  %s = arith.addf %a, %b : tensor<?xf32>
  return %s : tensor<?xf32>
}

// -----

// What the program asks for ties dimensions, too, also to a number.
// CHECK-LABEL: func.func @required
// CHECK-SAME: tensor<?x?xf32> {heddle.dims = ["d0", 4], heddle.name = "arg0"}
// CHECK-SAME: tensor<?xf32> {heddle.dims = ["d0"], heddle.name = "arg1"}
func.func @required(%x: tensor<?x?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %columns = tensor.dim %x, %c1 : tensor<?x?xf32>
  %size = tensor.dim %y, %c0 : tensor<?xf32>
  %same = arith.cmpi eq, %size, %rows : index
  attn.require %same, "{0} and {1}" (%size, %rows : index, index)
  %four = arith.cmpi eq, %columns, %c4 : index
  attn.require %four, "{0}" (%columns : index)
  return %y : tensor<?xf32>
}

// -----

// Dimensions of one name have one extent, for callers and for the code: no op ties these caches. One with a number is not compared.
// CHECK-LABEL: func.func @caches
// CHECK-SAME: (%[[A:.*]]: tensor<?x4xf32> {heddle.dims = ["C", 4], heddle.name = "a"}, %[[B:[a-z0-9]+]]:
// CHECK: %[[C:.*]] = tensor.dim %[[A]]
// CHECK: attn.require %{{.*}}, "{0} and {1}"(%[[C]], %[[C]] : index, index)
func.func @caches(%a: tensor<?x4xf32> {heddle.name = "a", heddle.dims = ["C", ""]}, %b: tensor<?x4xf32> {heddle.name = "b", heddle.dims = ["C", ""]},
                  %c: tensor<8xf32> {heddle.name = "c", heddle.dims = ["C"]}) {
  %c0 = arith.constant 0 : index
  %rowsA = tensor.dim %a, %c0 : tensor<?x4xf32>
  %rowsB = tensor.dim %b, %c0 : tensor<?x4xf32>
  %ok = arith.cmpi ne, %rowsA, %c0 : index
  attn.require %ok, "{0} and {1}" (%rowsA, %rowsB : index, index)
  return
}
