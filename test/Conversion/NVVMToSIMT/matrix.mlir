// RUN: heddle-opt --convert-nvvm-to-simt %s | FileCheck %s

// Fragments go through the stack, in the order of PTX's operands.

llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

// CHECK-LABEL: llvm.func internal @product
llvm.func @product(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %z = llvm.mlir.constant(0.0 : f32) : f32
  %s = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  // CHECK: %[[N:.*]] = llvm.mlir.constant(4 : i32)
  // CHECK: llvm.call @heddle_sim_ldmatrix(%{{.*}}, %{{.*}}, %[[N]], %[[PLAIN:.*]], %{{.*}}, %[[F:.*]]) {convergent, no_unwind}
  // CHECK: llvm.load %[[F]] {alignment = 4 : i64} : !llvm.ptr -> i32
  // CHECK: llvm.getelementptr %[[F]][4] : (!llvm.ptr) -> !llvm.ptr, i8
  // CHECK: llvm.getelementptr %[[F]][12]
  %a = nvvm.ldmatrix %s {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  // CHECK: %[[T:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call @heddle_sim_ldmatrix(%{{.*}}, %{{.*}}, %{{.*}}, %[[T]], %{{.*}}, %[[F]])
  %b = nvvm.ldmatrix %s {num = 2 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
  %a0 = llvm.extractvalue %a[0] : !llvm.struct<(i32, i32, i32, i32)>
  %a1 = llvm.extractvalue %a[1] : !llvm.struct<(i32, i32, i32, i32)>
  %a2 = llvm.extractvalue %a[2] : !llvm.struct<(i32, i32, i32, i32)>
  %a3 = llvm.extractvalue %a[3] : !llvm.struct<(i32, i32, i32, i32)>
  %b0 = llvm.extractvalue %b[0] : !llvm.struct<(i32, i32)>
  %b1 = llvm.extractvalue %b[1] : !llvm.struct<(i32, i32)>
  // CHECK: llvm.store %{{.*}}, %[[A:.*]] {alignment = 4 : i64} : i32, !llvm.ptr
  // CHECK: llvm.store %{{.*}}, %[[B:.*]] {alignment = 4 : i64} : i32, !llvm.ptr
  // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr
  // CHECK: %[[BF16:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call @heddle_sim_mma(%{{.*}}, %{{.*}}, %[[BF16]], %{{.*}}, %{{.*}}, %[[C:.*]], %[[C]]) {convergent, no_unwind}
  // CHECK: llvm.load %[[C]] {alignment = 4 : i64} : !llvm.ptr -> f32
  %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%z, %z, %z, %z]
    {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>,
     multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>}
    : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
  llvm.store %d0, %x : f32, !llvm.ptr<1>
  llvm.return
}
