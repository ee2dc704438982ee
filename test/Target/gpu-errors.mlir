// Every op needs a kernel on a GPU. All that have none are named, once, though each target finds them.
// RUN: not heddle-compile %s --target=sm_80,sim-sm_80 -o %t.so 2>&1 | FileCheck %s --implicit-check-not=error:
// RUN: heddle-compile %s -o %t.cpu.so

func.func @f(%x: tensor<?xf32> {heddle.dims = ["N"]}, %w: tensor<?xf32> {heddle.dims = ["K"]}, %init: tensor<?xf32> {heddle.dims = ["M"]}) -> tensor<?xf32> {
  // CHECK: gpu-errors.mlir:[[#@LINE+1]]:8: error: op 'linalg.copy' has no GPU kernel
  %y = linalg.conv_1d ins(%x, %w : tensor<?xf32>, tensor<?xf32>) outs(%init : tensor<?xf32>) -> tensor<?xf32>
  // CHECK: gpu-errors.mlir:[[#@LINE-1]]:8: error: op 'linalg.conv_1d' has no GPU kernel
  return %y : tensor<?xf32>
}
