// What ptxas says about each kernel on each chip; spills are warnings, or errors on request.
// REQUIRES: ptxas
// RUN: heddle-translate --kernels-to=ptx --target=sm_80,sm_86,sm_89,sm_90 %s 2>%t.log | FileCheck %s
// RUN: FileCheck %s --check-prefix=SPILL --input-file=%t.log

// CHECK: // kernel 'spills' for sm_80 and later
// CHECK-NEXT: // ptxas, sm_80: 24 registers, [[STORES:[1-9][0-9]*]] bytes of spill stores, [[LOADS:[1-9][0-9]*]] of spill loads
// CHECK-NEXT: // ptxas, sm_86: 24 registers, {{[1-9]}}
// CHECK-NEXT: // ptxas, sm_89: 24 registers, {{[1-9]}}
// CHECK-NEXT: // ptxas, sm_90: {{[0-9]+}} registers
// CHECK: // kernel 'clean' for sm_80 and later
// CHECK-NEXT: // ptxas, sm_80: {{[0-9]+}} registers, 0 bytes of spill stores, 0 of spill loads

// SPILL: ptxas.mlir:[[#LINE:]]:1: warning: kernel 'spills' on sm_80: registers spill to memory ({{[1-9][0-9]*}} bytes of stores, {{[1-9][0-9]*}} bytes of loads, 24 registers)
// SPILL: warning: kernel 'spills' on sm_86: registers spill to memory
// SPILL: warning: kernel 'spills' on sm_89: registers spill to memory
// SPILL-NOT: 'clean'

// RUN: not heddle-translate --kernels-to=ptx -Werror %s -o %t.ptx 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: kernel 'spills' on sm_80: registers spill to memory
// RUN: heddle-translate --kernels-to=ptx -Werror --kernel=clean %s -o %t.ptx

// A cubin holds one kernel for one chip.
// RUN: heddle-translate --kernels-to=cubin --kernel=clean --target=sm_86 %s -o %t.cubin
// RUN: llvm-readelf -h %t.cubin | FileCheck %s --check-prefix=CUBIN
// CUBIN: Machine: {{.*}}CUDA
// RUN: not heddle-translate --kernels-to=cubin %s -o %t.2.cubin 2>&1 | FileCheck %s --check-prefix=CHOOSE
// CHOOSE: error: a cubin holds one kernel for one chip; choose one of the chips and with --kernel one of: spills, clean
// RUN: not heddle-translate --kernels-to=cubin --kernel=clean --target=sm_80,sm_90 %s -o %t.2.cubin 2>&1 | FileCheck %s --check-prefix=CHOOSE-ONE
// CHOOSE-ONE: error: a cubin holds one kernel for one chip; choose one of the chips and with --kernel one of: clean

module @spills {
  llvm.func @spills(%p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.maxnreg = 24 : i32} {
    %x0 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x1 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x2 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x3 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x4 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x5 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x6 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x7 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x8 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x9 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x10 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %x11 = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    llvm.store volatile %x11, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x10, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x9, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x8, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x7, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x6, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x5, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x4, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x3, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x2, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x1, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.store volatile %x0, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.return
  }
}
module @clean {
  llvm.func @clean(%p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    llvm.store %zero, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}
