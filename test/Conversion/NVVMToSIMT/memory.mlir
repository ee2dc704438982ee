// RUN: heddle-opt --convert-nvvm-to-simt --mlir-print-local-scope %s | FileCheck %s

// Loads, stores, copies: one call for each access that a GPU makes.

llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

// The declarations may not be moved out of control flow.
// CHECK-DAG: llvm.func @heddle_sim_load(!llvm.ptr, i32, i32, i64, i32, !llvm.ptr) attributes {convergent, no_unwind}
// CHECK-DAG: llvm.func @heddle_sim_store(!llvm.ptr, i32, i32, i64, i32, !llvm.ptr) attributes {convergent, no_unwind}

// CHECK-LABEL: llvm.func internal @accesses(
// CHECK-SAME: %[[SELF:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr)
llvm.func @accesses(%x: !llvm.ptr<1>, %s: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>

  // Number of the operation, global memory (0), address, size.
  // CHECK: %[[A:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr to i64
  // CHECK: %[[SIZE:.*]] = llvm.mlir.constant(16 : i32)
  // CHECK: %[[OP:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call @heddle_sim_load(%[[SELF]], %[[OP]], %{{.*}}, %[[A]], %[[SIZE]], %[[SLOT:.*]]) {convergent, no_unwind}
  // CHECK: llvm.load %[[SLOT]] {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  %v = llvm.load %x {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>

  // Shared memory (1) by an offset of 32 bits.
  // CHECK: %[[WIDE:.*]] = llvm.zext %{{.*}} : i32 to i64
  // CHECK: llvm.store %{{.*}}, %[[SLOT]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
  // CHECK: %[[SHARED:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: %[[OP1:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call @heddle_sim_store(%[[SELF]], %[[OP1]], %[[SHARED]], %[[WIDE]], %{{.*}}, %[[SLOT]])
  llvm.store %v, %shared : vector<4xf32>, !llvm.ptr<3>

  // Two accesses of 8 bytes, both of the operation 2.
  // CHECK: %[[EIGHT:.*]] = llvm.mlir.constant(8 : i32)
  // CHECK: llvm.call @heddle_sim_load(%[[SELF]], %{{.*}}, %{{.*}}, %[[P:.*]], %[[EIGHT]], %[[SLOT]])
  // CHECK: llvm.add %[[P]], %{{.*}} : i64
  // CHECK: llvm.call @heddle_sim_load(
  %w = llvm.load %x {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi64>
  // CHECK: llvm.shufflevector %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<16xi8>
  // CHECK: llvm.call @heddle_sim_store(
  // CHECK: llvm.shufflevector %{{.*}} [8, 9, 10, 11, 12, 13, 14, 15] : vector<16xi8>
  // CHECK: llvm.call @heddle_sim_store(
  llvm.store %w, %s {alignment = 8 : i64} : vector<2xi64>, !llvm.ptr<1>

  // A bit takes a byte.
  // CHECK: llvm.load %[[SLOT]] {alignment = 1 : i64} : !llvm.ptr -> i8
  // CHECK: llvm.trunc %{{.*}} : i8 to i1
  %bit = llvm.load %x : !llvm.ptr<1> -> i1

  llvm.return
}

// Order and scope: 0 is relaxed and the whole GPU.
// CHECK-LABEL: llvm.func internal @ordered(
llvm.func @ordered(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // CHECK: llvm.mlir.constant(0 : i32)
  // CHECK-NEXT: %[[ADD:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK-NEXT: %[[RELAXED:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call @heddle_sim_atomic(%{{.*}}, %{{.*}}, %{{.*}}, %[[ADD]], %[[RELAXED]], %{{.*}}, %{{.*}})
  %one = llvm.mlir.constant(1 : i32) : i32
  %old = llvm.atomicrmw add %x, %one monotonic : !llvm.ptr<1>, i32
  // CHECK: %[[BOTH:.*]] = llvm.mlir.constant(3 : i32)
  // CHECK: llvm.call @heddle_sim_atomic(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[BOTH]], %{{.*}}, %{{.*}})
  %older = llvm.atomicrmw add %x, %one syncscope("device") acq_rel : !llvm.ptr<1>, i32
  // CHECK: llvm.mlir.constant(0 : i32)
  // CHECK-NEXT: %[[V:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call @heddle_sim_load_strong(%{{.*}}, %{{.*}}, %{{.*}}, %[[V]], %{{.*}}, %{{.*}}, %{{.*}})
  %v = llvm.load volatile %x : !llvm.ptr<1> -> i32
  // CHECK: %[[ACQUIRE:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call @heddle_sim_load_strong(%{{.*}}, %{{.*}}, %{{.*}}, %[[ACQUIRE]], %{{.*}}, %{{.*}}, %{{.*}})
  %w = llvm.load %x atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK: %[[RELEASE:.*]] = llvm.mlir.constant(2 : i32)
  // CHECK: llvm.call @heddle_sim_store_strong(%{{.*}}, %{{.*}}, %{{.*}}, %[[RELEASE]], %{{.*}}, %{{.*}}, %{{.*}})
  llvm.store %v, %x atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // A fence and a release.
  // CHECK: llvm.call @heddle_sim_fence(
  // CHECK: llvm.call @heddle_sim_store_strong(
  llvm.store %w, %x atomic seq_cst {alignment = 4 : i64} : i32, !llvm.ptr<1>
  // CHECK: %[[GPU:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call @heddle_sim_fence(%{{.*}}, %{{.*}}, %[[GPU]])
  llvm.fence acq_rel
  // CHECK: %[[CTA:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call @heddle_sim_fence(%{{.*}}, %{{.*}}, %[[CTA]])
  llvm.fence syncscope("block") acq_rel
  // CHECK: %[[CTA2:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call @heddle_sim_fence(%{{.*}}, %{{.*}}, %[[CTA2]])
  nvvm.memory.barrier <cta>
  // CHECK: %[[GPU2:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call @heddle_sim_fence(%{{.*}}, %{{.*}}, %[[GPU2]])
  nvvm.memory.barrier <gpu>
  llvm.return
}

// What a thread keeps on its own stack is no access.
// CHECK-LABEL: llvm.func internal @local
// CHECK-NOT: heddle_sim
// CHECK: llvm.return
llvm.func @local() attributes {nvvm.kernel} {
  %n = llvm.mlir.constant(4 : i32) : i32
  %a = llvm.alloca %n x f32 : (i32) -> !llvm.ptr
  %p = llvm.getelementptr %a[1] : (!llvm.ptr) -> !llvm.ptr, f32
  %v = llvm.load %p : !llvm.ptr -> f32
  llvm.store %v, %a : f32, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func internal @copies
llvm.func @copies(%x: !llvm.ptr<1>, %bytes: i32) attributes {nvvm.kernel} {
  %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
  // CHECK: %[[ALL:.*]] = llvm.mlir.constant(16 : i32)
  // CHECK: llvm.call @heddle_sim_cp_async(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[ALL]], %[[ALL]])
  nvvm.cp.async.shared.global %shared, %x, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK: %[[FOUR:.*]] = llvm.mlir.constant(4 : i32)
  // CHECK: llvm.call @heddle_sim_cp_async(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[FOUR]], %{{.*}}) {convergent, no_unwind} : (!llvm.ptr, i32, i32, i64, i32, i32) -> ()
  nvvm.cp.async.shared.global %shared, %x, 4, cache = ca, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK: llvm.call @heddle_sim_cp_async_commit_group
  nvvm.cp.async.commit.group
  // CHECK: llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call @heddle_sim_cp_async_wait_group
  nvvm.cp.async.wait.group 1
  llvm.return
}
