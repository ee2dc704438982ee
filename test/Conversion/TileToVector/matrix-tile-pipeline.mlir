// RUN: heddle-opt %s --convert-tile-to-vector="bf16-pairs amx" --canonicalize --cse | FileCheck %s

// An online softmax of 64 queries (lanes) in two panels of 32.
tile.kernel @softmax(%k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %q: memref<64x64xbf16>, %o: memref<64x64xf32>, %end: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zeros = arith.constant dense<0.0> : tensor<32x64xf32>
  %start = arith.constant dense<0.0> : tensor<64x64xf32>
  %least = arith.constant dense<-1.0e30> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %kView = tile.view %k[:, :] : memref<?x64xbf16> -> !tile.view<?x64xbf16>
  %vView = tile.view %v[:, :] : memref<?x64xbf16> -> !tile.view<?x64xbf16>
  %qView = tile.view %q[:, :] : memref<64x64xbf16> -> !tile.view<64x64xbf16>
  %oView = tile.view %o[:, :] : memref<64x64xf32> -> !tile.view<64x64xf32>
  %queries = tile.load %qView[%c0, %c0] : !tile.view<64x64xbf16> -> tensor<64x64xbf16>
  %loop:3 = scf.for %i = %c0 to %end step %c32 iter_args(%acc = %start, %max = %least, %sum = %none) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %keys = tile.load %kView[%i, %c0] : !tile.view<?x64xbf16> -> tensor<32x64xbf16>
    %s = tile.dot %keys, %queries, %zeros : tensor<32x64xbf16>, tensor<64x64xbf16> -> tensor<32x64xf32>
    %top = tile.reduce max %s along 0 : tensor<32x64xf32> -> tensor<64xf32>
    %newMax = arith.maximumf %max, %top : tensor<64xf32>
    %tops = tile.broadcast %newMax along 0 : tensor<64xf32> -> tensor<32x64xf32>
    %x = arith.subf %s, %tops : tensor<32x64xf32>
    %w = math.exp2 %x fastmath<afn> : tensor<32x64xf32>
    %rise = arith.subf %max, %newMax : tensor<64xf32>
    %decay = math.exp2 %rise : tensor<64xf32>
    %blockSum = tile.reduce add %w along 0 : tensor<32x64xf32> -> tensor<64xf32>
    %newSum = math.fma %sum, %decay, %blockSum : tensor<64xf32>
    %decays = tile.broadcast %decay along 0 : tensor<64xf32> -> tensor<64x64xf32>
    %decayed = arith.mulf %acc, %decays : tensor<64x64xf32>
    %values = tile.load %vView[%i, %c0] : !tile.view<?x64xbf16> -> tensor<32x64xbf16>
    %rounded = arith.truncf %w : tensor<32x64xf32> to tensor<32x64xbf16>
    %new = tile.dot %values, %rounded, %decayed {transpose_a} : tensor<32x64xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    scf.yield %new, %newMax, %newSum : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %totals = tile.broadcast %loop#2 along 0 : tensor<64xf32> -> tensor<64x64xf32>
  %result = arith.divf %loop#0, %totals : tensor<64x64xf32>
  tile.store %result, %oView[%c0, %c0] : tensor<64x64xf32>, !tile.view<64x64xf32>
  tile.return
}
