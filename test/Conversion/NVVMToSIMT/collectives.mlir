// RUN: heddle-opt --convert-nvvm-to-simt --canonicalize %s | FileCheck %s

// Barriers, warp syncs, shuffles, votes; kinds are the simulator's numbers.

// CHECK-LABEL: llvm.func internal @barriers
// CHECK-DAG: %[[C0:.*]] = llvm.mlir.constant(0 : i32)
// CHECK-DAG: %[[C64:.*]] = llvm.mlir.constant(64 : i32)
llvm.func @barriers(%p: i32) attributes {nvvm.kernel} {
  %three = llvm.mlir.constant(3 : i32) : i32
  %many = llvm.mlir.constant(64 : i32) : i32
  // CHECK: llvm.call @heddle_sim_barrier_sync(%{{.*}}, %[[C0]], %[[C0]], %[[C0]])
  nvvm.barrier
  // CHECK: llvm.call @heddle_sim_barrier_sync(%{{.*}}, %{{.*}}, %[[C0]], %[[C0]])
  nvvm.barrier0
  // CHECK: llvm.call @heddle_sim_barrier_sync(%{{.*}}, %{{.*}}, %[[C3:[^,]*]], %[[C64]])
  nvvm.barrier id = %three number_of_threads = %many
  // CHECK: llvm.call @heddle_sim_barrier_arrive(%{{.*}}, %[[C3]], %[[C3]], %[[C64]])
  nvvm.barrier.arrive id = %three number_of_threads = %many
  // CHECK: llvm.call @heddle_sim_barrier_reduce(
  %n = nvvm.barrier #nvvm.reduction<popc> %p -> i32
  // CHECK: llvm.call @heddle_sim_warp_sync(%{{.*}}, %{{.*}}, %{{.*}}) {convergent, no_unwind} : (!llvm.ptr, i32, i32) -> ()
  nvvm.bar.warp.sync %n : i32
  llvm.return
}

// CHECK-LABEL: llvm.func internal @shuffles
llvm.func @shuffles(%x: !llvm.ptr<1>, %v: i32, %f: f32, %l: i32) attributes {nvvm.kernel} {
  %all = llvm.mlir.constant(-1 : i32) : i32
  // CHECK: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
  // CHECK: llvm.call @heddle_sim_shuffle_f32(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[NULL]])
  %a = nvvm.shfl.sync bfly %all, %f, %l, %l : f32 -> f32
  // CHECK: llvm.call @heddle_sim_shuffle_i32(%{{.*}}, %[[SLOT:[^,)]*]]) {convergent
  // CHECK: llvm.load %[[SLOT]] : !llvm.ptr -> i8
  %b = nvvm.shfl.sync idx %all, %v, %l, %l {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
  %c = llvm.extractvalue %b[0] : !llvm.struct<(i32, i1)>
  %d = llvm.extractvalue %b[1] : !llvm.struct<(i32, i1)>
  // CHECK: llvm.call @heddle_sim_vote(
  // CHECK: llvm.trunc %{{.*}} : i32 to i1
  %e = nvvm.vote.sync any %all, %d -> i1
  // CHECK: llvm.call @heddle_sim_vote(
  %g = nvvm.vote.sync ballot %all, %e -> i32
  // CHECK: llvm.call @heddle_sim_match_all(
  %h = nvvm.match.sync all %all, %g : i32 -> !llvm.struct<(i32, i1)>
  %i = llvm.extractvalue %h[0] : !llvm.struct<(i32, i1)>
  // CHECK: llvm.call @heddle_sim_redux(
  %j = nvvm.redux.sync add %i, %all : i32 -> i32
  %k = llvm.add %j, %c : i32
  llvm.store %k, %x : i32, !llvm.ptr<1>
  llvm.store %a, %x : f32, !llvm.ptr<1>
  llvm.return
}
