// Statistics of attention beside its output, on the CPU by the formula in f64 and as kernels, and in the simulator of sm_80. Keys that are
// not visible are in none of them, and the output has the same bits without them.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --kernels=reference --accumulate=f64 -o %t/reference.so
// RUN: heddle-compile %s --target=cpu,sim-sm_80 -o %t/m.so
// DEFINE: %{entry} =
// DEFINE: %{plain} =
// DEFINE: %{dims} =
// DEFINE: %{limit} =
// DEFINE: %{same} = heddle-run %t/reference.so --entry %{entry} --random 20 %{dims} --output o=%t/o.npy --output lse=%t/lse.npy \
// DEFINE:   --output max=%t/max.npy --output mass=%t/mass.npy --output first=%t/first.npy
// DEFINE: %{on} =
// DEFINE: %{check} = heddle-run %t/m.so --entry %{entry} --random 20 %{dims} --target=%{on} --verify o=%t/o.npy --verify lse=%t/lse.npy \
// DEFINE:   --verify max=%t/max.npy --verify mass=%t/mass.npy --verify first=%t/first.npy --rtol %{limit} --output o=%t/with.npy && \
// DEFINE:   heddle-run %t/m.so --entry %{plain} --random 20 %{dims} --target=%{on} --output o=%t/without.npy && cmp %t/with.npy %t/without.npy

// REDEFINE: %{entry} = statistics
// REDEFINE: %{plain} = plain
// REDEFINE: %{dims} = --dim B=2 --dim L=130 --dim S=130
// REDEFINE: %{limit} = 1e-5
// RUN: %{same}
// REDEFINE: %{on} = cpu
// RUN: %{check}
// REDEFINE: %{on} = sim-sm_80
// RUN: %{check}

// More queries than keys: the first see none. Their maximum is -inf, and the sink takes all weight.
// REDEFINE: %{dims} = --dim B=1 --dim L=90 --dim S=50
// RUN: %{same}
// RUN: python3 %S/inputs/check_rows.py %t 40
// REDEFINE: %{on} = cpu
// RUN: %{check}
// REDEFINE: %{on} = sim-sm_80
// RUN: %{check}

// Sinks that take all of it or nothing, also of rows that see no key.
// REDEFINE: %{entry} = extreme
// REDEFINE: %{plain} = extreme
// RUN: %{same}
// RUN: python3 %S/inputs/check_rows.py %t 40 1 0
// REDEFINE: %{on} = cpu
// RUN: %{check}
// RUN: heddle-run %t/m.so --entry extreme --random 20 %{dims} --target=cpu --output lse=%t/lse.npy --output max=%t/max.npy --output mass=%t/mass.npy --output first=%t/first.npy
// RUN: python3 %S/inputs/check_rows.py %t 40 1 0
// REDEFINE: %{on} = sim-sm_80
// RUN: %{check}
// RUN: heddle-run %t/m.so --entry extreme --random 20 %{dims} --target=sim-sm_80 --output lse=%t/lse.npy --output max=%t/max.npy --output mass=%t/mass.npy --output first=%t/first.npy
// RUN: python3 %S/inputs/check_rows.py %t 40 1 0

// REDEFINE: %{entry} = half
// REDEFINE: %{plain} = plain_half
// REDEFINE: %{dims} = --dim B=2 --dim L=130 --dim S=130
// REDEFINE: %{limit} = 2e-3
// RUN: %{same}
// REDEFINE: %{on} = cpu
// RUN: %{check}
// REDEFINE: %{on} = sim-sm_80
// RUN: %{check}

func.func @statistics(%q: tensor<?x?x4x64xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x64xf32> {heddle.dims = ["B", "S", "", ""]}, %v: tensor<?x?x2x64xf32>,
    %sinks: tensor<4xf32>)
    -> (tensor<?x?x4x64xf32> {heddle.name = "o"}, tensor<?x4x?xf32> {heddle.name = "lse"},
        tensor<?x4x?xf32> {heddle.name = "max"}, tensor<?x4x?xf32> {heddle.name = "mass"}, tensor<?x4x?xf32> {heddle.name = "first"}) {
  %o, %lse, %max, %mass, %first = attn.attention %q, %k, %v sinks(%sinks : tensor<4xf32>)
      {causal, window = array<i64: 40, 0>, softcap = 2.0, return_lse, return_max, return_sink_mass, return_first_key_mass}
      : (tensor<?x?x4x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>)
      -> (tensor<?x?x4x64xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>)
  return %o, %lse, %max, %mass, %first : tensor<?x?x4x64xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>
}

func.func @extreme(%q: tensor<?x?x4x64xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x64xf32> {heddle.dims = ["B", "S", "", ""]}, %v: tensor<?x?x2x64xf32>)
    -> (tensor<?x?x4x64xf32> {heddle.name = "o"}, tensor<?x4x?xf32> {heddle.name = "lse"},
        tensor<?x4x?xf32> {heddle.name = "max"}, tensor<?x4x?xf32> {heddle.name = "mass"}, tensor<?x4x?xf32> {heddle.name = "first"}) {
  %sinks = arith.constant dense<[0x7F800000, 0xFF800000, 1.0, -2.0]> : tensor<4xf32>
  %o, %lse, %max, %mass, %first = attn.attention %q, %k, %v sinks(%sinks : tensor<4xf32>)
      {causal, window = array<i64: 40, 0>, softcap = 2.0, return_lse, return_max, return_sink_mass, return_first_key_mass}
      : (tensor<?x?x4x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>)
      -> (tensor<?x?x4x64xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>)
  return %o, %lse, %max, %mass, %first : tensor<?x?x4x64xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>
}

func.func @plain(%q: tensor<?x?x4x64xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x64xf32> {heddle.dims = ["B", "S", "", ""]}, %v: tensor<?x?x2x64xf32>,
    %sinks: tensor<4xf32>)
    -> (tensor<?x?x4x64xf32> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v sinks(%sinks : tensor<4xf32>)
      {causal, window = array<i64: 40, 0>, softcap = 2.0}
      : (tensor<?x?x4x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>)
      -> tensor<?x?x4x64xf32>
  return %o : tensor<?x?x4x64xf32>
}

func.func @half(%q: tensor<?x?x4x64xf16> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x4x64xf16> {heddle.dims = ["B", "S", "", ""]}, %v: tensor<?x?x4x64xf16>,
    %sinks: tensor<4xf32>)
    -> (tensor<?x?x4x64xf16> {heddle.name = "o"}, tensor<?x4x?xf32> {heddle.name = "lse"},
        tensor<?x4x?xf32> {heddle.name = "max"}, tensor<?x4x?xf32> {heddle.name = "mass"}, tensor<?x4x?xf32> {heddle.name = "first"}) {
  %o, %lse, %max, %mass, %first = attn.attention %q, %k, %v sinks(%sinks : tensor<4xf32>)
      {causal, window = array<i64: 40, 0>, softcap = 2.0, return_lse, return_max, return_sink_mass, return_first_key_mass}
      : (tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>)
      -> (tensor<?x?x4x64xf16>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>)
  return %o, %lse, %max, %mass, %first : tensor<?x?x4x64xf16>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>, tensor<?x4x?xf32>
}

func.func @plain_half(%q: tensor<?x?x4x64xf16> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x4x64xf16> {heddle.dims = ["B", "S", "", ""]}, %v: tensor<?x?x4x64xf16>,
    %sinks: tensor<4xf32>)
    -> (tensor<?x?x4x64xf16> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v sinks(%sinks : tensor<4xf32>)
      {causal, window = array<i64: 40, 0>, softcap = 2.0}
      : (tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>)
      -> tensor<?x?x4x64xf16>
  return %o : tensor<?x?x4x64xf16>
}
