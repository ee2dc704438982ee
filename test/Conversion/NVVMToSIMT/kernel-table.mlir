// RUN: heddle-opt --convert-nvvm-to-simt %s | FileCheck %s
// RUN: heddle-opt --convert-nvvm-to-simt %s | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// A kernel in a nested module: its function keeps its name, and a constant describes it.

#a = loc("attention.mlir":40:7)
#b = loc("/data/folder/model.mlir":3:4)
#call = loc(callsite(#a at #b))
#fused = loc(fused["pass", #b])

// CHECK-LABEL: module @k
module @k attributes {tile_nv.threads = 128 : i32} {
  llvm.mlir.global internal constant @table(dense<[1.0, 2.0]> : tensor<2xf32>) {addr_space = 1 : i32} : !llvm.array<2 x f32>
  // CHECK: llvm.mlir.global internal constant @table(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>) {addr_space = 0 : i32}
  // CHECK: llvm.func internal @k(%[[SELF:.*]]: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr) attributes {no_unwind}
  // CHECK: llvm.load %[[ARGS]] : !llvm.ptr -> !llvm.ptr
  // CHECK: llvm.getelementptr %[[ARGS]][1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  llvm.func @k(%x: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
    %t = llvm.mlir.addressof @table : !llvm.ptr<1>
    %v = llvm.load %t : !llvm.ptr<1> -> f32 loc(#a)
    llvm.store %v, %x : f32, !llvm.ptr<1> loc(#call)
    nvvm.cp.async.wait.group 0 loc(#fused)
    nvvm.cp.async.commit.group loc("lowering\FF")
    llvm.return
  }
}
// Equal names and the numbers of their operations.
// CHECK: llvm.mlir.global internal constant @heddle_sim_names.k("k\00llvm.load at attention.mlir:40:7\00llvm.store at attention.mlir:40:7 (from model.mlir:3:4)\00nvvm.cp.async.wait.group at model.mlir:3:4\00nvvm.cp.async.commit.group in lowering\EF\BF\BD\00table\00")

// LLVM: @heddle_sim_ops.k = internal constant [2 x [2 x ptr]] {{\[}}[2 x ptr] [ptr getelementptr{{.*}}@heddle_sim_names.k
// LLVM: @heddle_sim_constants.k = internal constant [1 x { ptr, ptr, i64, i32 }] [{ ptr, ptr, i64, i32 } { ptr {{.*}}, ptr @table, i64 8, i32 0 }]
// LLVM: @heddle_sim_kernel.k = constant { ptr, ptr, i32, ptr, i32, ptr } { ptr @heddle_sim_names.k, ptr @k, i32 4, ptr @heddle_sim_ops.k, i32 1, ptr @heddle_sim_constants.k }
