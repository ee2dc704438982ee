// One entry through heddle-compile and heddle-run against stored results, in each CPU variant.

// REQUIRES: avx2
// RUN: heddle-compile %s -o %t.avx2.so --cpu-variants=avx2
// RUN: heddle-run %t.avx2.so --input q=%goldens/dense/op_sinks.safetensors:prefill_window.input.q \
// RUN:   --input k=%goldens/dense/op_sinks.safetensors:prefill_window.input.k \
// RUN:   --input v=%goldens/dense/op_sinks.safetensors:prefill_window.input.v \
// RUN:   --input sinks=%goldens/dense/op_sinks.safetensors:prefill_window.input.sinks \
// RUN:   --verify o=%goldens/dense/op_sinks.safetensors:prefill_window.output.o \
// RUN:   --verify lse=%goldens/dense/op_sinks.safetensors:prefill_window.output.lse | FileCheck %s

// CHECK: verify o: ok
// CHECK: verify lse: ok

// The same output for any number of threads and from any module.
// RUN: heddle-compile %s -o %t.both.so
// RUN: heddle-run %t.avx2.so --random 1 --dim B=2 --dim L=70 --threads 1 --output o=%t.1.npy
// RUN: heddle-run %t.avx2.so --random 1 --dim B=2 --dim L=70 --threads 4 --output o=%t.4.npy
// RUN: cmp %t.1.npy %t.4.npy
// RUN: heddle-run %t.both.so --random 1 --dim B=2 --dim L=70 --verify o=%t.1.npy | FileCheck %s --check-prefix=BOTH
// BOTH: verify o: ok

func.func @attention(
    %q: tensor<?x?x10x64xf32> {heddle.name = "q", heddle.dims = ["B", "L", "", ""]},
    %k: tensor<?x?x2x64xf32> {heddle.name = "k", heddle.dims = ["B", "L", "", ""]},
    %v: tensor<?x?x2x64xf32> {heddle.name = "v", heddle.dims = ["B", "L", "", ""]},
    %sinks: tensor<10xf32> {heddle.name = "sinks"})
    -> (tensor<?x?x10x64xf32> {heddle.name = "o"}, tensor<?x10x?xf32> {heddle.name = "lse"}) {
  %o, %lse = attn.attention %q, %k, %v sinks(%sinks : tensor<10xf32>)
      {causal, window = array<i64: 11, 0>, return_lse}
      : (tensor<?x?x10x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>)
      -> (tensor<?x?x10x64xf32>, tensor<?x10x?xf32>)
  return %o, %lse : tensor<?x?x10x64xf32>, tensor<?x10x?xf32>
}
