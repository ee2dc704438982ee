// FLOPs that formulas need, beside those of matrix instructions.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --target=sim-sm_80 -o %t/m.so

// 3 rows at positions 37, 38, 39 behind 37 cached keys; the window shows 5 keys and the first 4 of all: 2 heads x 3 rows x 9 keys x 128.
// RUN: heddle-run %t/m.so --entry cached --random 1 --dim L=3 --dim S=64 --input cached=%S/inputs/length37.npy --sim-report | FileCheck %s --check-prefix=CACHED
// CACHED: kernel 'attention'
// CACHED: total {{.*}} 6912 {{ *[0-9]+%}}

// 70 x 96 x 48 in two blocks of 64 x 48, each product of f32 in three of tf32.
// RUN: heddle-run %t/m.so --entry project --random 1 --dim L=70 --sim-report | FileCheck %s --check-prefix=PROJECT
// PROJECT: kernel 'projection'
// PROJECT: total {{.*}} 3538944{{ +}}645120{{ +}}18%
// RUN: heddle-run %t/m.so --entry project --random 1 --dim L=70 --bench 3 --sim-report=%t/r.json
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/r.json
// JSON: "launches": 4, {{.*}}"defects": 0, "needed_flops": 2580480

func.func @cached(%q: tensor<1x?x2x32xf16> {heddle.dims = ["", "L", "", ""]}, %k: tensor<1x?x1x32xf16> {heddle.dims = ["", "S", "", ""]},
    %v: tensor<1x?x1x32xf16>, %cached: tensor<1xi32> {heddle.name = "cached"}) -> tensor<1x?x2x32xf16> {
  %c1 = arith.constant 1 : index
  %new = tensor.dim %q, %c1 : tensor<1x?x2x32xf16>
  %added = arith.index_cast %new : index to i32
  %empty = tensor.empty() : tensor<1xi32>
  %lengths = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%cached : tensor<1xi32>) outs(%empty : tensor<1xi32>) {
  ^bb0(%s: i32, %e: i32):
    %length = arith.addi %s, %added : i32
    linalg.yield %length : i32
  } -> tensor<1xi32>
  %o = attn.attention %q, %k, %v kv_len(%lengths : tensor<1xi32>) {causal, window = array<i64: 4, -1>, global_keys = 4 : i64}
      : (tensor<1x?x2x32xf16>, tensor<1x?x1x32xf16>, tensor<1x?x1x32xf16>) -> tensor<1x?x2x32xf16>
  return %o : tensor<1x?x2x32xf16>
}

func.func @project(%x: tensor<?x96xf32> {heddle.dims = ["L", ""]}, %w: tensor<48x96xf32>) -> tensor<?x48xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x96xf32>
  %empty = tensor.empty(%rows) : tensor<?x48xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x48xf32>) -> tensor<?x48xf32>
  %y = linalg.contract indexing_maps = [affine_map<(i, n, k) -> (i, k)>, affine_map<(i, n, k) -> (n, k)>, affine_map<(i, n, k) -> (i, n)>]
      ins(%x, %w : tensor<?x96xf32>, tensor<48x96xf32>) outs(%zeros : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %y : tensor<?x48xf32>
}
