// What the simulator counts, as a table and as JSON; and its options.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --target=sim-sm_80 -o %t/m.so

// 128 threads load and store 4 bytes each, 4 sectors of 32 bytes a warp.
// RUN: heddle-run %t/m.so --random 1 --dim N=8 --sim-report | FileCheck %s --match-full-lines --strict-whitespace
//      CHECK:kernel 'pick': launches 1, CTAs 1 of 128 threads, shared memory 0 bytes, defects 0
// CHECK-NEXT:  operation                                      sites  warp instr  global bytes  sectors  used  shared bytes  wavefronts  conflicts  mma flops  needed flops  useful  barrier waits
// CHECK-NEXT:  llvm.load at report.mlir:[[#LOAD:]]:8 (load_global)        1           4           512       16  100%             -           -          -          -             -       -              -
// CHECK-NEXT:  llvm.store at report.mlir:[[#LOAD+2]]:3 (store_global)      1           4           512       16  100%             -           -          -          -             -       -              -
// CHECK-NEXT:  total                                              -           8          1024       32  100%             -           -          -          -             -       -              -
// CHECK-NEXT:  instructions: load_global 4, store_global 4

// RUN: heddle-run %t/m.so --random 1 --dim N=8 --bench 4 --sim-seed 3 --sim-report=%t/report.json
// RUN: python3 -m json.tool %t/report.json | FileCheck %s --check-prefix=JSON
// JSON: "name": "pick",
// JSON-NEXT: "launches": 5,
// JSON-NEXT: "ctas": 5,
// JSON: "total": {
// JSON: "global_load_bytes": 2560,
// JSON-NEXT: "global_load_sectors": 80,
// JSON: "name": "llvm.load at report.mlir:
// JSON-NEXT: "class": "load_global",
// JSON-NEXT: "sites": 1,
// JSON: "reports": []

// RUN: not heddle-run %t/m.so --sim-check=bound 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: --sim-check: 'bound' is no check; known are all, none, bounds, alignment, races, uninitialized, async, sync
// RUN: not heddle-run %t/m.so --random 1 --dim N=8 --sim-report=%t/none/report.json 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: --sim-report: cannot write {{.*}}none/report.json: No such file or directory
// RUN: heddle-compile %s --target=cpu -o %t/cpu.so
// RUN: not heddle-run %t/cpu.so --random 1 --dim N=8 --sim-report 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: cpu.so: holds no simulated kernels, so that --sim-check, --sim-report and --sim-seed have no meaning

tile.kernel @pick(%x: memref<?x?xf32, strided<[?, 1], offset: ?>>, %y: memref<?x?xf32, strided<[?, 1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %from = tile.view %x[%c5, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?xf32>
  %to = tile.view %y[%c0, :] : memref<?x?xf32, strided<[?, 1], offset: ?>> -> !tile.view<?xf32>
  %t = tile.load %from[%c0] pad(%zero) : !tile.view<?xf32> -> tensor<128xf32>
  %d = arith.addf %t, %t : tensor<128xf32>
  tile.store %d, %to[%c0] : tensor<128xf32>, !tile.view<?xf32>
  tile.return
}
func.func @f(%x: tensor<?x128xf32> {heddle.name = "x", heddle.dims = ["N", ""]}) -> (tensor<1x128xf32> {heddle.name = "y"}) {
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<1x128xf32>
  %y = tile.dispatch @pick grid(%c1, %c1, %c1) ins(%x : tensor<?x128xf32>) outs(%e : tensor<1x128xf32>)
  return %y : tensor<1x128xf32>
}
