// Kernels in the LLVM and NVVM dialects become PTX: shared pointers of 32 bits, subnormals flushed, PTX 7.8.
// RUN: heddle-translate --kernels-to=ptx --cuda-tools=none %s 2>%t.log | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.log
// REMARK: kernels-to-ptx.mlir:{{[0-9]+}}:1: remark: no ptxas was found: kernels are PTX alone, which the driver compiles when it loads them

// RUN: heddle-translate --kernels-to=llvm %s | FileCheck %s --check-prefix=LLVM
// LLVM: target datalayout = "{{.*}}-p3:32:32-{{.*}}"
// LLVM: define ptx_kernel void @scale(
// LLVM: "denormal-fp-math-f32"="preserve-sign,preserve-sign"
// LLVM-SAME: "target-cpu"="sm_80"

// Levels below 3 work, and the oldest chip of a list decides.
// RUN: heddle-translate --kernels-to=ptx --cuda-tools=none -O0 --target=sm_90,sm_86 %s 2>/dev/null | FileCheck %s --check-prefix=CHIPS
// CHIPS: // kernel 'scale' for sm_86 and later
// CHIPS: .version 7.8
// CHIPS: .target sm_86

// One kernel of several.
// RUN: heddle-translate --kernels-to=ptx --cuda-tools=none --kernel=nothing %s 2>/dev/null | FileCheck %s --check-prefix=ONE --implicit-check-not=scale
// ONE: // kernel 'nothing' for sm_80 and later

// CHECK: // kernel 'scale' for sm_80 and later
// CHECK: .version 7.8
// CHECK-NEXT: .target sm_80
// CHECK: .extern .shared .align 1024 .b8 heddle_shared[];
// CHECK: .visible .entry scale(
// CHECK: .maxntid 128
// CHECK: ld.global.b32
// CHECK: mul.rn.ftz.f32
// CHECK: mov.b32 [[BASE:%r[0-9]+]], heddle_shared;
// CHECK: add.s32 [[SHARED:%r[0-9]+]], [[BASE]],
// CHECK: st.volatile.shared.b32 [[[SHARED]]]
// CHECK: // kernel 'nothing' for sm_80 and later
// CHECK: .visible .entry nothing(

module @scale attributes {tile_nv.chip = "sm_80", tile_nv.threads = 128 : i32, tile_nv.shared_bytes = 512 : i32} {
  llvm.mlir.global external @heddle_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  llvm.func @scale(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>, %n: i64, %scale: f32) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %cta = nvvm.read.ptx.sreg.ctaid.x : i32
    %c128 = llvm.mlir.constant(128 : i32) : i32
    %base = llvm.mul %cta, %c128 : i32
    %i = llvm.add %base, %tid : i32
    %i64 = llvm.sext %i : i32 to i64
    %inside = llvm.icmp "slt" %i64, %n : i64
    llvm.cond_br %inside, ^load, ^done
  ^load:
    %p = llvm.getelementptr %from[%i64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %x = llvm.load %p : !llvm.ptr<1> -> f32
    %y = llvm.fmul %x, %scale : f32
    %s = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
    %sp = llvm.getelementptr %s[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store volatile %y, %sp : f32, !llvm.ptr<3>
    %z = llvm.load volatile %sp : !llvm.ptr<3> -> f32
    %q = llvm.getelementptr %to[%i64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %z, %q : f32, !llvm.ptr<1>
    llvm.br ^done
  ^done:
    llvm.return
  }
}

module @nothing attributes {tile_nv.chip = "sm_80", tile_nv.threads = 32 : i32} {
  llvm.func @nothing() attributes {nvvm.kernel, nvvm.maxntid = array<i32: 32>} {
    llvm.return
  }
}
