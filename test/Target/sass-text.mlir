// REQUIRES: ptxas, nvdisasm
// RUN: heddle-translate --kernels-to=sass --target=sm_80,sm_90 %s | FileCheck %s
// CHECK: // kernel 'k' on sm_80: {{[0-9]+}} registers, 0 bytes of spill stores, 0 of spill loads
// CHECK: .target sm_80
// CHECK: .text.k
// CHECK: STG.E
// CHECK: EXIT
// CHECK: // kernel 'k' on sm_90:
// CHECK: STG.E

llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  llvm.store %zero, %p : f32, !llvm.ptr<1>
  llvm.return
}
