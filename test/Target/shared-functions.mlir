// What several CPU variants have in common is compiled once, and known in the others by its symbol.
// RUN: heddle-compile %s --emit=obj -o %t.o
// RUN: llvm-nm --defined-only %t.o | FileCheck %s --implicit-check-not=f.shared.attention --implicit-check-not=f.shared.f
// Attention multiplies by f32, pairs of bf16 or matrix tiles: each variant has its own. The long ones, with
// vectors, come from an object of their own; the one with matrix tiles does not.
// CHECK-DAG: T f.avx2.attention_task
// CHECK-DAG: T f.avx512.attention_task
// CHECK-DAG: T f.avx512bf16.attention_task
// CHECK-DAG: t attention_task
// Conversions to bf16 are integer arithmetic, the same on all AVX-512; sums are rounded by instructions where there are some.
// CHECK-DAG: T f.shared.[[CAST:kernel[a-z_0-9]*]]_task.avx512{{$}}
// CHECK-DAG: T f.shared.[[SUM:kernel[a-z_0-9]*]]_task.avx512bf16

// One variant alone shares and splits nothing.
// RUN: heddle-compile %s --emit=obj --cpu-features=avx512bf16 -o %t.one.o
// RUN: llvm-nm --defined-only %t.one.o | FileCheck %s --check-prefix=ONE --implicit-check-not=f.shared
// ONE: t attention_task

// The symbols are no business of a module's user.
// RUN: heddle-compile %s -o %t.so
// RUN: llvm-nm -D --defined-only %t.so | FileCheck %s --check-prefix=SO --implicit-check-not=shared --implicit-check-not=attention
// SO: T f

func.func @f(%q: tensor<?x?x4x64xbf16>, %x: tensor<?x40xbf16>, %s: tensor<?x40xf32>)
    -> (tensor<?x?x4x64xbf16>, tensor<?x40xbf16>, tensor<?x40xbf16>) {
  %o = attn.attention %q, %q, %q {causal} : (tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16>) -> tensor<?x?x4x64xbf16>
  %sum = arith.addf %x, %x : tensor<?x40xbf16>
  %narrow = arith.truncf %s : tensor<?x40xf32> to tensor<?x40xbf16>
  return %o, %sum, %narrow : tensor<?x?x4x64xbf16>, tensor<?x40xbf16>, tensor<?x40xbf16>
}
