// The dialect and the pipelines work in a stock mlir-opt.

// RUN: mlir-opt --load-dialect-plugin=%heddle_plugin --load-pass-plugin=%heddle_plugin %s \
// RUN:   --pass-pipeline='builtin.module(func.func(attn-to-linalg))' | FileCheck %s
// RUN: mlir-opt --load-dialect-plugin=%heddle_plugin --load-pass-plugin=%heddle_plugin %s \
// RUN:   --pass-pipeline='builtin.module(heddle-attn-to-linalg,heddle-linalg-to-kernels,heddle-kernels-to-llvm{variant=avx2})' \
// RUN:   | FileCheck %s --check-prefix=LLVM

// CHECK-LABEL: func.func @gate
// CHECK-NOT: attn.
// CHECK: linalg.generic
// CHECK: math.exp
func.func @gate(%gate: tensor<?x8xf32>, %up: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = attn.glu swiglu %gate, %up : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// LLVM-NOT: func.func
// LLVM: llvm.func @gate.avx2(
// LLVM-NOT: func.func
