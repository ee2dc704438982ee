// The attention kernel of test/Dialect/Tile/attention.mlir, over pages, against attn.attention on the gathered keys and values.
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s -o %t/m.so
// RUN: heddle-run %t/m.so --entry plain --random 5 --dim L=50 --output o=%t/o.safetensors:o
// RUN: heddle-run %t/m.so --entry tiles --random 5 --dim L=50 --verify o=%t/o.safetensors:o --rtol 1e-3
// RUN: heddle-run %t/m.so --entry plain --random 6 --dim L=1 --output o=%t/one.safetensors:o
// RUN: heddle-run %t/m.so --entry tiles --random 6 --dim L=1 --verify o=%t/one.safetensors:o --rtol 1e-3

!array1 = memref<?xi32, strided<[1], offset: ?>>
!array2 = memref<?x?xi32, strided<[?, 1], offset: ?>>
!array4 = memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>

tile.kernel @attention(%q: !array4, %k: !array4,
                       %v: !array4, %tables: !array2, %lengths: !array1,
                       %heads: index, %scale: f32, %o: !array4) config <block = [64, 32], stages = 2, warps = 4> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f16
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %noScores = arith.constant dense<0.0> : tensor<64x32xf32>
  %masked = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %noSum = arith.constant dense<0.0> : tensor<64xf32>
  %noMax = arith.constant dense<0xFF800000> : tensor<64xf32>

  %block = tile.program_id x
  %flat = tile.program_id y
  %batch = arith.divui %flat, %heads : index
  %head = arith.remui %flat, %heads : index
  %row = arith.muli %block, %c64 : index
  %length32 = memref.load %lengths[%batch] : !array1
  %length = arith.index_cast %length32 : i32 to index

  %qView = tile.view %q[%batch, :, %head, :] : !array4 -> !tile.view<?x?xf16>
  %table = tile.view %tables[%batch, :] : !array2 -> !tile.view<?xi32>
  %keys = tile.gather_view %k[table %table, page, %head, :] rows(%length) : !array4, !tile.view<?xi32> -> !tile.view<?x?xf16>
  %values = tile.gather_view %v[table %table, page, %head, :] rows(%length) : !array4, !tile.view<?xi32> -> !tile.view<?x?xf16>
  %queries = tile.load %qView[%row, %c0] pad(%zero) : !tile.view<?x?xf16> -> tensor<64x64xf16>
  %numQueries = tile.extent %qView, 0 : !tile.view<?x?xf16>
  %numKeys = tile.extent %keys, 0 : !tile.view<?x?xf16>
  %shift = arith.subi %numKeys, %numQueries : index
  %first = arith.addi %row, %shift : index
  %scales = tensor.splat %scale : tensor<64x32xf32>

  %result:3 = scf.for %n = %c0 to %numKeys step %c32 iter_args(%acc = %zeros, %max = %noMax, %sum = %noSum)
      -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kTile = tile.load %keys[%n, %c0] pad(%zero) : !tile.view<?x?xf16> -> tensor<32x64xf16>
    %s = tile.dot %queries, %kTile, %noScores {transpose_b} : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %scaled = arith.mulf %s, %scales : tensor<64x32xf32>
    %rows = tile.iota along 0 start(%first) : tensor<64x32xi32>
    %columns = tile.iota along 1 start(%n) : tensor<64x32xi32>
    %visible = arith.cmpi sle, %columns, %rows : tensor<64x32xi32>
    %scores = arith.select %visible, %scaled, %masked : tensor<64x32xi1>, tensor<64x32xf32>

    %blockMax = tile.reduce max %scores along 1 : tensor<64x32xf32> -> tensor<64xf32>
    %newMax = arith.maximumf %max, %blockMax : tensor<64xf32>
    %isEmpty = arith.cmpf oeq, %newMax, %noMax : tensor<64xf32>
    %base = arith.select %isEmpty, %noSum, %newMax : tensor<64xi1>, tensor<64xf32>
    %bases = tile.broadcast %base along 1 : tensor<64xf32> -> tensor<64x32xf32>
    %centered = arith.subf %scores, %bases : tensor<64x32xf32>
    %weights = math.exp2 %centered : tensor<64x32xf32>
    %fall = arith.subf %max, %base : tensor<64xf32>
    %decay = math.exp2 %fall : tensor<64xf32>

    %blockSum = tile.reduce add %weights along 1 : tensor<64x32xf32> -> tensor<64xf32>
    %decayedSum = arith.mulf %sum, %decay : tensor<64xf32>
    %newSum = arith.addf %decayedSum, %blockSum : tensor<64xf32>
    %decays = tile.broadcast %decay along 1 : tensor<64xf32> -> tensor<64x64xf32>
    %decayedAcc = arith.mulf %acc, %decays : tensor<64x64xf32>
    %narrow = arith.truncf %weights : tensor<64x32xf32> to tensor<64x32xf16>
    %vTile = tile.load %values[%n, %c0] pad(%zero) : !tile.view<?x?xf16> -> tensor<32x64xf16>
    %newAcc = tile.dot %narrow, %vTile, %decayedAcc : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    scf.yield %newAcc, %newMax, %newSum : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }

  %sums = tile.broadcast %result#2 along 1 : tensor<64xf32> -> tensor<64x64xf32>
  %quotient = arith.divf %result#0, %sums : tensor<64x64xf32>
  %isZero = arith.cmpf oeq, %sums, %zeros : tensor<64x64xf32>
  %output = arith.select %isZero, %zeros, %quotient : tensor<64x64xi1>, tensor<64x64xf32>
  %rounded = arith.truncf %output : tensor<64x64xf32> to tensor<64x64xf16>
  %oView = tile.view %o[%batch, :, %head, :] : !array4 -> !tile.view<?x?xf16>
  tile.store %rounded, %oView[%row, %c0] : tensor<64x64xf16>, !tile.view<?x?xf16>
  tile.return
}

func.func @tiles(%q: tensor<2x?x8x64xf16> {heddle.name = "q", heddle.dims = ["", "L", "", ""]}, %k: tensor<8x16x8x64xf16> {heddle.name = "k"},
                 %v: tensor<8x16x8x64xf16> {heddle.name = "v"}) -> (tensor<2x?x8x64xf16> {heddle.name = "o"}) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %scale = arith.constant 0.180336881 : f32
  %tables = arith.constant dense<[[3, 1, 0, 2], [5, 4, 7, 6]]> : tensor<2x4xi32>
  %lengths = arith.constant dense<[57, 64]> : tensor<2xi32>
  %l = tensor.dim %q, %c1 : tensor<2x?x8x64xf16>
  %blocks = arith.ceildivui %l, %c64 : index
  %init = tensor.empty(%l) : tensor<2x?x8x64xf16>
  %o = tile.dispatch @attention grid(%blocks, %c16, %c1)
      ins(%q, %k, %v, %tables, %lengths, %c8, %scale : tensor<2x?x8x64xf16>, tensor<8x16x8x64xf16>, tensor<8x16x8x64xf16>, tensor<2x4xi32>, tensor<2xi32>, index, f32)
      outs(%init : tensor<2x?x8x64xf16>)
  return %o : tensor<2x?x8x64xf16>
}

func.func private @gather(%x: tensor<8x16x8x64xf16>, %tables: tensor<2x4xi32>) -> tensor<2x64x8x64xf16> {
  %empty = tensor.empty() : tensor<2x64x8x64xf16>
  %rows = linalg.generic {indexing_maps = [affine_map<(b, t, h, d) -> (b, t, h, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%empty : tensor<2x64x8x64xf16>) {
  ^bb0(%old: f16):
    %c16 = arith.constant 16 : index
    %b = linalg.index 0 : index
    %t = linalg.index 1 : index
    %h = linalg.index 2 : index
    %d = linalg.index 3 : index
    %entry = arith.divui %t, %c16 : index
    %row = arith.remui %t, %c16 : index
    %page32 = tensor.extract %tables[%b, %entry] : tensor<2x4xi32>
    %page = arith.index_cast %page32 : i32 to index
    %value = tensor.extract %x[%page, %row, %h, %d] : tensor<8x16x8x64xf16>
    linalg.yield %value : f16
  } -> tensor<2x64x8x64xf16>
  return %rows : tensor<2x64x8x64xf16>
}

func.func @plain(%q: tensor<2x?x8x64xf16> {heddle.name = "q", heddle.dims = ["", "L", "", ""]}, %k: tensor<8x16x8x64xf16> {heddle.name = "k"},
                 %v: tensor<8x16x8x64xf16> {heddle.name = "v"}) -> (tensor<2x?x8x64xf16> {heddle.name = "o"}) {
  %tables = arith.constant dense<[[3, 1, 0, 2], [5, 4, 7, 6]]> : tensor<2x4xi32>
  %lengths = arith.constant dense<[57, 64]> : tensor<2xi32>
  %keys = func.call @gather(%k, %tables) : (tensor<8x16x8x64xf16>, tensor<2x4xi32>) -> tensor<2x64x8x64xf16>
  %values = func.call @gather(%v, %tables) : (tensor<8x16x8x64xf16>, tensor<2x4xi32>) -> tensor<2x64x8x64xf16>
  %o = attn.attention %q, %keys, %values kv_len(%lengths : tensor<2xi32>) {causal, scale = 0.125 : f64}
      : (tensor<2x?x8x64xf16>, tensor<2x64x8x64xf16>, tensor<2x64x8x64xf16>) -> tensor<2x?x8x64xf16>
  return %o : tensor<2x?x8x64xf16>
}
