// RUN: heddle-opt --convert-nvvm-to-simt %s | FileCheck %s

// Conversions that an x86 has no instruction for are integer arithmetic; approximations are calls.

// CHECK-LABEL: llvm.func internal @conversions
llvm.func @conversions(%x: !llvm.ptr<1>, %f: f32) attributes {nvvm.kernel} {
  // CHECK: llvm.bitcast %{{.*}} : f32 to i32
  // CHECK: llvm.select
  // CHECK: llvm.trunc %{{.*}} : i32 to i16
  // CHECK: llvm.bitcast %{{.*}} : i16 to bf16
  %a = llvm.fptrunc %f : f32 to bf16
  llvm.store %a, %x : bf16, !llvm.ptr<1>
  // CHECK: llvm.fptrunc %{{.*}} : f32 to f16
  %b = llvm.fptrunc %f : f32 to f16
  llvm.store %b, %x : f16, !llvm.ptr<1>
  // CHECK: llvm.bitcast %{{.*}} : vector<2xf32> to vector<2xi32>
  // CHECK: llvm.bitcast %{{.*}} : vector<2xi16> to vector<2xbf16>
  %c = nvvm.convert.f32x2.to.bf16x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
  llvm.store %c, %x : vector<2xbf16>, !llvm.ptr<1>
  // CHECK: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xf16>
  %d = nvvm.convert.f32x2.to.f16x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
  llvm.store %d, %x : vector<2xf16>, !llvm.ptr<1>
  // CHECK: llvm.mlir.constant(4096 : i32)
  // CHECK: llvm.mlir.constant(-8192 : i32)
  %e = nvvm.convert.float.to.tf32 %f {rnd = #nvvm.fp_rnd_mode<rna>}
  llvm.store %e, %x : i32, !llvm.ptr<1>
  llvm.return
}

// CHECK-LABEL: llvm.func internal @functions
llvm.func @functions(%x: !llvm.ptr<1>, %f: f32) attributes {nvvm.kernel} {
  // CHECK: llvm.call @heddle_sim_ex2_approx_ftz(%{{.*}}, %{{.*}}, %{{.*}}) {convergent, no_unwind} : (!llvm.ptr, i32, f32) -> f32
  %a = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%f) : (f32) -> f32
  // CHECK: llvm.call @heddle_sim_rcp_approx_ftz
  %b = nvvm.rcp.approx.ftz.f %a : f32
  // CHECK: llvm.call @heddle_sim_lg2_approx_ftz
  %c = llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"(%b) : (f32) -> f32
  // CHECK: llvm.call @heddle_sim_rsqrt_approx_ftz
  %d = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%c) : (f32) -> f32
  // CHECK: llvm.intr.fma(%{{.*}}, %{{.*}}, %{{.*}}) : (f32, f32, f32) -> f32
  %e = llvm.intr.fma(%d, %f, %f) : (f32, f32, f32) -> f32
  llvm.store %e, %x : f32, !llvm.ptr<1>
  llvm.return
}

// Special registers, by ops and by assembly; moves that hide a value.
// CHECK-LABEL: llvm.func internal @registers
llvm.func @registers(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // CHECK: %[[W0:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: %[[TID:.*]] = llvm.call @heddle_sim_register(%{{.*}}, %[[W0]])
  %a = nvvm.read.ptx.sreg.tid.x : i32
  // CHECK: %[[W6:.*]] = llvm.mlir.constant(6 : i32)
  // CHECK: %[[CTA:.*]] = llvm.call @heddle_sim_register(%{{.*}}, %[[W6]])
  %b = llvm.inline_asm has_side_effects "mov.u32 $0, %ctaid.x;", "=r" : () -> i32
  // CHECK-NOT: inline_asm
  // CHECK: llvm.add %[[TID]], %[[CTA]] : i32
  %c = llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=r,r" %b : (i32) -> i32
  %d = llvm.add %a, %c : i32
  llvm.store %d, %x : i32, !llvm.ptr<1>
  llvm.return
}
