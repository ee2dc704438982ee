// What the simulator tells: defects, and counts as a table and as JSON.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --target=sim-sm_80 -o %t/m.so

// Row 5 of 8: 32 lanes load and store 4 bytes each, 4 sectors of 32 bytes.
// RUN: heddle-run %t/m.so --random 1 --dim N=8 --sim-report | FileCheck %s --match-full-lines
// CHECK: kernel 'pick': launches 1, CTAs 1 of {{[0-9]+}} threads, shared memory 0 bytes, defects 0
// CHECK-NEXT:   operation {{ +}}sites  warp instr  global bytes  sectors  used  shared bytes  wavefronts  conflicts  mma flops  barrier waits
// CHECK-NEXT:   llvm.load at report.mlir:[[#LOAD:]]:{{[0-9]+}} (load_global) {{ +}}1 {{ +}}1 {{ +}}128 {{ +}}4  100% {{ +}}- {{ +}}- {{ +}}- {{ +}}- {{ +}}-
// CHECK-NEXT:   llvm.store at report.mlir:[[#LOAD+2]]:{{[0-9]+}} (store_global) {{ +}}1 {{ +}}1 {{ +}}128 {{ +}}4  100% {{.*}}
// CHECK-NEXT:   total {{ +}}- {{ +}}2 {{ +}}256 {{ +}}8  100% {{.*}}
// CHECK-NEXT:   instructions: load_global 1, store_global 1

// RUN: heddle-run %t/m.so --random 1 --dim N=8 --bench 4 --sim-seed 3 --sim-report=%t/report.json
// RUN: python3 -m json.tool %t/report.json | FileCheck %s --check-prefix=JSON
// JSON: "name": "pick",
// JSON-NEXT: "launches": 5,
// JSON-NEXT: "ctas": 5,
// JSON: "total": {
// JSON: "global_load_bytes": 640,
// JSON-NEXT: "global_load_sectors": 20,
// JSON: "name": "llvm.load at report.mlir:
// JSON-NEXT: "class": "load_global",
// JSON-NEXT: "sites": 1,
// JSON: "reports": []

// Row 5 of 4 does not exist.
// RUN: not heddle-run %t/m.so --random 1 --dim N=4 --output y=%t/y.npy 2> %t/error
// RUN: FileCheck %s --check-prefix=DEFECT --input-file=%t/error
// DEFECT: m.so: kernel 'pick': out of bounds in CTA (0, 0, 0): thread 0 (warp 0, lane 0) at op 0 'llvm.load at report.mlir:{{[0-9:]+}}' reads 4 bytes at global address {{0x[0-9a-f]+}}: 128 bytes past the end of buffer 'x' of 512 bytes [32 times]
// DEFECT: heddle-run: error: {{.*}}f: simulated kernel 'pick': out of bounds
// RUN: not test -e %t/y.npy
// RUN: heddle-run %t/m.so --random 1 --dim N=4 --sim-check=races,alignment
// RUN: not heddle-run %t/m.so --random 1 --dim N=4 --sim-check=bounds 2>/dev/null

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
  %t = tile.load %from[%c0] pad(%zero) : !tile.view<?xf32> -> tensor<32xf32>
  %d = arith.addf %t, %t : tensor<32xf32>
  tile.store %d, %to[%c0] : tensor<32xf32>, !tile.view<?xf32>
  tile.return
}
func.func @f(%x: tensor<?x32xf32> {heddle.name = "x", heddle.dims = ["N", ""]}) -> (tensor<1x32xf32> {heddle.name = "y"}) {
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<1x32xf32>
  %y = tile.dispatch @pick grid(%c1, %c1, %c1) ins(%x : tensor<?x32xf32>) outs(%e : tensor<1x32xf32>)
  return %y : tensor<1x32xf32>
}
