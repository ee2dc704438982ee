// Tile kernels give what the reference in f64 gives, with blocks so small that all three ranges of keys have several of them, some are
// not visible to anybody, and the last ones are not whole. heddle-run checks the relative error of every output.

// REQUIRES: avx2
// RUN: heddle-compile %s --accumulate=f64 --cpu-variants=avx2 -o %t.reference.so
// RUN: heddle-compile %s --kernels=tile -o %t.so

// RUN: heddle-run %t.reference.so --entry causal --random 1 --dim B=2 --dim L=37 --dim K=61 --output o=%t.1.npy --output lse=%t.1l.npy
// RUN: heddle-run %t.so --entry causal --random 1 --dim B=2 --dim L=37 --dim K=61 --verify o=%t.1.npy --verify lse=%t.1l.npy

// More queries than keys: the first see none.
// RUN: heddle-run %t.reference.so --entry causal --random 2 --dim B=1 --dim L=50 --dim K=30 --output o=%t.2.npy
// RUN: heddle-run %t.so --entry causal --random 2 --dim B=1 --dim L=50 --dim K=30 --verify o=%t.2.npy

// Nothing at all.
// RUN: heddle-run %t.so --entry causal --random 3 --dim B=0 --dim L=5 --dim K=5
// RUN: heddle-run %t.reference.so --entry causal --random 3 --dim B=2 --dim L=5 --dim K=0 --output o=%t.3.npy --output lse=%t.3l.npy
// RUN: heddle-run %t.so --entry causal --random 3 --dim B=2 --dim L=5 --dim K=0 --verify o=%t.3.npy

// RUN: heddle-run %t.reference.so --entry window --random 4 --dim B=2 --dim L=70 --dim K=90 --output o=%t.4.npy
// RUN: heddle-run %t.so --entry window --random 4 --dim B=2 --dim L=70 --dim K=90 --verify o=%t.4.npy

// RUN: heddle-run %t.reference.so --entry terms --random 5 --dim B=2 --dim L=20 --dim K=45 --output o=%t.5.npy
// RUN: heddle-run %t.so --entry terms --random 5 --dim B=2 --dim L=20 --dim K=45 --verify o=%t.5.npy

// RUN: heddle-run %t.reference.so --entry token --random 6 --dim B=3 --dim K=77 --output o=%t.6.npy
// RUN: heddle-run %t.so --entry token --random 6 --dim B=3 --dim K=77 --verify o=%t.6.npy

// A length that is not within the keys is refused.
// RUN: not heddle-run %t.so --entry lengths --random 7 --dim L=3 --dim K=1 --input kv_len=%goldens/dense/op_causal.safetensors:kv_len.input.kv_len 2>&1 | FileCheck %s
// CHECK: lengths: kv_len[{{[0-3]}}] is {{[0-9]+}}, expected a value from 0 to 1

func.func @causal(%q: tensor<?x?x4x24xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x24xf32> {heddle.dims = ["B", "K", "", ""]}, %v: tensor<?x?x2x40xf32>)
    -> (tensor<?x?x4x40xf32> {heddle.name = "o"}, tensor<?x4x?xf32> {heddle.name = "lse"}) {
  %o, %lse = attn.attention %q, %k, %v {causal, return_lse, tile.config = #tile.config<block = [8, 12]>}
      : (tensor<?x?x4x24xf32>, tensor<?x?x2x24xf32>, tensor<?x?x2x40xf32>) -> (tensor<?x?x4x40xf32>, tensor<?x4x?xf32>)
  return %o, %lse : tensor<?x?x4x40xf32>, tensor<?x4x?xf32>
}

func.func @window(%q: tensor<?x?x2x16xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x1x16xf32> {heddle.dims = ["B", "K", "", ""]}, %v: tensor<?x?x1x16xf32>)
    -> (tensor<?x?x2x16xf32> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v {window = array<i64: 33, 6>, tile.config = #tile.config<block = [8, 8]>}
      : (tensor<?x?x2x16xf32>, tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32>) -> tensor<?x?x2x16xf32>
  return %o : tensor<?x?x2x16xf32>
}

func.func @terms(%q: tensor<?x?x2x16xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x16xf32> {heddle.dims = ["B", "K", "", ""]}, %v: tensor<?x?x2x16xf32>,
                 %bias: tensor<1x2x1x?xf32>, %mask: tensor<?x1x?x?xi1>, %slopes: tensor<2xf32>, %sinks: tensor<2xf32>)
    -> (tensor<?x?x2x16xf32> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v bias(%bias : tensor<1x2x1x?xf32>) mask(%mask : tensor<?x1x?x?xi1>) sinks(%sinks : tensor<2xf32>)
      alibi_slopes(%slopes : tensor<2xf32>) {causal, softcap = 2.0, scale = -1.0, tile.config = #tile.config<block = [6, 16]>}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32>
  return %o : tensor<?x?x2x16xf32>
}

func.func @token(%q: tensor<?x1x6x16xf32> {heddle.dims = ["B", "", "", ""]}, %k: tensor<?x?x2x16xf32> {heddle.dims = ["B", "K", "", ""]}, %v: tensor<?x?x2x16xf32>)
    -> (tensor<?x1x6x16xf32> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v {causal} : (tensor<?x1x6x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x1x6x16xf32>
  return %o : tensor<?x1x6x16xf32>
}

func.func @lengths(%q: tensor<?x?x2x16xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x16xf32> {heddle.dims = ["B", "K", "", ""]}, %v: tensor<?x?x2x16xf32>,
                   %n: tensor<?xi32> {heddle.name = "kv_len"}) -> (tensor<?x?x2x16xf32> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v kv_len(%n : tensor<?xi32>) {} : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32>
  return %o : tensor<?x?x2x16xf32>
}
