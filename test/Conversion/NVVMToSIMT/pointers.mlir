// RUN: heddle-opt --convert-nvvm-to-simt %s | FileCheck %s

// Pointers to shared memory are offsets, pointers to global memory host pointers.

llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

// CHECK-NOT: heddle_shared
// CHECK-NOT: ptr<
// CHECK-LABEL: llvm.func internal @addresses(
llvm.func @addresses(%x: !llvm.ptr<1>, %i: i32, %j: i64) attributes {nvvm.kernel} {
  // CHECK: %[[BASE:.*]] = llvm.call @heddle_sim_register
  %base = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>

  // CHECK: %[[S4:.*]] = llvm.mlir.constant(4 : i32)
  // CHECK: %[[AT:.*]] = llvm.mul %[[I:.*]], %[[S4]] : i32
  // CHECK: %[[P:.*]] = llvm.add %[[BASE]], %[[AT]] : i32
  %p = llvm.getelementptr inbounds %base[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32

  // Index 0 of 64 bits, field 1 at byte 8, element 2: 64 * j + 8 + 16.
  // CHECK: %[[J:.*]] = llvm.trunc %{{.*}} : i64 to i32
  // CHECK: llvm.mlir.constant(48 : i32)
  // CHECK: llvm.mlir.constant(24 : i32)
  %q = llvm.getelementptr %p[%j, 1, 2] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, !llvm.struct<(i32, array<5 x i64>)>

  // Integers and back: nothing is left to do.
  // CHECK: %[[X:.*]] = llvm.xor %{{.*}}, %[[I]] : i32
  // CHECK: llvm.icmp "ult" %[[X]], %[[P]] : i32
  %n = llvm.ptrtoint %q : !llvm.ptr<3> to i32
  %m = llvm.xor %n, %i : i32
  %r = llvm.inttoptr %m : i32 to !llvm.ptr<3>
  %less = llvm.icmp "ult" %r, %p : !llvm.ptr<3>
  // CHECK: llvm.cond_br %{{.*}}, ^[[BB:.*]](%[[X]] : i32), ^[[BB]](%[[P]] : i32)
  llvm.cond_br %less, ^join(%r : !llvm.ptr<3>), ^join(%p : !llvm.ptr<3>)
// CHECK: ^[[BB]](%[[S:.*]]: i32)
^join(%s: !llvm.ptr<3>):
  // CHECK: llvm.zext %[[S]] : i32 to i64
  // CHECK: llvm.call @heddle_sim_load
  %v = llvm.load %s : !llvm.ptr<3> -> f32

  // An address out of bounds must reach the simulator: no promises are left.
  // CHECK: llvm.getelementptr %{{[^ ]*}}[%[[I]]] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  %g = llvm.getelementptr inbounds|nuw %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  // CHECK: llvm.call @heddle_sim_store
  llvm.store %v, %g : f32, !llvm.ptr<1>
  llvm.return
}
