module {
  func.func @attend(%arg0: tensor<?x?x?x64xf16> {heddle.dims = ["B", "L", "H", ""], heddle.name = "q"}, %arg1: tensor<?x?x?x64xf16> {heddle.dims = ["B", "S", "H", ""], heddle.name = "k"}, %arg2: tensor<?x?x?x64xf16> {heddle.dims = ["B", "S", "H", ""], heddle.name = "v"}) -> (tensor<?x?x?x64xf16> {heddle.dims = ["B", "L", "H", ""], heddle.name = "o"}) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x?x?x64xf16>
    %c1_0 = arith.constant 1 : index
    %dim_1 = tensor.dim %arg0, %c1_0 : tensor<?x?x?x64xf16>
    %c2 = arith.constant 2 : index
    %dim_2 = tensor.dim %arg0, %c2 : tensor<?x?x?x64xf16>
    %0 = arith.ceildivui %dim_1, %c64 : index
    %1 = arith.muli %dim, %dim_2 : index
    %2 = arith.muli %0, %1 : index
    %3 = tensor.empty(%dim, %dim_1, %dim_2) : tensor<?x?x?x64xf16>
    %4 = tile.dispatch @sigmoid_attention grid(%2, %c1, %c1) ins(%arg0, %arg1, %arg2 : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) outs(%3 : tensor<?x?x?x64xf16>)
    return %4 : tensor<?x?x?x64xf16>
  }
  tile.kernel private @sigmoid_attention(%arg0: memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>, %arg1: memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>, %arg2: memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>, %arg3: memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>) config <block = [64, 64], warps = 4> {
    %c1 = arith.constant 1 : index
    %dim = memref.dim %arg0, %c1 : memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>
    %c2 = arith.constant 2 : index
    %dim_0 = memref.dim %arg0, %c2 : memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>
    %c1_1 = arith.constant 1 : index
    %dim_2 = memref.dim %arg1, %c1_1 : memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>
    %c63 = arith.constant 63 : index
    %0 = arith.addi %dim, %c63 : index
    %c64 = arith.constant 64 : index
    %1 = arith.divui %0, %c64 : index
    %2 = tile.program_id x
    %c1_3 = arith.constant 1 : index
    %3 = arith.subi %1, %c1_3 : index
    %4 = arith.remui %2, %1 : index
    %5 = arith.subi %3, %4 : index
    %c64_4 = arith.constant 64 : index
    %6 = arith.muli %5, %c64_4 : index
    %7 = arith.divui %2, %1 : index
    %8 = arith.divui %7, %dim_0 : index
    %9 = arith.divui %2, %1 : index
    %10 = arith.remui %9, %dim_0 : index
    %11 = arith.subi %dim_2, %dim : index
    %12 = arith.addi %11, %6 : index
    %c1_5 = arith.constant 1 : index
    %13 = arith.addi %12, %c1_5 : index
    %c0 = arith.constant 0 : index
    %14 = arith.maxsi %13, %c0 : index
    %15 = arith.minsi %14, %dim_2 : index
    %c64_6 = arith.constant 64 : index
    %16 = arith.divui %15, %c64_6 : index
    %c64_7 = arith.constant 64 : index
    %17 = arith.muli %16, %c64_7 : index
    %c64_8 = arith.constant 64 : index
    %18 = arith.addi %12, %c64_8 : index
    %c0_9 = arith.constant 0 : index
    %19 = arith.maxsi %18, %c0_9 : index
    %20 = arith.minsi %19, %dim_2 : index
    %subview = memref.subview %arg0[%8, 0, %10, 0] [1, %dim, 1, 64] [1, 1, 1, 1] : memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
    %21 = tile.view %subview[:, :] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x64xf16>
    %c0_10 = arith.constant 0 : index
    %cst = arith.constant 0.000000e+00 : f16
    %22 = tile.load %21[%6, %c0_10] pad(%cst) : !tile.view<?x64xf16> -> tensor<64x64xf16>
    %subview_11 = memref.subview %arg1[%8, 0, %10, 0] [1, %dim_2, 1, 64] [1, 1, 1, 1] : memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
    %23 = tile.view %subview_11[:, :] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x64xf16>
    %subview_12 = memref.subview %arg2[%8, 0, %10, 0] [1, %dim_2, 1, 64] [1, 1, 1, 1] : memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
    %24 = tile.view %subview_12[:, :] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x64xf16>
    %cst_13 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %c0_14 = arith.constant 0 : index
    %c64_15 = arith.constant 64 : index
    %25 = scf.for %arg4 = %c0_14 to %17 step %c64_15 iter_args(%arg5 = %cst_13) -> (tensor<64x64xf32>) {
      %c0_19 = arith.constant 0 : index
      %29 = tile.load %23[%arg4, %c0_19] : !tile.view<?x64xf16> -> tensor<64x64xf16>
      %c0_20 = arith.constant 0 : index
      %30 = tile.load %24[%arg4, %c0_20] : !tile.view<?x64xf16> -> tensor<64x64xf16>
      %cst_21 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
      %31 = tile.dot %22, %29, %cst_21 {transpose_b} : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      %cst_22 = arith.constant dense<-0.180336878> : tensor<64x64xf32>
      %cst_23 = arith.constant dense<5.770780e+00> : tensor<64x64xf32>
      %32 = math.fma %31, %cst_22, %cst_23 : tensor<64x64xf32>
      %33 = math.exp2 %32 : tensor<64x64xf32>
      %cst_24 = arith.constant dense<1.000000e+00> : tensor<64x64xf32>
      %34 = arith.addf %33, %cst_24 : tensor<64x64xf32>
      %cst_25 = arith.constant dense<1.000000e+00> : tensor<64x64xf32>
      %35 = arith.divf %cst_25, %34 : tensor<64x64xf32>
      %36 = arith.truncf %35 : tensor<64x64xf32> to tensor<64x64xf16>
      %37 = tile.dot %36, %30, %arg5 : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %37 : tensor<64x64xf32>
    }
    %c64_16 = arith.constant 64 : index
    %26 = scf.for %arg4 = %17 to %20 step %c64_16 iter_args(%arg5 = %25) -> (tensor<64x64xf32>) {
      %c0_19 = arith.constant 0 : index
      %cst_20 = arith.constant 0.000000e+00 : f16
      %29 = tile.load %23[%arg4, %c0_19] pad(%cst_20) : !tile.view<?x64xf16> -> tensor<64x64xf16>
      %c0_21 = arith.constant 0 : index
      %cst_22 = arith.constant 0.000000e+00 : f16
      %30 = tile.load %24[%arg4, %c0_21] pad(%cst_22) : !tile.view<?x64xf16> -> tensor<64x64xf16>
      %cst_23 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
      %31 = tile.dot %22, %29, %cst_23 {transpose_b} : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      %cst_24 = arith.constant dense<-0.180336878> : tensor<64x64xf32>
      %cst_25 = arith.constant dense<5.770780e+00> : tensor<64x64xf32>
      %32 = math.fma %31, %cst_24, %cst_25 : tensor<64x64xf32>
      %33 = math.exp2 %32 : tensor<64x64xf32>
      %cst_26 = arith.constant dense<1.000000e+00> : tensor<64x64xf32>
      %34 = arith.addf %33, %cst_26 : tensor<64x64xf32>
      %cst_27 = arith.constant dense<1.000000e+00> : tensor<64x64xf32>
      %35 = arith.divf %cst_27, %34 : tensor<64x64xf32>
      %c0_28 = arith.constant 0 : index
      %36 = tile.iota along 1 start(%c0_28) : tensor<64x64xi32>
      %37 = arith.subi %12, %arg4 : index
      %38 = tile.iota along 0 start(%37) : tensor<64x64xi32>
      %39 = arith.cmpi sle, %36, %38 : tensor<64x64xi32>
      %cst_29 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
      %40 = arith.select %39, %35, %cst_29 : tensor<64x64xi1>, tensor<64x64xf32>
      %41 = arith.truncf %40 : tensor<64x64xf32> to tensor<64x64xf16>
      %42 = tile.dot %41, %30, %arg5 : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %42 : tensor<64x64xf32>
    }
    %subview_17 = memref.subview %arg3[%8, 0, %10, 0] [1, %dim, 1, 64] [1, 1, 1, 1] : memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
    %27 = tile.view %subview_17[:, :] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> !tile.view<?x64xf16>
    %28 = arith.truncf %26 : tensor<64x64xf32> to tensor<64x64xf16>
    %c0_18 = arith.constant 0 : index
    tile.store %28, %27[%6, %c0_18] : tensor<64x64xf16>, !tile.view<?x64xf16>
    tile.return
  }
}
