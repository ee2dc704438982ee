// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-pipeline,canonicalize,cse))' --remarks-filter=tile-pipeline --remark-format=emitRemark 2>&1 | FileCheck %s
#tile = #tile.layout<64x64, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (32, 0)]>
!tile = !tile_nv.buffer<64x64xf16, #tile>
!view = !tile.view<?x64xf16>

// The remarks of all kernels come first.
// CHECK-DAG: remark: {{.*}}Missed{{.*}}the copy stays: its address depends on a value that the loop carries
// CHECK-DAG: remark: {{.*}}Missed{{.*}}the copy stays: the loop writes the memory that it reads
// CHECK-DAG: remark: {{.*}}Missed{{.*}}the loop stays: one buffer each, and nothing is done between the last read and the next copies

// One buffer each. The first K starts before the wait for Q; V starts while scores are formed, the next K while values are weighed.
// CHECK-LABEL: tile.kernel @one_buffer(
// CHECK: %[[Q:.*]] = tile_nv.alloc
// CHECK: %[[K:.*]] = tile_nv.alloc
// CHECK: %[[V:.*]] = tile_nv.alloc
// CHECK: tile_nv.copy_async {{.*}} to %[[Q]]
// CHECK-NEXT: tile_nv.commit_group
// CHECK-NEXT: %[[LIMIT:.*]] = arith.subi %[[END:.*]], %c64
// CHECK-NEXT: %[[ANY:.*]] = arith.cmpi slt, %[[BEGIN:.*]], %[[END]]
// CHECK-NEXT: scf.if %[[ANY]] {
// CHECK-NEXT:   tile_nv.copy_async %{{.*}}[%[[BEGIN]], %c0] to %[[K]]
// CHECK-NEXT:   tile_nv.commit_group
// CHECK-NEXT: }
// CHECK-NEXT: tile_nv.wait_group 0
// CHECK-NEXT: %[[QUERIES:.*]] = tile_nv.load %[[Q]]
// CHECK-NEXT: scf.for %[[N:.*]] = %[[BEGIN]] to %[[END]] step %c64
// CHECK-NEXT:   tile_nv.wait_group 0
// CHECK-NEXT:   tile_nv.copy_async %{{.*}}[%[[N]], %c0] to %[[V]]
// CHECK-NEXT:   tile_nv.commit_group
// CHECK-NEXT:   tile_nv.dot %[[QUERIES]], %[[K]]
// CHECK-NEXT:   tile_nv.wait_group 0
// CHECK-NEXT:   %[[MORE:.*]] = arith.cmpi slt, %[[N]], %[[LIMIT]]
// CHECK-NEXT:   scf.if %[[MORE]] {
// CHECK-NEXT:     %[[NEXT:.*]] = arith.addi %[[N]], %c64
// CHECK-NEXT:     tile_nv.copy_async %{{.*}}[%[[NEXT]], %c0] to %[[K]]
// CHECK-NEXT:     tile_nv.commit_group
// CHECK-NEXT:   }
// CHECK-NEXT:   math.exp2
// CHECK:        tile_nv.dot %{{.*}}, %[[V]]
// CHECK:      }
// CHECK-NEXT: tile_nv.wait_group 0
tile.kernel @one_buffer(%q: memref<?x64xf16>, %k: memref<?x64xf16>, %v: memref<?x64xf16>, %begin: index, %end: index) config <block = [64, 64], stages = 1> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %qv = tile.view %q[:, :] : memref<?x64xf16> -> !view
  %kv = tile.view %k[:, :] : memref<?x64xf16> -> !view
  %vv = tile.view %v[:, :] : memref<?x64xf16> -> !view
  %Q = tile_nv.alloc : !tile
  %K = tile_nv.alloc : !tile
  %V = tile_nv.alloc : !tile
  tile_nv.copy_async %qv[%c0, %c0] to %Q bounded : !view, !tile
  tile_nv.commit_group
  tile_nv.wait_group 0
  %queries = tile_nv.load %Q : !tile -> tensor<64x64xf16>
  %r = scf.for %n = %begin to %end step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    tile_nv.copy_async %kv[%n, %c0] to %K : !view, !tile
    tile_nv.commit_group
    tile_nv.wait_group 0
    %s = tile_nv.dot %queries, %K, %zero {transpose_b} : tensor<64x64xf16>, !tile -> tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %p = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
    tile_nv.copy_async %vv[%n, %c0] to %V : !view, !tile
    tile_nv.commit_group
    tile_nv.wait_group 0
    %o = tile_nv.dot %p, %V, %acc : tensor<64x64xf16>, !tile -> tensor<64x64xf32>
    scf.yield %o : tensor<64x64xf32>
  }
  tile.return
}

// A ring of three slots; the first trip is known to exist. The tile that all trips share is copied once.
// CHECK-LABEL: tile.kernel @ring(
// CHECK: %[[A:.*]] = tile_nv.alloc : !tile_nv.buffer<64x64xf16, #{{.*}}, slots = 3>
// CHECK: %[[B:.*]] = tile_nv.alloc : !tile_nv.buffer<64x64xf16, #{{[^,]*}}>
// CHECK-NEXT: tile_nv.copy_async {{.*}} to %[[B]]
// CHECK: %[[SLOT:.*]] = tile_nv.slot %[[A]][%c0]
// CHECK-NEXT: tile_nv.copy_async %{{.*}}[%c0, %c0] to %[[SLOT]]
// CHECK-NEXT: tile_nv.commit_group
// CHECK-NEXT: %[[SLOT:.*]] = tile_nv.slot %[[A]][%c1]
// CHECK-NEXT: tile_nv.copy_async %{{.*}}[%c0, %c64] to %[[SLOT]]
// CHECK-NEXT: tile_nv.commit_group
// CHECK-NEXT: scf.for %[[N:.*]] = %c0 to %c256 step %c64 iter_args(%{{.*}} = %{{.*}}, %[[READ:.*]] = %c0)
// CHECK-NEXT:   tile_nv.wait_group 1
// CHECK-NEXT:   %[[MORE:.*]] = arith.cmpi slt, %[[N]], %c128
// CHECK-NEXT:   scf.if %[[MORE]] {
// CHECK-DAG:      %[[BEFORE:.*]] = arith.subi %[[READ]], %c1
// CHECK-DAG:      %[[FIRST:.*]] = arith.cmpi eq, %[[READ]], %c0
// CHECK:          %[[WRITE:.*]] = arith.select %[[FIRST]], %c2, %[[BEFORE]]
// CHECK:          %[[COLUMN:.*]] = arith.addi %[[N]], %c128
// CHECK:          %[[SLOT:.*]] = tile_nv.slot %[[A]][%[[WRITE]]]
// CHECK:          tile_nv.copy_async %{{.*}}[%c0, %[[COLUMN]]] to %[[SLOT]]
// CHECK:        }
// CHECK-NEXT:   tile_nv.commit_group
// CHECK-NEXT:   %[[NOW:.*]] = tile_nv.slot %[[A]][%[[READ]]]
// CHECK-NEXT:   tile_nv.dot %[[NOW]], %[[B]]
// CHECK-DAG:    %[[INCREASED:.*]] = arith.addi %[[READ]], %c1
// CHECK-DAG:    %[[LAST:.*]] = arith.cmpi eq, %[[READ]], %c2
// CHECK:        %[[NEXT:.*]] = arith.select %[[LAST]], %c0, %[[INCREASED]]
// CHECK:        scf.yield %{{.*}}, %[[NEXT]]
// CHECK:      tile_nv.wait_group 0
tile.kernel @ring(%x: memref<?x?xf16>, %y: memref<?x64xf16>) config <block = [64, 64], stages = 3> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %xv = tile.view %x[:, :] : memref<?x?xf16> -> !tile.view<?x?xf16>
  %yv = tile.view %y[:, :] : memref<?x64xf16> -> !view
  %A = tile_nv.alloc : !tile
  %B = tile_nv.alloc : !tile
  %r = scf.for %n = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    tile_nv.copy_async %xv[%c0, %n] to %A : !tile.view<?x?xf16>, !tile
    tile_nv.commit_group
    tile_nv.copy_async %yv[%c0, %c0] to %B : !view, !tile
    tile_nv.commit_group
    tile_nv.wait_group 0
    %o = tile_nv.dot %A, %B, %acc : !tile, !tile -> tensor<64x64xf32>
    scf.yield %o : tensor<64x64xf32>
  }
  tile.return
}

// Where the first copy goes is read from shared memory, so it does not start before that.
// CHECK-LABEL: tile.kernel @table(
// CHECK: tile_nv.wait_group 0
// CHECK: tile_nv.load
// CHECK: %[[ROW:.*]] = arith.index_cast
// CHECK: scf.if
// CHECK: tile_nv.copy_async %{{.*}}[%[[ROW]], %c0]
tile.kernel @table(%x: memref<?x64xf16>, %t: memref<?x64xi32>, %end: index) config <block = [64, 64], stages = 1> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %view = tile.view %x[:, :] : memref<?x64xf16> -> !view
  %rows = tile.view %t[:, :] : memref<?x64xi32> -> !tile.view<?x64xi32>
  %A = tile_nv.alloc : !tile
  %T = tile_nv.alloc : !tile_nv.buffer<64x64xi32, #tile>
  tile_nv.copy_async %rows[%c0, %c0] to %T : !tile.view<?x64xi32>, !tile_nv.buffer<64x64xi32, #tile>
  tile_nv.commit_group
  tile_nv.wait_group 0
  %all = tile_nv.load %T : !tile_nv.buffer<64x64xi32, #tile> -> tensor<64x64xi32>
  %one = tensor.extract %all[%c0, %c0] : tensor<64x64xi32>
  %row = arith.index_cast %one : i32 to index
  scf.for %n = %row to %end step %c64 {
    tile_nv.copy_async %view[%n, %c0] to %A : !view, !tile
    tile_nv.commit_group
    tile_nv.wait_group 0
    %a = tile_nv.load %A : !tile -> tensor<64x64xf16>
    %double = arith.addf %a, %a : tensor<64x64xf16>
    %o = tile.view %t[:, :] : memref<?x64xi32> -> !tile.view<?x64xi32>
    tile.store %all, %o[%n, %c0] : tensor<64x64xi32>, !tile.view<?x64xi32>
  }
  tile.return
}

// Where a copy goes depends on the trip before, a loop stores what it copies, or nothing is left to overlap: as it was.
// CHECK-LABEL: tile.kernel @left_alone(
// CHECK: scf.for
// CHECK-NEXT: tile_nv.copy_async
// CHECK-NEXT: tile_nv.commit_group
// CHECK-NEXT: tile_nv.wait_group 0
// CHECK: scf.for
// CHECK-NEXT: tile_nv.copy_async
// CHECK: scf.for
// CHECK-NEXT: tile_nv.copy_async
tile.kernel @left_alone(%x: memref<?x64xf16>, %end: index) config <block = [64, 64], stages = 1> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %view = tile.view %x[:, :] : memref<?x64xf16> -> !view
  %A = tile_nv.alloc : !tile
  %r = scf.for %n = %c0 to %end step %c64 iter_args(%row = %c0) -> (index) {
    tile_nv.copy_async %view[%row, %c0] to %A : !view, !tile
    tile_nv.commit_group
    tile_nv.wait_group 0
    %t = tile_nv.load %A : !tile -> tensor<64x64xf16>
    %next = arith.addi %row, %n : index
    scf.yield %next : index
  }
  scf.for %n = %c0 to %end step %c64 {
    tile_nv.copy_async %view[%n, %c0] to %A : !view, !tile
    tile_nv.commit_group
    tile_nv.wait_group 0
    %t = tile_nv.load %A : !tile -> tensor<64x64xf16>
    %double = arith.addf %t, %t : tensor<64x64xf16>
    tile.store %double, %view[%n, %c0] : tensor<64x64xf16>, !view
  }
  scf.for %n = %c0 to %end step %c64 {
    tile_nv.copy_async %view[%n, %c0] to %A : !view, !tile
    tile_nv.commit_group
    tile_nv.wait_group 0
    %t = tile_nv.load %A : !tile -> tensor<64x64xf16>
  }
  tile.return
}
