// Every op needs a kernel on a GPU. All that have none are named, once, though each target finds them.
// RUN: not heddle-compile %s --target=sm_80,sim-sm_80 -o %t.so 2>&1 | FileCheck %s --implicit-check-not=error:
// RUN: heddle-compile %s -o %t.cpu.so

#all = affine_map<(i) -> (i)>
func.func @f(%x: tensor<?xf32> {heddle.dims = ["N"]}) -> (tensor<?xf32>, tensor<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  // CHECK-DAG: gpu-errors.mlir:[[#@LINE+1]]:8: error: op 'linalg.generic' has no GPU kernel: its body has 'scf.if', expected arith, math, linalg.index and reads of tensors
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %old: f32):
    %zero = arith.constant 0.0 : f32
    %more = arith.cmpf ogt, %a, %zero : f32
    %r = scf.if %more -> f32 {
      %s = math.sqrt %a : f32
      scf.yield %s : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %g = tensor.empty(%n) : tensor<?xi32>
  // CHECK-DAG: gpu-errors.mlir:[[#@LINE+1]]:8: error: op 'linalg.generic' has no GPU kernel: its body has 'scf.for'
  %z = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%g : tensor<?xi32>) {
  ^bb0(%a: f32, %old: i32):
    %one = arith.constant 1 : i32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%k = %one) -> (i32) {
      %m = arith.muli %k, %k : i32
      %l = arith.addi %m, %one : i32
      scf.yield %l : i32
    }
    linalg.yield %r : i32
  } -> tensor<?xi32>
  return %y, %z : tensor<?xf32>, tensor<?xi32>
}
