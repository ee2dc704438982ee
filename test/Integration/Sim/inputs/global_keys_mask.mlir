// The entries of global-keys.mlir, with the rule of visibility written as a mask.

#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>

func.func @few(%q: tensor<?x?x2x32xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x1x32xf32> {heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x1x32xf32>) -> (tensor<?x?x2x32xf32> {heddle.name = "o"}, tensor<?x2x?xf32> {heddle.name = "lse"}) {
  %c1 = arith.constant 1 : index
  %left = arith.constant 30 : index
  %right = arith.constant 0 : index
  %global = arith.constant 20 : index
  %queries = tensor.dim %q, %c1 : tensor<?x?x2x32xf32>
  %keys = tensor.dim %k, %c1 : tensor<?x?x1x32xf32>
  %shift = arith.subi %keys, %queries : index
  %empty = tensor.empty(%queries, %keys) : tensor<1x1x?x?xi1>
  %mask = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%empty : tensor<1x1x?x?xi1>) {
  ^bb0(%out: i1):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %p = arith.addi %i, %shift : index
    %low = arith.subi %p, %left : index
    %high = arith.addi %p, %right : index
    %isNear = arith.cmpi sge, %j, %low : index
    %isGlobal = arith.cmpi slt, %j, %global : index
    %isAllowed = arith.cmpi sle, %j, %high : index
    %either = arith.ori %isNear, %isGlobal : i1
    %visible = arith.andi %either, %isAllowed : i1
    linalg.yield %visible : i1
  } -> tensor<1x1x?x?xi1>
  %o, %lse = attn.attention %q, %k, %v mask(%mask : tensor<1x1x?x?xi1>) {return_lse}
      : (tensor<?x?x2x32xf32>, tensor<?x?x1x32xf32>, tensor<?x?x1x32xf32>) -> (tensor<?x?x2x32xf32>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x32xf32>, tensor<?x2x?xf32>
}

func.func @many(%q: tensor<?x?x2x32xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x1x32xf32> {heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x1x32xf32>) -> (tensor<?x?x2x32xf32> {heddle.name = "o"}, tensor<?x2x?xf32> {heddle.name = "lse"}) {
  %c1 = arith.constant 1 : index
  %left = arith.constant 45 : index
  %right = arith.constant 7 : index
  %global = arith.constant 150 : index
  %queries = tensor.dim %q, %c1 : tensor<?x?x2x32xf32>
  %keys = tensor.dim %k, %c1 : tensor<?x?x1x32xf32>
  %shift = arith.subi %keys, %queries : index
  %empty = tensor.empty(%queries, %keys) : tensor<1x1x?x?xi1>
  %mask = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%empty : tensor<1x1x?x?xi1>) {
  ^bb0(%out: i1):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %p = arith.addi %i, %shift : index
    %low = arith.subi %p, %left : index
    %high = arith.addi %p, %right : index
    %isNear = arith.cmpi sge, %j, %low : index
    %isGlobal = arith.cmpi slt, %j, %global : index
    %isAllowed = arith.cmpi sle, %j, %high : index
    %either = arith.ori %isNear, %isGlobal : i1
    %visible = arith.andi %either, %isAllowed : i1
    linalg.yield %visible : i1
  } -> tensor<1x1x?x?xi1>
  %o, %lse = attn.attention %q, %k, %v mask(%mask : tensor<1x1x?x?xi1>) {return_lse}
      : (tensor<?x?x2x32xf32>, tensor<?x?x1x32xf32>, tensor<?x?x1x32xf32>) -> (tensor<?x?x2x32xf32>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x32xf32>, tensor<?x2x?xf32>
}
