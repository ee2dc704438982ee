// RUN: heddle-opt --convert-nvvm-to-simt --split-input-file --verify-diagnostics %s

// What is not known is refused, never left out.

llvm.func @unknown() attributes {nvvm.kernel} {
  // expected-error @+1 {{'nvvm.wgmma.fence.aligned' op can't be simulated: its meaning on a GPU is not known to convert-nvvm-to-simt}}
  nvvm.wgmma.fence.aligned
  llvm.return
}

// -----

llvm.func @intrinsic(%f: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{'llvm.call_intrinsic' op can't be simulated: intrinsic 'llvm.nvvm.sin.approx.f' is not known to convert-nvvm-to-simt for these types}}
  %a = llvm.call_intrinsic "llvm.nvvm.sin.approx.f"(%f) : (f32) -> f32
  llvm.return
}

// -----

llvm.func @assembly(%i: i32) attributes {nvvm.kernel} {
  // expected-error @+1 {{expected a move of a register, such as "mov.b32 $0, $1;" or "mov.u32 $0, %tid.x;", got "prmt.b32 $0, $1, $1, 0;"}}
  %a = llvm.inline_asm "prmt.b32 $0, $1, $1, 0;", "=r,r" %i : (i32) -> i32
  llvm.return
}

// -----

llvm.func @assembly(%i: i32) attributes {nvvm.kernel} {
  // expected-error @+1 {{got "mov"}}
  %a = llvm.inline_asm "mov", "=r,r" %i : (i32) -> i32
  llvm.return
}

// -----

// expected-error @+1 {{'llvm.func' op can't be simulated: expected parameter 1 to be a number or a pointer to global memory, got '!llvm.ptr'}}
llvm.func @generic(%n: i32, %x: !llvm.ptr) attributes {nvvm.kernel} {
  llvm.return
}

// -----

llvm.func @generic(%n: i64) attributes {nvvm.kernel} {
  %x = llvm.inttoptr %n : i64 to !llvm.ptr
  // expected-error @+1 {{expected a pointer to global (1) or shared (3) memory or to an alloca, got one of address space 0}}
  %v = llvm.load %x : !llvm.ptr -> f32
  llvm.return
}

// -----

llvm.func @type(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error @+1 {{expected numbers of 1, 2, 4 or 8 bytes, or a vector of 2^n of them, got 'vector<3xf32>'}}
  %v = llvm.load %x : !llvm.ptr<1> -> vector<3xf32>
  llvm.return
}

// -----

llvm.func @atomic_pieces(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // expected-error @+1 {{expected an atomic access of 1, 2, 4, 8 or 16 bytes that is aligned to its size, got 8 bytes aligned to 4}}
  %v = llvm.load %x atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i64
  llvm.return
}

// -----

llvm.func @scope(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %one = llvm.mlir.constant(1 : i32) : i32
  // expected-error @+1 {{expected the scope of the system or "device", got "block"}}
  %v = llvm.atomicrmw add %x, %one syncscope("block") monotonic : !llvm.ptr<1>, i32
  llvm.return
}

// -----

llvm.mlir.global internal @other() {addr_space = 3 : i32} : !llvm.array<4 x i8>
llvm.func @static() attributes {nvvm.kernel} {
  // expected-error @+1 {{expected @heddle_shared as the only global in shared memory, got @other}}
  %s = llvm.mlir.addressof @other : !llvm.ptr<3>
  llvm.return
}

// -----

llvm.mlir.global internal @variable(0 : i32) {addr_space = 1 : i32} : i32
llvm.func @static() attributes {nvvm.kernel} {
  // expected-error @+1 {{expected @heddle_shared or a constant in global memory, got @variable}}
  %s = llvm.mlir.addressof @variable : !llvm.ptr<1>
  llvm.return
}

// -----

llvm.func @rounding(%f: f32) attributes {nvvm.kernel} {
  // expected-error @+1 {{expected rounding to nearest even (rn) without saturation and relu}}
  %a = nvvm.convert.f32x2.to.bf16x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rz>} : vector<2xbf16>
  llvm.return
}

// -----

llvm.func @callee()
llvm.func @calls() attributes {nvvm.kernel} {
  // expected-error @+1 {{'llvm.call' op can't be simulated}}
  llvm.call @callee() : () -> ()
  llvm.return
}
