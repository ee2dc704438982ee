// Keys that stay visible left of the window, on the CPU and in the simulator of sm_80, against a mask that says the same.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %S/inputs/global_keys_mask.mlir --kernels=reference --accumulate=f64 -o %t/mask.so
// RUN: heddle-compile %s --kernels=reference -o %t/reference.so
// RUN: heddle-compile %s --target=cpu,sim-sm_80 -o %t/m.so
// DEFINE: %{entry} =
// DEFINE: %{dims} =
// DEFINE: %{check} = heddle-run %t/mask.so --entry %{entry} --random 4 %{dims} --output o=%t/o.npy --output lse=%t/lse.npy && \
// DEFINE:   heddle-run %t/reference.so --entry %{entry} --random 4 %{dims} --verify o=%t/o.npy --verify lse=%t/lse.npy --rtol 1e-5 && \
// DEFINE:   heddle-run %t/m.so --entry %{entry} --random 4 %{dims} --target=cpu --verify o=%t/o.npy --verify lse=%t/lse.npy --rtol 1e-5 && \
// DEFINE:   heddle-run %t/m.so --entry %{entry} --random 4 %{dims} --target=sim-sm_80 --verify o=%t/o.npy --verify lse=%t/lse.npy --rtol 1e-5

// 20 global keys, less than a block: before the window, in its first block, and within it.
// REDEFINE: %{entry} = few
// REDEFINE: %{dims} = --dim B=2 --dim L=200 --dim S=333
// RUN: %{check}
// REDEFINE: %{dims} = --dim B=1 --dim L=70 --dim S=70
// RUN: %{check}
// REDEFINE: %{dims} = --dim B=1 --dim L=1 --dim S=150
// RUN: %{check}
// More queries than keys, and fewer keys than global ones.
// REDEFINE: %{dims} = --dim B=1 --dim L=40 --dim S=13
// RUN: %{check}

// 150 of them, several blocks, not causal.
// REDEFINE: %{entry} = many
// REDEFINE: %{dims} = --dim B=1 --dim L=210 --dim S=400
// RUN: %{check}
// REDEFINE: %{dims} = --dim B=2 --dim L=100 --dim S=160
// RUN: %{check}

func.func @few(%q: tensor<?x?x2x32xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x1x32xf32> {heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x1x32xf32>) -> (tensor<?x?x2x32xf32> {heddle.name = "o"}, tensor<?x2x?xf32> {heddle.name = "lse"}) {
  %o, %lse = attn.attention %q, %k, %v {causal, window = array<i64: 30, -1>, global_keys = 20 : i64, return_lse}
      : (tensor<?x?x2x32xf32>, tensor<?x?x1x32xf32>, tensor<?x?x1x32xf32>) -> (tensor<?x?x2x32xf32>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x32xf32>, tensor<?x2x?xf32>
}

func.func @many(%q: tensor<?x?x2x32xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x1x32xf32> {heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x1x32xf32>) -> (tensor<?x?x2x32xf32> {heddle.name = "o"}, tensor<?x2x?xf32> {heddle.name = "lse"}) {
  %o, %lse = attn.attention %q, %k, %v {window = array<i64: 45, 7>, global_keys = 150 : i64, return_lse}
      : (tensor<?x?x2x32xf32>, tensor<?x?x1x32xf32>, tensor<?x?x1x32xf32>) -> (tensor<?x?x2x32xf32>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x32xf32>, tensor<?x2x?xf32>
}
