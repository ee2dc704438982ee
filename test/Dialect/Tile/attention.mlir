// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --canonicalize --cse --loop-invariant-code-motion | FileCheck %s --check-prefix=OPT

// Causal attention over pages, for one block of 64 queries of one head: a program needs no more than this dialect, arith, math and scf.
// CHECK-LABEL: tile.kernel @attention(
// OPT-LABEL: tile.kernel @attention(
tile.kernel @attention(%q: memref<?x?x8x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %k: memref<?x16x8x64xf16>,
                       %v: memref<?x16x8x64xf16>, %tables: memref<?x?xi32>, %lengths: memref<?xi32>,
                       %o: memref<?x?x8x64xf16>, %heads: index, %scale: f32) config <block = [64, 32], stages = 2, warps = 4> {
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
  %length32 = memref.load %lengths[%batch] : memref<?xi32>
  %length = arith.index_cast %length32 : i32 to index

  %qView = tile.view %q[%batch, :, %head, :] : memref<?x?x8x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !tile.view<?x64xf16>
  %table = tile.view %tables[%batch, :] : memref<?x?xi32> -> !tile.view<?xi32>
  // OPT: %[[KEYS:.*]] = tile.gather_view %{{.*}}[table %[[TABLE:.*]], page, %{{.*}}, :] rows(%[[LENGTH:.*]]) :
  %keys = tile.gather_view %k[table %table, page, %head, :] rows(%length) : memref<?x16x8x64xf16>, !tile.view<?xi32> -> !tile.view<?x64xf16>
  %values = tile.gather_view %v[table %table, page, %head, :] rows(%length) : memref<?x16x8x64xf16>, !tile.view<?xi32> -> !tile.view<?x64xf16>
  %queries = tile.load %qView[%row, %c0] pad(%zero) : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %numQueries = tile.extent %qView, 0 : !tile.view<?x64xf16>
  %numKeys = tile.extent %keys, 0 : !tile.view<?x64xf16>
  %shift = arith.subi %numKeys, %numQueries : index
  %first = arith.addi %row, %shift : index
  %scales = tensor.splat %scale : tensor<64x32xf32>

  // OPT: tile.iota along 0
  // OPT: scf.for %{{.*}} = %{{.*}} to %[[LENGTH]] step
  // CHECK: scf.for
  %result:3 = scf.for %n = %c0 to %numKeys step %c32 iter_args(%acc = %zeros, %max = %noMax, %sum = %noSum)
      -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kTile = tile.load %keys[%n, %c0] pad(%zero) : !tile.view<?x64xf16> -> tensor<32x64xf16>
    %s = tile.dot %queries, %kTile, %noScores {transpose_b} : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %scaled = arith.mulf %s, %scales : tensor<64x32xf32>
    // The positions of the queries do not change in the loop.
    // OPT-NOT: tile.iota along 0
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
    %vTile = tile.load %values[%n, %c0] pad(%zero) : !tile.view<?x64xf16> -> tensor<32x64xf16>
    // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    %newAcc = tile.dot %narrow, %vTile, %decayedAcc : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    scf.yield %newAcc, %newMax, %newSum : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }

  %sums = tile.broadcast %result#2 along 1 : tensor<64xf32> -> tensor<64x64xf32>
  %quotient = arith.divf %result#0, %sums : tensor<64x64xf32>
  %isZero = arith.cmpf oeq, %sums, %zeros : tensor<64x64xf32>
  %output = arith.select %isZero, %zeros, %quotient : tensor<64x64xi1>, tensor<64x64xf32>
  %rounded = arith.truncf %output : tensor<64x64xf32> to tensor<64x64xf16>
  %oView = tile.view %o[%batch, :, %head, :] : memref<?x?x8x64xf16> -> !tile.view<?x64xf16>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<64x64xf16>, !tile.view<?x64xf16>
  tile.store %rounded, %oView[%row, %c0] : tensor<64x64xf16>, !tile.view<?x64xf16>
  tile.return
}
