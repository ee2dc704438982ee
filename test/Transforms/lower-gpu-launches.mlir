// RUN: heddle-opt %s --split-input-file --lower-gpu-launches --verify-diagnostics | FileCheck %s
// RUN: heddle-opt %s --split-input-file --lower-gpu-launches=simulated --verify-diagnostics | FileCheck %s --check-prefix=SIM

// Texts: names are those of arguments, and empty where callers know none.
// CHECK: @heddle_launch_text_3("view of x\00y\00\00\00\00")
// CHECK: @heddle_launch_text_2("entry\00")
// CHECK: @heddle_launch_text_1("scale\00")
// CHECK: module @scale

// What the runtime knows about the kernel: name, argument table, arguments, threads, shared bytes, chip, image, places, simulated code, formula.
// Each argument is four words: rank, element bytes, alignment, written. -1 is a scalar, -2 an index.
// CHECK: llvm.mlir.global internal constant @scale.arguments(dense<[2, 2, 16, 0, 1, 4, 4, 1, -1, 4, 0, 0, -2, 8, 0, 0]> : tensor<16xi32>)
// CHECK: llvm.mlir.global external constant @scale.image() {{.*}} : !llvm.array<0 x i8>
// CHECK: llvm.mlir.global internal @scale.loaded() {{.*}} : !llvm.array<32 x i64> {
// CHECK: llvm.mlir.global internal constant @scale.launch() {{.*}} : !llvm.struct<(ptr, ptr, i32, i32, i32, i32, ptr, ptr, ptr, ptr)> {
// CHECK: %[[NAME:.*]] = llvm.mlir.addressof @heddle_launch_text_1
// CHECK: llvm.insertvalue %[[NAME]], %{{.*}}[0]
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @scale.arguments
// CHECK: llvm.insertvalue %[[TABLE]], %{{.*}}[1]
// CHECK-DAG: llvm.mlir.constant(4 : i32)
// CHECK-DAG: llvm.mlir.constant(128 : i32)
// CHECK-DAG: llvm.mlir.constant(4096 : i32)
// CHECK-DAG: llvm.mlir.constant(80 : i32)
// CHECK: %[[IMAGE:.*]] = llvm.mlir.addressof @scale.image
// CHECK: llvm.insertvalue %[[IMAGE]], %{{.*}}[6]
// CHECK: %[[LOADED:.*]] = llvm.mlir.addressof @scale.loaded
// CHECK: llvm.insertvalue %[[LOADED]], %{{.*}}[7]
// CHECK: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.insertvalue %[[NULL]], %{{.*}}[8]
// CHECK: llvm.insertvalue %{{.*}}, %{{.*}}[9]

// SIM-NOT: @scale.loaded
// SIM: llvm.mlir.global external constant @heddle_sim_kernel.scale()
// SIM-NOT: @scale.loaded
// The formula: one term of 2 FLOPs times dimension 0 of argument 0; no pairs.
// SIM: llvm.mlir.global internal constant @scale.needed(dense<[1, 2, 1, 0, 0, -1, -1, -1, -1, -1, -1, -1]> : tensor<12xi64>)
// SIM: llvm.mlir.global internal constant @scale.launch()
// SIM: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// SIM: llvm.insertvalue %[[NULL]], %{{.*}}[6]
// SIM: llvm.insertvalue %{{.*}}, %{{.*}}[7]
// SIM: %[[CODE:.*]] = llvm.mlir.addressof @heddle_sim_kernel.scale
// SIM: llvm.insertvalue %[[CODE]], %{{.*}}[8]
// SIM: %[[NEEDED:.*]] = llvm.mlir.addressof @scale.needed
// SIM: llvm.insertvalue %[[NEEDED]], %{{.*}}[9]
module @scale attributes {tile_nv.chip = "sm_80", tile_nv.threads = 128 : i32, tile_nv.shared_bytes = 4096 : i32,
                          tile_nv.alignments = array<i32: 16, 4, 0, 0>, tile_nv.written = array<i1: false, true, false, false>,
                          tile_nv.needed_flops = [#tile.products<flops = 2, extents = [0, 0]>]} {}

// Ten words: address, 2 extents, 2 strides; address, extent, stride; the scalars.
// CHECK-LABEL: func.func @entry
// CHECK-SAME: (%[[CTX:.*]]: !llvm.ptr, %[[X:.*]]: memref<?x?xf16
// CHECK: %[[COUNT:.*]] = llvm.mlir.constant(10 : i64) : i64
// CHECK: %[[WORDS:.*]] = llvm.alloca %[[COUNT]] x i64
// CHECK: %[[PARAMS:.*]] = llvm.alloca %[[COUNT]] x !llvm.ptr
// CHECK: %{{.*}}, %[[OFFSET:.*]], %[[SIZES:.*]]:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata
// CHECK: %[[BASE:.*]] = memref.extract_aligned_pointer_as_index
// CHECK: %[[BYTES:.*]] = arith.muli %[[OFFSET]], %c2
// CHECK: %[[ADDRESS:.*]] = arith.addi %[[BASE]], %[[BYTES]] : index
// CHECK: %[[WORD:.*]] = arith.index_cast %[[ADDRESS]] : index to i64
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[WORDS]][0]
// CHECK: llvm.store %[[WORD]], %[[FIRST]]
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[PARAMS]][0]
// CHECK: llvm.store %[[FIRST]], %[[SLOT]]
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr
// CHECK: %[[KERNEL:.*]] = llvm.mlir.addressof @scale.launch
// CHECK: %[[STATUS:.*]] = llvm.call @heddle_rt_launch(%[[CTX]], %[[KERNEL]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[PARAMS]])
// CHECK: %[[FAILED:.*]] = arith.cmpi ne, %[[STATUS]]
// CHECK: cf.cond_br %[[FAILED]], ^[[LEAVE:.*]], ^[[REST:.*]]
// CHECK: ^[[LEAVE]]:
// CHECK: return %[[STATUS]] : i32
// CHECK: ^[[REST]]:
func.func @entry(%ctx: !llvm.ptr, %x: memref<?x?xf16, strided<[?, 1]>> {heddle.name = "x"}, %y: memref<?xf32> {heddle.name = "y"}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = arith.constant 2.0 : f32
  %n = memref.dim %y, %c0 : memref<?xf32>
  %v = memref.subview %x[1, 0][%n, %n][1, 1] : memref<?x?xf16, strided<[?, 1]>> to memref<?x?xf16, strided<[?, 1], offset: ?>>
  tile_nv.launch @scale grid(%n, %c1, %c1) (%v, %y, %s, %n) : memref<?x?xf16, strided<[?, 1], offset: ?>>, memref<?xf32>, f32, index
  %ok = arith.constant 0 : i32
  return %ok : i32
}

// -----

module @k attributes {tile_nv.chip = "sm_80", tile_nv.threads = 128 : i32, tile_nv.shared_bytes = 0 : i32,
                      tile_nv.alignments = array<i32: 16>, tile_nv.written = array<i1: false>} {}
module @l attributes {tile_nv.chip = "sm_80", tile_nv.threads = 128 : i32, tile_nv.shared_bytes = 0 : i32,
                      tile_nv.alignments = array<i32: 16>, tile_nv.written = array<i1: true>} {}

// All launches with nothing but arithmetic between them are checked before the first one; what the host reads or writes separates them.
// CHECK-LABEL: func.func @several
// CHECK-DAG: %[[K:.*]] = llvm.mlir.addressof @k.launch
// CHECK: llvm.call @heddle_rt_check_launch(%{{[^,]*}}, %[[K]], {{.*}}
// CHECK: cf.cond_br
// CHECK: arith.muli
// CHECK: %[[L:.*]] = llvm.mlir.addressof @l.launch
// CHECK: llvm.call @heddle_rt_check_launch(%{{[^,]*}}, %[[L]], {{.*}}
// CHECK: cf.cond_br
// CHECK: addressof @k.launch
// CHECK: llvm.call @heddle_rt_launch
// CHECK: cf.cond_br
// CHECK: addressof @l.launch
// CHECK: llvm.call @heddle_rt_launch
// CHECK: cf.cond_br
// CHECK-NOT: heddle_rt_check_launch
// CHECK: memref.load
// CHECK-NOT: heddle_rt_check_launch
// CHECK: llvm.call @heddle_rt_launch
// CHECK-NOT: tile_nv.launch
func.func @several(%ctx: !llvm.ptr, %x: memref<?xf16>, %n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile_nv.launch @k grid(%n, %c1, %c1) (%x) : memref<?xf16>
  %twice = arith.muli %n, %n : index
  tile_nv.launch @l grid(%twice, %c1, %c1) (%x) : memref<?xf16>
  %value = memref.load %x[%c0] : memref<?xf16>
  tile_nv.launch @k grid(%c1, %c1, %c1) (%x) : memref<?xf16>
  %ok = arith.constant 0 : i32
  return %ok : i32
}

// -----

module @k attributes {tile_nv.chip = "sm_80", tile_nv.threads = 128 : i32, tile_nv.shared_bytes = 0 : i32,
                      tile_nv.alignments = array<i32: 16>, tile_nv.written = array<i1: false>} {}
func.func @inside(%ctx: !llvm.ptr, %x: memref<?xf16>, %n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{op is inside 'scf.for', where the entry can't return early; unroll loops, and compute both sides of a branch}}
    tile_nv.launch @k grid(%c1, %c1, %c1) (%x) : memref<?xf16>
  }
  %ok = arith.constant 0 : i32
  return %ok : i32
}

// -----

// expected-error @below {{expected kernel 'k' to have the attribute 'tile_nv.alignments', an array<i32> of 2 elements}}
module @k attributes {tile_nv.chip = "sm_80", tile_nv.threads = 128 : i32, tile_nv.shared_bytes = 0 : i32,
                      tile_nv.alignments = array<i32: 16>, tile_nv.written = array<i1: false>} {}
func.func @count(%ctx: !llvm.ptr, %x: memref<?xf16>, %n: index) -> i32 {
  %c1 = arith.constant 1 : index
  tile_nv.launch @k grid(%c1, %c1, %c1) (%x, %x) : memref<?xf16>, memref<?xf16>
  %ok = arith.constant 0 : i32
  return %ok : i32
}

// -----

// expected-error @below {{expected kernel 'k' to have the attribute 'tile_nv.chip', a name such as "sm_80"}}
module @k attributes {tile_nv.chip = "gfx90a", tile_nv.threads = 128 : i32, tile_nv.shared_bytes = 0 : i32} {}
func.func @chip(%ctx: !llvm.ptr, %x: memref<?xf16>, %n: index) -> i32 {
  %c1 = arith.constant 1 : index
  tile_nv.launch @k grid(%c1, %c1, %c1) (%x) : memref<?xf16>
  %ok = arith.constant 0 : i32
  return %ok : i32
}

// -----

module @k {}
func.func @no_status(%ctx: !llvm.ptr, %n: index) {
  // expected-error @below {{op is in a function that returns no status; run lower-runtime-checks first}}
  tile_nv.launch @k grid(%n, %n, %n) ()
  return
}

// -----

// expected-error @below {{expected the attribute 'tile_nv.needed_flops' of kernel 'k' to be an array of #tile.products}}
module @k attributes {tile_nv.chip = "sm_80", tile_nv.threads = 128 : i32, tile_nv.shared_bytes = 0 : i32,
                      tile_nv.alignments = array<i32: 16>, tile_nv.written = array<i1: false>, tile_nv.needed_flops = 3} {}
func.func @need(%ctx: !llvm.ptr, %x: memref<?xf16>, %n: index) -> i32 {
  %c1 = arith.constant 1 : index
  tile_nv.launch @k grid(%c1, %c1, %c1) (%x) : memref<?xf16>
  %ok = arith.constant 0 : i32
  return %ok : i32
}
