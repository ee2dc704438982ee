// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-multibuffer,canonicalize))' --split-input-file | FileCheck %s

// Two products of a loop: copies are waited for where they are used, weights stay in registers, the queries are read from their buffer
// in each trip. Rows outside of the view become zeros.

#acc = #tile.layout<16x64, register = [(0, 1), (8, 0), (0, 8), (0, 16), (0, 32)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#scores = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#blocked = #tile.layout<16x64, register = [(0, 1), (0, 2), (0, 4), (4, 0), (8, 0)], lane = [(0, 8), (0, 16), (0, 32), (1, 0), (2, 0)]>

// CHECK-DAG: #[[SWIZZLED:.*]] = #tile.layout<16x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 8), (2, 16), (4, 32), (8, 0)]>
// CHECK-LABEL: tile.kernel @chained
// CHECK-DAG: %[[Q:.*]] = tile_nv.alloc : !tile_nv.buffer<16x64xf16, #[[SWIZZLED]]>
// CHECK-DAG: tile_nv.alloc
tile.kernel @chained(%q: memref<?x64xf16>, %k: memref<?x64xf16>, %o: memref<16x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %pad = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : tensor<16x64xf32, #acc>
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32, #scores>
  %qv = tile.view %q[:, :] : memref<?x64xf16> -> !tile.view<?x64xf16>
  %kv = tile.view %k[:, :] : memref<?x64xf16> -> !tile.view<?x64xf16>
  %ov = tile.view %o[:, :] : memref<16x64xf32> -> !tile.view<16x64xf32>
  // CHECK: tile_nv.copy_async %{{.*}}[%{{.*}}, %{{.*}}] to %[[Q]] bounded : !tile.view<?x64xf16>
  // CHECK-NEXT: tile_nv.commit_group
  %q0 = tile.load %qv[%c0, %c0] pad(%pad) : !tile.view<?x64xf16> -> tensor<16x64xf16, #blocked>
  %q1 = tile.convert_layout %q0 : tensor<16x64xf16, #blocked> -> tensor<16x64xf16, #acc>
  // CHECK-NOT: tile.load
  // CHECK: scf.for
  %r = scf.for %i = %c0 to %n step %c16 iter_args(%sum = %zero) -> (tensor<16x64xf32, #acc>) {
    // CHECK-NEXT: tile_nv.copy_async %{{.*}}[%{{.*}}, %{{.*}}] to %[[K:[0-9a-z]*]] : !tile.view<?x64xf16>
    // CHECK-NEXT: tile_nv.commit_group
    // CHECK-NEXT: tile_nv.wait_group 0
    // CHECK-NEXT: tile_nv.dot %[[Q]], %[[K]], %{{.*}} {transpose_b}
    %k0 = tile.load %kv[%i, %c0] : !tile.view<?x64xf16> -> tensor<16x64xf16, #blocked>
    %s = tile.dot %q1, %k0, %zeros {transpose_b} : tensor<16x64xf16, #acc>, tensor<16x64xf16, #blocked> -> tensor<16x16xf32, #scores>
    // CHECK-NEXT: tile_nv.copy_async %{{.*}}[%{{.*}}, %{{.*}}] to %[[V:[0-9a-z]*]] :
    // CHECK-NEXT: tile_nv.commit_group
    // CHECK-NEXT: %[[W:.*]] = arith.truncf
    // CHECK-NEXT: tile_nv.wait_group 0
    // CHECK-NEXT: tile_nv.dot %[[W]], %[[V]], %{{.*}} : tensor<16x16xf16
    %v0 = tile.load %kv[%i, %c0] : !tile.view<?x64xf16> -> tensor<16x64xf16, #blocked>
    %w = arith.truncf %s : tensor<16x16xf32, #scores> to tensor<16x16xf16, #scores>
    %p = tile.dot %w, %v0, %sum : tensor<16x16xf16, #scores>, tensor<16x64xf16, #blocked> -> tensor<16x64xf32, #acc>
    scf.yield %p : tensor<16x64xf32, #acc>
  }
  tile.store %r, %ov[%c0, %c0] : tensor<16x64xf32, #acc>, !tile.view<16x64xf32>
  tile.return
}

// -----

// The same with operands kept in registers: loaded once, where the loop begins.

#operand = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#blocked = #tile.layout<16x16, register = [(0, 1), (0, 2), (0, 4)], lane = [(0, 8), (1, 0), (2, 0), (4, 0), (8, 0)]>

// CHECK-DAG: #[[OPERAND:.*]] = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)],
// CHECK-LABEL: tile.kernel @kept
tile.kernel @kept(%q: memref<16x16xf16>, %k: memref<16x16xf16>, %o: memref<16x16xf32>, %n: index) attributes {tile_nv.keep_operands = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #operand>
  // CHECK: tile_nv.copy_async %{{.*}} to %[[Q:[0-9a-z]*]] :
  // CHECK: tile_nv.commit_group
  // CHECK: tile.view
  // CHECK: tile_nv.wait_group 0
  // CHECK: %[[A:.*]] = tile_nv.load %[[Q]] : {{.*}} -> tensor<16x16xf16, #[[OPERAND]]>
  // CHECK: scf.for
  // CHECK: tile_nv.dot %[[A]], %{{.*}} : tensor<16x16xf16, #[[OPERAND]]>, !tile_nv.buffer
  %qv = tile.view %q[:, :] : memref<16x16xf16> -> !tile.view<16x16xf16>
  %q0 = tile.load %qv[%c0, %c0] : !tile.view<16x16xf16> -> tensor<16x16xf16, #blocked>
  %q1 = tile.convert_layout %q0 : tensor<16x16xf16, #blocked> -> tensor<16x16xf16, #operand>
  %kv = tile.view %k[:, :] : memref<16x16xf16> -> !tile.view<16x16xf16>
  %ov = tile.view %o[:, :] : memref<16x16xf32> -> !tile.view<16x16xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<16x16xf32, #operand>) {
    %k0 = tile.load %kv[%c0, %c0] : !tile.view<16x16xf16> -> tensor<16x16xf16, #blocked>
    %s = tile.dot %q1, %k0, %sum : tensor<16x16xf16, #operand>, tensor<16x16xf16, #blocked> -> tensor<16x16xf32, #operand>
    scf.yield %s : tensor<16x16xf32, #operand>
  }
  tile.store %r, %ov[%c0, %c0] : tensor<16x16xf32, #operand>, !tile.view<16x16xf32>
  tile.return
}

// -----

// Not copied asynchronously: padding other than 0, elements of 2 bytes each by itself, a tile that something else reads, and one that is
// computed. They are stored where they are made.

#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#blocked = #tile.layout<16x16, register = [(0, 1), (0, 2), (0, 4)], lane = [(0, 8), (1, 0), (2, 0), (4, 0), (8, 0)]>

// CHECK-LABEL: tile.kernel @stored
// CHECK-NOT: copy_async
tile.kernel @stored(%a: memref<16x16xf16>, %b: memref<16x?xf16>, %o: memref<16x16xf32>, %p: memref<16x16xf16>, %i: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f16
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  %av = tile.view %a[:, :] : memref<16x16xf16> -> !tile.view<16x16xf16>
  %bv = tile.view %b[:, :] : memref<16x?xf16> -> !tile.view<16x?xf16>
  %ov = tile.view %o[:, :] : memref<16x16xf32> -> !tile.view<16x16xf32>
  %pv = tile.view %p[:, :] : memref<16x16xf16> -> !tile.view<16x16xf16>
  // CHECK: %[[X:.*]] = tile.load %{{.*}} pad(
  // CHECK-NEXT: tile_nv.store %[[X]], %[[A:.*]] :
  %x = tile.load %av[%i, %c0] pad(%one) : !tile.view<16x16xf16> -> tensor<16x16xf16, #blocked>
  %x1 = tile.convert_layout %x : tensor<16x16xf16, #blocked> -> tensor<16x16xf16, #acc>
  // CHECK: %[[Y:.*]] = tile.load
  // CHECK-NEXT: tile_nv.store %[[Y]], %[[B:.*]] :
  %y = tile.load %bv[%c0, %c0] : !tile.view<16x?xf16> -> tensor<16x16xf16, #blocked>
  // CHECK: tile_nv.dot %[[A]], %[[B]]
  %d = tile.dot %x1, %y, %zero : tensor<16x16xf16, #acc>, tensor<16x16xf16, #blocked> -> tensor<16x16xf32, #acc>
  // CHECK: %[[Z:.*]] = tile.load
  // CHECK-NEXT: tile_nv.store %[[Z]], %[[C:.*]] :
  %z = tile.load %av[%c0, %c0] : !tile.view<16x16xf16> -> tensor<16x16xf16, #blocked>
  // CHECK: %[[W:.*]] = arith.negf
  // CHECK-NEXT: tile_nv.store %[[W]], %[[E:.*]] :
  %w = arith.negf %z : tensor<16x16xf16, #blocked>
  %w1 = tile.convert_layout %w : tensor<16x16xf16, #blocked> -> tensor<16x16xf16, #acc>
  // CHECK: tile_nv.dot %[[E]], %[[C]]
  %e = tile.dot %w1, %z, %d : tensor<16x16xf16, #acc>, tensor<16x16xf16, #blocked> -> tensor<16x16xf32, #acc>
  tile.store %e, %ov[%c0, %c0] : tensor<16x16xf32, #acc>, !tile.view<16x16xf32>
  tile.store %w, %pv[%c0, %c0] : tensor<16x16xf16, #blocked>, !tile.view<16x16xf16>
  tile.return
}

// -----

// Without matrix instructions both operands lie in shared memory; rows of 12 bytes cannot be swizzled.

#acc = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#a = #tile.layout<16x3, register = [(8, 0)], lane = [(0, 0), (0, 0), (1, 0), (2, 0), (4, 0)], repeat = [3 x register 2 -> coord1 1]>
#b = #tile.layout<3x8, lane = [(0, 1), (0, 2), (0, 4), (0, 0), (0, 0)], repeat = [3 x register 1 -> coord0 1]>

// CHECK-DAG: #[[A:.*]] = #tile.layout<16x3, offset = [(1, 0), (2, 0), (4, 0), (8, 0)], repeat = [3 x offset 1 -> coord1 1]>
// CHECK-LABEL: tile.kernel @multiply_add
tile.kernel @multiply_add(%a: memref<16x3xf32>, %b: memref<3x8xf32>, %o: memref<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %av = tile.view %a[:, :] : memref<16x3xf32> -> !tile.view<16x3xf32>
  %bv = tile.view %b[:, :] : memref<3x8xf32> -> !tile.view<3x8xf32>
  %ov = tile.view %o[:, :] : memref<16x8xf32> -> !tile.view<16x8xf32>
  // CHECK: tile_nv.copy_async %{{.*}} : !tile.view<16x3xf32>, !tile_nv.buffer<16x3xf32, #[[A]]>
  %x = tile.load %av[%c0, %c0] : !tile.view<16x3xf32> -> tensor<16x3xf32, #a>
  %y = tile.load %bv[%c0, %c0] : !tile.view<3x8xf32> -> tensor<3x8xf32, #b>
  // CHECK: tile_nv.dot %{{.*}}, %{{.*}}, %{{.*}} : !tile_nv.buffer<16x3xf32, #[[A]]>, !tile_nv.buffer<3x8xf32
  %d = tile.dot %x, %y, %zero : tensor<16x3xf32, #a>, tensor<3x8xf32, #b> -> tensor<16x8xf32, #acc>
  tile.store %d, %ov[%c0, %c0] : tensor<16x8xf32, #acc>, !tile.view<16x8xf32>
  tile.return
}

// -----

// No copy of a tile whose memory is written before the product: the copy could read what was written. A copy of a loop is waited for
// before the branch with its product, as the next trip copies to the same buffer. One tile may be both factors.

#acc = #tile.layout<16x16, register = [(0, 1), (8, 0), (0, 8)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#blocked = #tile.layout<16x16, register = [(0, 1), (0, 2), (0, 4)], lane = [(0, 8), (1, 0), (2, 0), (4, 0), (8, 0)]>

// CHECK-LABEL: tile.kernel @overwritten
tile.kernel @overwritten(%x: memref<16x16xf16>, %o: memref<16x16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = arith.constant dense<7.0> : tensor<16x16xf16, #blocked>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  %xv = tile.view %x[:, :] : memref<16x16xf16> -> !tile.view<16x16xf16>
  %ov = tile.view %o[:, :] : memref<16x16xf32> -> !tile.view<16x16xf32>
  // CHECK-NOT: tile_nv.copy_async
  // CHECK: tile.load
  // CHECK-NEXT: tile_nv.store
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile_nv.dot
  %t = tile.load %xv[%c0, %c0] : !tile.view<16x16xf16> -> tensor<16x16xf16, #blocked>
  tile.store %s, %xv[%c0, %c0] : tensor<16x16xf16, #blocked>, !tile.view<16x16xf16>
  %d = tile.dot %t, %t, %zero : tensor<16x16xf16, #blocked>, tensor<16x16xf16, #blocked> -> tensor<16x16xf32, #acc>
  // CHECK: scf.for
  // CHECK-NEXT: tile_nv.copy_async
  // CHECK-NEXT: tile_nv.commit_group
  // CHECK-NEXT: arith.cmpi
  // CHECK-NEXT: tile_nv.wait_group 0
  // CHECK-NEXT: scf.if
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %d) -> (tensor<16x16xf32, #acc>) {
    %u = tile.load %xv[%c0, %c0] : !tile.view<16x16xf16> -> tensor<16x16xf16, #blocked>
    %c = arith.cmpi sgt, %i, %c1 : index
    %b = scf.if %c -> (tensor<16x16xf32, #acc>) {
      %e = tile.dot %u, %u, %sum : tensor<16x16xf16, #blocked>, tensor<16x16xf16, #blocked> -> tensor<16x16xf32, #acc>
      scf.yield %e : tensor<16x16xf32, #acc>
    } else {
      scf.yield %sum : tensor<16x16xf32, #acc>
    }
    scf.yield %b : tensor<16x16xf32, #acc>
  }
  tile.store %r, %ov[%c0, %c0] : tensor<16x16xf32, #acc>, !tile.view<16x16xf32>
  tile.return
}

// -----

// A vector that all rows share, such as a norm's weight, goes into the ring with the operands; with one stage each thread loads it.

#acc = #tile.layout<16x8, register = [(0, 1), (8, 0)], lane = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]>
#blocked = #tile.layout<16x16, register = [(0, 1), (0, 2), (0, 4)], lane = [(0, 8), (1, 0), (2, 0), (4, 0), (8, 0)]>
#columns = #tile.layout<16, register = [(1), (2), (4)], lane = [(8), (0), (0), (0), (0)]>
#right = #tile.layout<8x16, register = [(0, 1), (0, 2)], lane = [(0, 4), (0, 8), (1, 0), (2, 0), (4, 0)]>

// CHECK-DAG: #[[INORDER:.*]] = #tile.layout<16, offset = [(1), (2), (4), (8)]>

// CHECK-LABEL: tile.kernel @vector
tile.kernel @vector(%x: memref<16x64xf16>, %w: memref<64xf16>, %u: memref<8x64xf16>, %o: memref<16x8xf32>) config <block = [16, 8], stages = 2, warps = 1> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %xv = tile.view %x[:, :] : memref<16x64xf16> -> !tile.view<16x64xf16>
  %wv = tile.view %w[:] : memref<64xf16> -> !tile.view<64xf16>
  %uv = tile.view %u[:, :] : memref<8x64xf16> -> !tile.view<8x64xf16>
  %ov = tile.view %o[:, :] : memref<16x8xf32> -> !tile.view<16x8xf32>
  %r = scf.for %k = %c0 to %c64 step %c16 iter_args(%sum = %zero) -> (tensor<16x8xf32, #acc>) {
    %x0 = tile.load %xv[%c0, %k] : !tile.view<16x64xf16> -> tensor<16x16xf16, #blocked>
    // CHECK: tile_nv.copy_async %{{.*}}[%{{.*}}] to %[[W:[0-9a-z]*]] : !tile.view<64xf16>, !tile_nv.buffer<16xf16, #[[INORDER]]>
    // CHECK-NEXT: tile_nv.commit_group
    // CHECK-NEXT: tile_nv.wait_group 0
    // CHECK-NEXT: %[[V:.*]] = tile_nv.load %[[W]] : !tile_nv.buffer<16xf16, #[[INORDER]]> -> tensor<16xf16, #{{.*}}>
    // CHECK-NEXT: tile.broadcast %[[V]] along 0
    %w0 = tile.load %wv[%k] : !tile.view<64xf16> -> tensor<16xf16, #columns>
    %w1 = tile.broadcast %w0 along 0 : tensor<16xf16, #columns> -> tensor<16x16xf16, #blocked>
    %a = arith.mulf %x0, %w1 : tensor<16x16xf16, #blocked>
    %u0 = tile.load %uv[%c0, %k] : !tile.view<8x64xf16> -> tensor<8x16xf16, #right>
    %p = tile.dot %a, %u0, %sum {transpose_b} : tensor<16x16xf16, #blocked>, tensor<8x16xf16, #right> -> tensor<16x8xf32, #acc>
    scf.yield %p : tensor<16x8xf32, #acc>
  }
  tile.store %r, %ov[%c0, %c0] : tensor<16x8xf32, #acc>, !tile.view<16x8xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @one_stage
tile.kernel @one_stage(%x: memref<16x64xf16>, %w: memref<64xf16>, %u: memref<8x64xf16>, %o: memref<16x8xf32>) config <block = [16, 8], stages = 1, warps = 1> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  %xv = tile.view %x[:, :] : memref<16x64xf16> -> !tile.view<16x64xf16>
  %wv = tile.view %w[:] : memref<64xf16> -> !tile.view<64xf16>
  %uv = tile.view %u[:, :] : memref<8x64xf16> -> !tile.view<8x64xf16>
  %ov = tile.view %o[:, :] : memref<16x8xf32> -> !tile.view<16x8xf32>
  %r = scf.for %k = %c0 to %c64 step %c16 iter_args(%sum = %zero) -> (tensor<16x8xf32, #acc>) {
    %x0 = tile.load %xv[%c0, %k] : !tile.view<16x64xf16> -> tensor<16x16xf16, #blocked>
    // CHECK-NOT: tile_nv.copy_async
    // CHECK: tile.load %{{.*}}[%{{.*}}] : !tile.view<64xf16> -> tensor<16xf16,
    %w0 = tile.load %wv[%k] : !tile.view<64xf16> -> tensor<16xf16, #columns>
    %w1 = tile.broadcast %w0 along 0 : tensor<16xf16, #columns> -> tensor<16x16xf16, #blocked>
    %a = arith.mulf %x0, %w1 : tensor<16x16xf16, #blocked>
    %u0 = tile.load %uv[%c0, %k] : !tile.view<8x64xf16> -> tensor<8x16xf16, #right>
    %p = tile.dot %a, %u0, %sum {transpose_b} : tensor<16x16xf16, #blocked>, tensor<8x16xf16, #right> -> tensor<16x8xf32, #acc>
    scf.yield %p : tensor<16x8xf32, #acc>
  }
  tile.store %r, %ov[%c0, %c0] : tensor<16x8xf32, #acc>, !tile.view<16x8xf32>
  tile.return
}
