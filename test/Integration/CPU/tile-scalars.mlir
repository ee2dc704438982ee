// Tiles of rank 0, elements taken out of tiles, conditions that are scalars, functions of libm, tiles of index and f16.
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s -o %t/m.so
// RUN: heddle-run %t/m.so --entry plain --random 1 --output y=%t/y.npy
// RUN: heddle-run %t/m.so --entry tiles --random 1 --verify y=%t/y.npy --rtol 1e-6

func.func @plain(%x: tensor<21xf32> {heddle.name = "x"}) -> (tensor<21xf32> {heddle.name = "y"}) {
  %empty = tensor.empty() : tensor<21xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<21xf32>) outs(%empty : tensor<21xf32>) {
  ^bb0(%a: f32, %old: f32):
    %c20 = arith.constant 20 : index
    %i = linalg.index 0 : index
    %last = tensor.extract %x[%c20] : tensor<21xf32>
    %erf = math.erf %a : f32
    %sum = arith.addf %erf, %last : f32
    %half = arith.truncf %a : f32 to f16
    %square = arith.mulf %half, %half : f16
    %wide = arith.extf %square : f16 to f32
    %root = math.sqrt %wide : f32
    %both = arith.addf %sum, %root : f32
    %n = arith.index_cast %i : index to i64
    %number = arith.sitofp %n : i64 to f32
    %y = arith.addf %both, %number : f32
    linalg.yield %y : f32
  } -> tensor<21xf32>
  return %y : tensor<21xf32>
}

tile.kernel @kernel(%x: memref<?xf32, strided<[1], offset: ?>>, %y: memref<?xf32, strided<[1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c20 = arith.constant 20 : index
  %zeros = arith.constant dense<0.0> : tensor<21xf32>
  %two = arith.constant dense<2.0> : tensor<f32>
  %xView = tile.view %x[:] : memref<?xf32, strided<[1], offset: ?>> -> !tile.view<?xf32>
  %yView = tile.view %y[:] : memref<?xf32, strided<[1], offset: ?>> -> !tile.view<?xf32>
  %t = tile.load %xView[%c0] : !tile.view<?xf32> -> tensor<21xf32>
  %last = tensor.extract %t[%c20] : tensor<21xf32>
  // The last element as half of its double, and again as the maximum of a tile that holds nothing else.
  %point = tensor.splat %last : tensor<f32>
  %double = arith.mulf %point, %two : tensor<f32>
  %single = arith.divf %double, %two : tensor<f32>
  %lasts = tile.broadcast %single along 0 : tensor<f32> -> tensor<21xf32>
  %max = tile.reduce max %lasts along 0 : tensor<21xf32> -> tensor<f32>
  %value = tensor.extract %max[] : tensor<f32>
  %same = arith.cmpf oeq, %value, %last : f32
  %chosen = arith.select %same, %lasts, %zeros : tensor<21xf32>
  %erf = math.erf %t : tensor<21xf32>
  %sum = arith.addf %erf, %chosen : tensor<21xf32>
  %half = arith.truncf %t : tensor<21xf32> to tensor<21xf16>
  %square = arith.mulf %half, %half : tensor<21xf16>
  %wide = arith.extf %square : tensor<21xf16> to tensor<21xf32>
  %root = math.sqrt %wide : tensor<21xf32>
  %both = arith.addf %sum, %root : tensor<21xf32>
  %i = tile.iota along 0 : tensor<21xindex>
  %n = arith.index_cast %i : tensor<21xindex> to tensor<21xi64>
  %turned = tile.scan max inclusive %n along 0 : tensor<21xi64>
  %number = arith.sitofp %turned : tensor<21xi64> to tensor<21xf32>
  %result = arith.addf %both, %number : tensor<21xf32>
  tile.store %result, %yView[%c0] : tensor<21xf32>, !tile.view<?xf32>
  tile.return
}
func.func @tiles(%x: tensor<21xf32> {heddle.name = "x"}) -> (tensor<21xf32> {heddle.name = "y"}) {
  %c1 = arith.constant 1 : index
  %empty = tensor.empty() : tensor<21xf32>
  %y = tile.dispatch @kernel grid(%c1, %c1, %c1) ins(%x : tensor<21xf32>) outs(%empty : tensor<21xf32>)
  return %y : tensor<21xf32>
}
