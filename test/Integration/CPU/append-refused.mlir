// A call that is out of range fails with its reason and writes nothing.

// REQUIRES: avx2
// RUN: heddle-compile %s -o %t.so --cpu-variants=avx2
// RUN: heddle-run %t.so --input k=%goldens/dense/op_kv_append.safetensors:contiguous.input.k \
// RUN:   --input v=%goldens/dense/op_kv_append.safetensors:contiguous.input.v \
// RUN:   --input start=%goldens/dense/op_kv_append.safetensors:contiguous.input.start \
// RUN:   --dim C=16 --output k_cache=%t.npy
// RUN: ls %t.npy && rm %t.npy
// RUN: not heddle-run %t.so --input k=%goldens/dense/op_kv_append.safetensors:contiguous.input.k \
// RUN:   --input v=%goldens/dense/op_kv_append.safetensors:contiguous.input.v \
// RUN:   --input start=%goldens/dense/op_kv_append.safetensors:contiguous.input.start \
// RUN:   --dim C=5 --output k_cache=%t.npy 2>&1 | FileCheck %s
// RUN: not ls %t.npy
// CHECK: error: {{.*}}append: start{{.*}}(status 2)

func.func @append(
    %k_cache: tensor<?x?x2x16xf32> {heddle.name = "k_cache", heddle.dims = ["B", "C", "", ""],
                                    heddle.role = "cache", bufferization.writable = true},
    %v_cache: tensor<?x?x2x24xf32> {heddle.name = "v_cache", heddle.dims = ["B", "C", "", ""],
                                    heddle.role = "cache", bufferization.writable = true},
    %k: tensor<?x?x2x16xf32> {heddle.name = "k"}, %v: tensor<?x?x2x24xf32> {heddle.name = "v"},
    %start: tensor<?xi32> {heddle.name = "start"})
    -> (tensor<?x?x2x16xf32> {heddle.name = "k_cache", heddle.updates = "k_cache"},
        tensor<?x?x2x24xf32> {heddle.name = "v_cache", heddle.updates = "v_cache"}) {
  %k2, %v2 = attn.kv_append %k_cache, %v_cache, %k, %v, %start
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x24xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x24xf32>,
         tensor<?xi32>) -> (tensor<?x?x2x16xf32>, tensor<?x?x2x24xf32>)
  return %k2, %v2 : tensor<?x?x2x16xf32>, tensor<?x?x2x24xf32>
}
