// Kernels for GPUs compute in f32: f64 is refused with what would work, and compiled for the CPU.
// RUN: not heddle-compile %s --target=sm_80 -o %t.so 2>&1 | FileCheck %s --implicit-check-not=error:
// RUN: not heddle-compile %s --target=sim-sm_80 -o %t.so 2>&1 | FileCheck %s --implicit-check-not=error:
// RUN: heddle-compile %s -o %t.cpu.so

func.func @attend(%q: tensor<?x?x1x8xf64>) -> tensor<?x?x1x8xf64> {
  // CHECK: gpu-f64.mlir:[[#@LINE+1]]:8: error: 'math.exp' op is not supported in kernels for GPUs on 'f64'; compute it in f32
  %o = attn.attention %q, %q, %q {} : (tensor<?x?x1x8xf64>, tensor<?x?x1x8xf64>, tensor<?x?x1x8xf64>) -> tensor<?x?x1x8xf64>
  return %o : tensor<?x?x1x8xf64>
}
