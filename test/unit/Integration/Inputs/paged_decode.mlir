// The kernels that attn-to-tile builds for
//
//   %o = attn.attention %q, %k, %v kv_len(%lengths : tensor<?xi32>) {causal, tile.config = #tile.config<block = [1, 16, 32]>}
//
// with caches in pages: views of keys and values are gathered, all else is the same.

!array4 = memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>
!tables = memref<?x?xi32, strided<[?, 1], offset: ?>>
!lengths = memref<?xi32, strided<[1], offset: ?>>

tile.kernel private @decode_attention(%arg0: !array4, %arg1: !array4, %arg2: !array4, %arg3: !lengths, %tables: !tables, %arg4: !array4, %arg5: !array4) config <block = [1, 16, 32]> {
    %cst = arith.constant dense<0xFF800000> : tensor<2x16xf32>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant dense<0.360673755> : tensor<2x16xf32>
    %cst_2 = arith.constant dense<0.360673755> : tensor<2xf32>
    %cst_3 = arith.constant dense<0.000000e+00> : tensor<2xf32>
    %cst_4 = arith.constant dense<-3.40282347E+38> : tensor<2xf32>
    %cst_5 = arith.constant dense<0.000000e+00> : tensor<2x16xf32>
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c2 = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = tile.program_id x
    %dim = memref.dim %arg4, %c1 : !array4
    %1 = arith.divui %0, %dim : index
    %2 = arith.remui %0, %dim : index
    %3 = memref.load %arg3[%1] : !lengths
    %table = tile.view %tables[%1, :] : !tables -> !tile.view<?xi32>
    %4 = arith.index_cast %3 : i32 to index
    %5 = arith.muli %2, %c32 : index
    %6 = arith.addi %5, %c32 : index
    %7 = arith.maxsi %5, %c0 : index
    %8 = arith.minsi %6, %4 : index
    %9 = arith.cmpi slt, %7, %8 : index
    scf.if %9 {
      scf.for %arg6 = %c0 to %c2 step %c1 {
        %10 = arith.muli %arg6, %c2 : index
        %subview = memref.subview %arg4[%1, %2, %10, 0] [1, 1, 2, 16] [1, 1, 1, 1] : !array4 to memref<2x16xf32, strided<[?, 1], offset: ?>>
        %11 = tile.view %subview[:, :] : memref<2x16xf32, strided<[?, 1], offset: ?>> -> !tile.view<2x16xf32>
        %subview_6 = memref.subview %arg5[%1, %2, 0, %10] [1, 1, 1, 2] [1, 1, 1, 1] : !array4 to memref<2xf32, strided<[1], offset: ?>>
        %12 = tile.view %subview_6[:] : memref<2xf32, strided<[1], offset: ?>> -> !tile.view<2xf32>
        %subview_7 = memref.subview %arg5[%1, %2, 1, %10] [1, 1, 1, 2] [1, 1, 1, 1] : !array4 to memref<2xf32, strided<[1], offset: ?>>
        %13 = tile.view %subview_7[:] : memref<2xf32, strided<[1], offset: ?>> -> !tile.view<2xf32>
        tile.store %cst_5, %11[%c0, %c0] : tensor<2x16xf32>, !tile.view<2x16xf32>
        tile.store %cst_4, %12[%c0] : tensor<2xf32>, !tile.view<2xf32>
        tile.store %cst_3, %13[%c0] : tensor<2xf32>, !tile.view<2xf32>
      }
    }
    scf.for %arg6 = %7 to %8 step %c16 {
      %10 = arith.cmpi sge, %arg6, %c0 : index
      %11 = arith.addi %arg6, %c16 : index
      %12 = arith.cmpi sle, %11, %4 : index
      %13 = arith.andi %10, %12 : i1
      scf.if %13 {
        scf.for %arg7 = %c0 to %c2 step %c1 {
          %14 = arith.muli %arg7, %c2 : index
          %15 = tile.gather_view %arg1[table %table, page, %arg7, :] rows(%4) : !array4, !tile.view<?xi32> -> !tile.view<?x?xf32>
          %16 = tile.load %15[%arg6, %c0] ahead 16 : !tile.view<?x?xf32> -> tensor<16x16xf32>
          %subview_6 = memref.subview %arg0[%1, 0, %14, 0] [1, 1, 2, 16] [1, 1, 1, 1] : !array4 to memref<2x16xf32, strided<[?, 1], offset: ?>>
          %17 = tile.view %subview_6[:, :] : memref<2x16xf32, strided<[?, 1], offset: ?>> -> !tile.view<2x16xf32>
          %18 = tile.load %17[%c0, %c0] : !tile.view<2x16xf32> -> tensor<2x16xf32>
          %19 = tile.dot %18, %16, %cst_5 {transpose_b} : tensor<2x16xf32>, tensor<16x16xf32> -> tensor<2x16xf32>
          %subview_7 = memref.subview %arg4[%1, %2, %14, 0] [1, 1, 2, 16] [1, 1, 1, 1] : !array4 to memref<2x16xf32, strided<[?, 1], offset: ?>>
          %20 = tile.view %subview_7[:, :] : memref<2x16xf32, strided<[?, 1], offset: ?>> -> !tile.view<2x16xf32>
          %subview_8 = memref.subview %arg5[%1, %2, 0, %14] [1, 1, 1, 2] [1, 1, 1, 1] : !array4 to memref<2xf32, strided<[1], offset: ?>>
          %21 = tile.view %subview_8[:] : memref<2xf32, strided<[1], offset: ?>> -> !tile.view<2xf32>
          %subview_9 = memref.subview %arg5[%1, %2, 1, %14] [1, 1, 1, 2] [1, 1, 1, 1] : !array4 to memref<2xf32, strided<[1], offset: ?>>
          %22 = tile.view %subview_9[:] : memref<2xf32, strided<[1], offset: ?>> -> !tile.view<2xf32>
          %23 = tile.load %20[%c0, %c0] : !tile.view<2x16xf32> -> tensor<2x16xf32>
          %24 = tile.load %21[%c0] : !tile.view<2xf32> -> tensor<2xf32>
          %25 = tile.load %22[%c0] : !tile.view<2xf32> -> tensor<2xf32>
          %26 = tile.reduce max %19 along 1 : tensor<2x16xf32> -> tensor<2xf32>
          %27 = arith.mulf %26, %cst_2 : tensor<2xf32>
          %28 = arith.maximumf %24, %27 : tensor<2xf32>
          %29 = arith.negf %28 : tensor<2xf32>
          %30 = tile.broadcast %29 along 1 : tensor<2xf32> -> tensor<2x16xf32>
          %31 = math.fma %19, %cst_1, %30 : tensor<2x16xf32>
          %32 = math.exp2 %31 : tensor<2x16xf32>
          %33 = arith.subf %24, %28 : tensor<2xf32>
          %34 = math.exp2 %33 : tensor<2xf32>
          %35 = tile.reduce add %32 along 1 : tensor<2x16xf32> -> tensor<2xf32>
          %36 = math.fma %25, %34, %35 : tensor<2xf32>
          %37 = tile.broadcast %34 along 1 : tensor<2xf32> -> tensor<2x16xf32>
          %38 = arith.mulf %23, %37 : tensor<2x16xf32>
          %39 = tile.gather_view %arg2[table %table, page, %arg7, :] rows(%4) : !array4, !tile.view<?xi32> -> !tile.view<?x?xf32>
          %40 = tile.load %39[%arg6, %c0] ahead 16 : !tile.view<?x?xf32> -> tensor<16x16xf32>
          %41 = tile.dot %32, %40, %38 : tensor<2x16xf32>, tensor<16x16xf32> -> tensor<2x16xf32>
          tile.store %41, %20[%c0, %c0] : tensor<2x16xf32>, !tile.view<2x16xf32>
          tile.store %28, %21[%c0] : tensor<2xf32>, !tile.view<2xf32>
          tile.store %36, %22[%c0] : tensor<2xf32>, !tile.view<2xf32>
        }
      } else {
        scf.for %arg7 = %c0 to %c2 step %c1 {
          %14 = arith.muli %arg7, %c2 : index
          %15 = tile.gather_view %arg1[table %table, page, %arg7, :] rows(%4) : !array4, !tile.view<?xi32> -> !tile.view<?x?xf32>
          %16 = tile.load %15[%arg6, %c0] pad(%cst_0) : !tile.view<?x?xf32> -> tensor<16x16xf32>
          %17 = arith.subi %4, %c1 : index
          %subview_6 = memref.subview %arg0[%1, 0, %14, 0] [1, 1, 2, 16] [1, 1, 1, 1] : !array4 to memref<2x16xf32, strided<[?, 1], offset: ?>>
          %18 = tile.view %subview_6[:, :] : memref<2x16xf32, strided<[?, 1], offset: ?>> -> !tile.view<2x16xf32>
          %19 = tile.load %18[%c0, %c0] : !tile.view<2x16xf32> -> tensor<2x16xf32>
          %20 = tile.dot %19, %16, %cst_5 {transpose_b} : tensor<2x16xf32>, tensor<16x16xf32> -> tensor<2x16xf32>
          %subview_7 = memref.subview %arg4[%1, %2, %14, 0] [1, 1, 2, 16] [1, 1, 1, 1] : !array4 to memref<2x16xf32, strided<[?, 1], offset: ?>>
          %21 = tile.view %subview_7[:, :] : memref<2x16xf32, strided<[?, 1], offset: ?>> -> !tile.view<2x16xf32>
          %subview_8 = memref.subview %arg5[%1, %2, 0, %14] [1, 1, 1, 2] [1, 1, 1, 1] : !array4 to memref<2xf32, strided<[1], offset: ?>>
          %22 = tile.view %subview_8[:] : memref<2xf32, strided<[1], offset: ?>> -> !tile.view<2xf32>
          %subview_9 = memref.subview %arg5[%1, %2, 1, %14] [1, 1, 1, 2] [1, 1, 1, 1] : !array4 to memref<2xf32, strided<[1], offset: ?>>
          %23 = tile.view %subview_9[:] : memref<2xf32, strided<[1], offset: ?>> -> !tile.view<2xf32>
          %24 = tile.load %21[%c0, %c0] : !tile.view<2x16xf32> -> tensor<2x16xf32>
          %25 = tile.load %22[%c0] : !tile.view<2xf32> -> tensor<2xf32>
          %26 = tile.load %23[%c0] : !tile.view<2xf32> -> tensor<2xf32>
          %27 = tile.iota along 1 : tensor<2x16xi32>
          %28 = arith.subi %17, %arg6 : index
          %29 = arith.index_cast %28 : index to i32
          %splat = tensor.splat %29 : tensor<2x16xi32>
          %30 = arith.cmpi sle, %27, %splat : tensor<2x16xi32>
          %31 = arith.select %30, %20, %cst : tensor<2x16xi1>, tensor<2x16xf32>
          %32 = tile.reduce max %31 along 1 : tensor<2x16xf32> -> tensor<2xf32>
          %33 = arith.mulf %32, %cst_2 : tensor<2xf32>
          %34 = arith.maximumf %25, %33 : tensor<2xf32>
          %35 = arith.negf %34 : tensor<2xf32>
          %36 = tile.broadcast %35 along 1 : tensor<2xf32> -> tensor<2x16xf32>
          %37 = math.fma %31, %cst_1, %36 : tensor<2x16xf32>
          %38 = math.exp2 %37 : tensor<2x16xf32>
          %39 = arith.subf %25, %34 : tensor<2xf32>
          %40 = math.exp2 %39 : tensor<2xf32>
          %41 = tile.reduce add %38 along 1 : tensor<2x16xf32> -> tensor<2xf32>
          %42 = math.fma %26, %40, %41 : tensor<2xf32>
          %43 = tile.broadcast %40 along 1 : tensor<2xf32> -> tensor<2x16xf32>
          %44 = arith.mulf %24, %43 : tensor<2x16xf32>
          %45 = tile.gather_view %arg2[table %table, page, %arg7, :] rows(%4) : !array4, !tile.view<?xi32> -> !tile.view<?x?xf32>
          %46 = tile.load %45[%arg6, %c0] pad(%cst_0) : !tile.view<?x?xf32> -> tensor<16x16xf32>
          %47 = tile.dot %38, %46, %44 : tensor<2x16xf32>, tensor<16x16xf32> -> tensor<2x16xf32>
          tile.store %47, %21[%c0, %c0] : tensor<2x16xf32>, !tile.view<2x16xf32>
          tile.store %34, %22[%c0] : tensor<2xf32>, !tile.view<2xf32>
          tile.store %42, %23[%c0] : tensor<2xf32>, !tile.view<2xf32>
        }
      }
    }
    tile.return
  }

tile.kernel private @merge_attention(%arg0: !array4, %arg1: !array4, %arg2: !lengths, %arg3: !array4) {
    %cst = arith.constant dense<1.000000e+00> : tensor<2xf32>
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<2xf32>
    %cst_1 = arith.constant dense<-3.40282347E+38> : tensor<2xf32>
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<2x16xf32>
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %0 = tile.program_id x
    %1 = arith.divui %0, %c2 : index
    %2 = arith.remui %0, %c2 : index
    %3 = memref.load %arg2[%1] : !lengths
    %4 = arith.index_cast %3 : i32 to index
    %5 = arith.addi %4, %c31 : index
    %6 = arith.divui %5, %c32 : index
    %7:3 = scf.for %arg4 = %c0 to %6 step %c1 iter_args(%arg5 = %cst_2, %arg6 = %cst_1, %arg7 = %cst_0) -> (tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>) {
      %15 = arith.muli %2, %c2 : index
      %subview_3 = memref.subview %arg0[%1, %arg4, %15, 0] [1, 1, 2, 16] [1, 1, 1, 1] : !array4 to memref<2x16xf32, strided<[?, 1], offset: ?>>
      %16 = tile.view %subview_3[:, :] : memref<2x16xf32, strided<[?, 1], offset: ?>> -> !tile.view<2x16xf32>
      %subview_4 = memref.subview %arg1[%1, %arg4, 0, %15] [1, 1, 1, 2] [1, 1, 1, 1] : !array4 to memref<2xf32, strided<[1], offset: ?>>
      %17 = tile.view %subview_4[:] : memref<2xf32, strided<[1], offset: ?>> -> !tile.view<2xf32>
      %subview_5 = memref.subview %arg1[%1, %arg4, 1, %15] [1, 1, 1, 2] [1, 1, 1, 1] : !array4 to memref<2xf32, strided<[1], offset: ?>>
      %18 = tile.view %subview_5[:] : memref<2xf32, strided<[1], offset: ?>> -> !tile.view<2xf32>
      %19 = tile.load %16[%c0, %c0] : !tile.view<2x16xf32> -> tensor<2x16xf32>
      %20 = tile.load %17[%c0] : !tile.view<2xf32> -> tensor<2xf32>
      %21 = tile.load %18[%c0] : !tile.view<2xf32> -> tensor<2xf32>
      %22 = arith.maximumf %arg6, %20 : tensor<2xf32>
      %23 = arith.subf %arg6, %22 : tensor<2xf32>
      %24 = math.exp2 %23 : tensor<2xf32>
      %25 = arith.subf %20, %22 : tensor<2xf32>
      %26 = math.exp2 %25 : tensor<2xf32>
      %27 = tile.broadcast %26 along 1 : tensor<2xf32> -> tensor<2x16xf32>
      %28 = tile.broadcast %24 along 1 : tensor<2xf32> -> tensor<2x16xf32>
      %29 = arith.mulf %arg5, %28 : tensor<2x16xf32>
      %30 = math.fma %19, %27, %29 : tensor<2x16xf32>
      %31 = arith.mulf %arg7, %24 : tensor<2xf32>
      %32 = math.fma %21, %26, %31 : tensor<2xf32>
      scf.yield %30, %22, %32 : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
    }
    %8 = arith.muli %2, %c2 : index
    %9 = arith.cmpf oeq, %7#2, %cst_0 : tensor<2xf32>
    %10 = arith.divf %cst, %7#2 : tensor<2xf32>
    %11 = arith.select %9, %cst_0, %10 : tensor<2xi1>, tensor<2xf32>
    %12 = tile.broadcast %11 along 1 : tensor<2xf32> -> tensor<2x16xf32>
    %13 = arith.mulf %7#0, %12 : tensor<2x16xf32>
    %subview = memref.subview %arg3[%1, 0, %8, 0] [1, 1, 2, 16] [1, 1, 1, 1] : !array4 to memref<2x16xf32, strided<[?, 1], offset: ?>>
    %14 = tile.view %subview[:, :] : memref<2x16xf32, strided<[?, 1], offset: ?>> -> !tile.view<2x16xf32>
    tile.store %13, %14[%c0, %c0] : tensor<2x16xf32>, !tile.view<2x16xf32>
    tile.return
  }

func.func @paged(%q: tensor<?x1x4x16xf32> {heddle.name = "q"}, %k: tensor<?x?x2x16xf32> {heddle.name = "k"}, %v: tensor<?x?x2x16xf32> {heddle.name = "v"}, %tables: tensor<?x?xi32> {heddle.name = "tables"}, %lengths: tensor<?xi32> {heddle.name = "lengths"}) -> (tensor<?x1x4x16xf32> {heddle.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ch = arith.constant 2 : index
  %chunk = arith.constant 32 : index
  %b = tensor.dim %q, %c0 : tensor<?x1x4x16xf32>
  %e = tensor.dim %tables, %c1 : tensor<?x?xi32>
  %p = tensor.dim %k, %c1 : tensor<?x?x2x16xf32>
  %cap = arith.muli %e, %p : index
  %chunks = arith.ceildivui %cap, %chunk : index
  %o = tensor.empty(%b) : tensor<?x1x4x16xf32>
  %acc = tensor.empty(%b, %chunks) : tensor<?x?x4x16xf32>
  %st = tensor.empty(%b, %chunks) : tensor<?x?x2x16xf32>
  %n = arith.muli %b, %chunks : index
  %m = arith.muli %b, %ch : index
  %9:2 = tile.dispatch @decode_attention grid(%n, %c1, %c1) ins(%q, %k, %v, %lengths, %tables : tensor<?x1x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?xi32>, tensor<?x?xi32>) outs(%acc, %st : tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>)
  %10 = tile.dispatch @merge_attention grid(%m, %c1, %c1) ins(%9#0, %9#1, %lengths : tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32>, tensor<?xi32>) outs(%o : tensor<?x1x4x16xf32>)
  return %10 : tensor<?x1x4x16xf32>
}

