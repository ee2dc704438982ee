// What each kernel does: entries, their kernels, bytes and FLOPs at given extents.
// RUN: heddle-compile %s --print-kernels --at L=512,S=1024,N=1000000 | FileCheck %s --implicit-check-not=code
// RUN: heddle-compile %s --print-kernels=table --at=L=512 --at=S=1024 --at N=1000000 | FileCheck %s
// Symbols that --at leaves out are 1 for batches, else 512.
// CHECK: target cpu
// CHECK-NEXT: entry attend at B=1, L=512, S=1024
// CHECK-NEXT: kernel {{ *}}ops {{ *}}grid {{ *}}launches {{ *}}programs {{ *}}tile {{ *}}in {{ *}}out {{ *}}matrix FLOP {{ *}}needed FLOP {{ *}}other FLOP {{ *}}FLOP/B
// CHECK-NEXT: attention {{ *}}attn.attention {{ *}}ceildiv(L, 32) * B * 2 {{ *}}1 {{ *}}32 {{ *}}32x128 {{ *}}[[IN:[0-9.]+ MiB]] {{ *}}256 KiB {{ *}}411 M {{ *}}403 M {{.*}}
// CHECK-NEXT: entry twice at N=1000000
// CHECK-NEXT: kernel
// CHECK-NEXT: kernel_{{.*}} arith.addf {{ *}}- {{ *}}1 {{ *}}1 {{ *}}- {{ *}}3.81 MiB {{ *}}3.81 MiB {{ *}}0 {{ *}}- {{ *}}1.00 M {{ *}}0.12

// The causal product of Q and K, and that with V, for 32 queries of both heads of a group: row block i of 16 sees 16 + i + 1 blocks of 32 keys.
// RUN: heddle-compile %s --entry=attend --print-kernels=json --at B=2,L=512,S=1024 | FileCheck %s --check-prefix=JSON
// JSON: "code": [],
// JSON: "B": 2,
// JSON-NEXT: "L": 512,
// JSON-NEXT: "S": 1024
// JSON: "assumes_data": false,
// 4 groups, (16 * 16 + 136) key blocks of K and V, and 16 of Q for each head.
// JSON-NEXT: "bytes_in": [[#mul(4, mul(add(784,32), 4096))]],
// JSON-NEXT: "bytes_out": [[#mul(4, mul(32, 4096))]],
// JSON: "grid_formula": "ceildiv(L, 32) * B * 2",
// JSON: "incomplete": false,
// JSON: "launches": 1,
// JSON-NEXT: "matrix_flops": [[#mul(mul(4, 392), 524288)]],
// JSON-NEXT: "name": "attention",
// Query row i sees 512 + i + 1 keys: 512 * 512 + 512 * 513 / 2 pairs for each of 2 * 4 heads, 2 * 128 FLOPs each.
// JSON-NEXT: "needed_flops": [[#mul(mul(8, 393472), 256)]],
// JSON: "programs": 64,
// JSON: "target": "cpu"

// A product that begins from zeros and is rounded: its sums stay in registers.
// RUN: heddle-compile %s --entry=project --print-kernels=json --at L=16 | FileCheck %s --check-prefix=PRODUCT
// PRODUCT: "bytes_in": [[#mul(2, add(mul(16, 64), mul(32, 64)))]],
// PRODUCT-NEXT: "bytes_out": [[#mul(2, mul(16, 32))]],
// PRODUCT: "matrix_flops": [[#mul(2, mul(16, mul(32, 64)))]],
// PRODUCT-NOT: bytes_in

// With -o, the module is written too; nothing else goes to standard output.
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --print-kernels -o %t/m.so --at N=1000000 | FileCheck %s --check-prefix=BOTH
// BOTH: entry twice at N=1000000
// RUN: test -x %t/m.so && test -f %t/m.h
// RUN: heddle-compile %s -o %t/m.so | count 0
// RUN: heddle-compile %s --entry=attend --print-kernels=json -o %t/m.so --at B=2,L=512,S=1024 | FileCheck %s --check-prefix=JSON

// RUN: not heddle-compile %s --print-kernels --at M=3 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: print-kernels.mlir:{{.*}}error: no entry has a dimension 'M'; there are: B, L, S, N

// RUN: not heddle-compile %s --entry=attend --print-kernels --at B=268435456,L=4096,S=268435456 2>&1 | FileCheck %s --check-prefix=LARGE --implicit-check-not=FLOP
// RUN: not heddle-compile %s --entry=attend --target=sm_80 --print-kernels --at B=268435456,L=4096,S=268435456 2>&1 | FileCheck %s --check-prefix=LARGE --implicit-check-not=FLOP
// LARGE: print-kernels.mlir:{{.*}}error: what the kernels of 'attend' do at these extents can't be counted in 64 bits

func.func @attend(%q: tensor<?x?x4x64xf16> {heddle.dims = ["B", "L", 4, 64]}, %k: tensor<?x?x2x64xf16> {heddle.dims = ["B", "S", 2, 64]},
                  %v: tensor<?x?x2x64xf16>) -> tensor<?x?x4x64xf16> {
  %o = attn.attention %q, %k, %v {causal} : (tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x?x4x64xf16>
  return %o : tensor<?x?x4x64xf16>
}
func.func @twice(%x: tensor<?xf32> {heddle.dims = ["N"]}) -> tensor<?xf32> {
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @project(%x: tensor<?x64xbf16> {heddle.dims = ["L", 64]}, %w: tensor<64x32xbf16>) -> tensor<?x32xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %empty = tensor.empty(%rows) : tensor<?x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %sums = linalg.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>) outs(%zeros : tensor<?x32xf32>) -> tensor<?x32xf32>
  %rounded = arith.truncf %sums : tensor<?x32xf32> to tensor<?x32xbf16>
  return %rounded : tensor<?x32xbf16>
}
