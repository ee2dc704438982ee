// A page about a module. The numbers are those of a calculation by hand: B=2, L=C=8 unless a length is given.
// RUN: heddle-compile %s --report %t.html --report-batch=2 --report-length=8 --report-chip=sm_80
// RUN: FileCheck %s < %t.html
// RUN: heddle-compile %s --entry=step --report - --report-batch=2 --report-length=4096 --report-chip=sm_80 | FileCheck %s --check-prefix=LONG
// RUN: heddle-compile %s --entry=step --report - --report-batch=2 --report-length=8 --at C=16 | FileCheck %s --check-prefix=AT
// Nothing is read from elsewhere, and there is no script.
// RUN: not grep -iE 'http|src=|<script|<link|@import|url\(' %t.html
// A file that can't be written.
// RUN: not heddle-compile %s --report %t.folder-that-is-not/page.html 2>&1 | FileCheck %s --check-prefix=NOFILE

// CHECK: <title>report.mlir</title>
// CHECK: prefers-color-scheme: dark
// CHECK: <tr><td>hidden_size</td><td class="n">32</td></tr>

// Sums of the rows below.
// CHECK: <h2>Entries</h2>
// CHECK: <tr><td>step</td><td>B=2, L=8, C=8</td><td class="n">1</td><td class="n">3</td><td class="n">2</td><td class="n">1</td><td class="n">58.4 k</td><td class="n">3.49 k</td><td class="n">22.1 KiB</td></tr>
// CHECK: <tr><td>rows</td>

// wq 32 x 32 and wk 16 x 32 in f16; two caches of 2 heads of 8.
// CHECK: <h2>Layers of step</h2>
// CHECK: <tr><td>outside</td><td></td><td class="n">0</td><td class="n">0 B</td>
// CHECK: <tr><td>3</td><td>1 attn.rms_norm, 2 projections, 1 attn.kv_append, 1 attn.attention</td><td class="n">1,568</td><td class="n">3.06 KiB</td><td class="n">64 B</td><td class="n">0 B</td></tr>

// Parameters 32 (4 8 + heads (8 + 8) + 4 8); of MLA 32 (4 (8 + 4) + 32 + 4 + 4 8) + 32 4 (8 + 8).
// CHECK: <h2>Attention of 4 query heads, 2 key heads, in other forms</h2>
// CHECK: <tr><td>MHA</td><td>4 key heads of 8 + 8</td><td class="n">128 B</td><td class="n">4,096</td><td class="n">2 KiB</td>
// CHECK: <tr class="total"><td>GQA (this model)</td><td>2 key heads of 8 + 8</td><td class="n">64 B</td><td class="n">3,072</td><td class="n">1 KiB</td>
// CHECK: <tr><td>MQA</td><td>1 key head of 8 + 8</td><td class="n">32 B</td><td class="n">2,560</td><td class="n">512 B</td>
// CHECK: <tr><td>MLA</td><td>a latent of 32 and a rope key of 4</td><td class="n">72 B</td><td class="n">5,760</td><td class="n">1.12 KiB</td>
// Parameters 32 (2 (8 + 4) + 16 + 4 + 2 8) + 16 2 (8 + 8).
// CHECK: <h2>Attention of 2 query heads, a latent, in other forms</h2>
// CHECK: <tr><td>MHA</td><td>2 key heads of 12 + 8</td><td class="n">160 B</td>
// CHECK: <tr class="total"><td>MLA (this model)</td><td>a latent of 16 and a rope key of 4</td><td class="n">80 B</td><td class="n">2,432</td>

// CHECK: <h2>step at B=2, L=8, C=8 on sm_80 (A100 SXM 80 GB)</h2>
// 512 elements, 4 operations each; x twice and 64 bytes of weight: 4160 bytes at 2.039 TB/s.
// CHECK: <tr><td>attn.rms_norm</td><td class="n">1</td><td class="n">0</td><td class="n">2.05 k</td><td class="n">4.06 KiB</td><td class="n">0.49</td><td class="n">2.04 ns</td><td>memory</td>
// 2 16 32 (32 + 16); x twice, weights, results.
// CHECK: <tr><td>projections</td><td class="n">2</td><td class="n">49.2 k</td><td class="n">0</td><td class="n">10 KiB</td><td class="n">4.80</td><td class="n">5.02 ns</td><td>memory</td>
// 256 rows twice, in f32 and f16.
// CHECK: <tr><td>attn.kv_append</td><td class="n">1</td><td class="n">0</td><td class="n">0</td><td class="n">3 KiB</td><td class="n">0.00</td><td class="n">1.51 ns</td><td>memory</td>
// 36 pairs in 8 heads: 32 and 5 each. Keys and values 1 KiB, queries and output 2 KiB.
// CHECK: <tr><td>attn.attention</td><td class="n">1</td><td class="n">9.22 k</td><td class="n">1.44 k</td><td class="n">5 KiB</td><td class="n">2.08</td><td class="n">2.51 ns</td><td>memory</td>
// CHECK: <tr class="total"><td>all</td><td class="n">5</td><td class="n">58.4 k</td><td class="n">3.49 k</td><td class="n">22.1 KiB</td><td class="n">2.74</td><td class="n">11.1 ns</td>
// CHECK: <svg
// CHECK: <title>attn.attention</title>

// Rows of a number that is data.
// CHECK: <h2>rows at batch 2, length 8 on
// CHECK: <tr><td>attn.l2_norm</td><td class="n">1</td><td class="n">0 +</td><td class="n">0 +</td><td class="n">0 B +</td>

// Latents of 16 + 4, heads of 8 + 4 and 8. Absorbed: 36 pairs in 2 heads of 2 sequences, 2 (16 + 4 + 16) each; for each of 2 8 2 queries
// 2 16 (8 + 8) into the latent and back.
// CHECK: <h2>latents at
// 64 elements, 2 rounds of 6 operations.
// CHECK: <tr><td>attn.sinkhorn</td><td class="n">1</td><td class="n">0</td><td class="n">768</td>
// CHECK: <tr><td>attn.latent_attention</td><td class="n">1</td><td class="n">26.8 k</td>
// Tokens 2 8 with 2 of 4 experts, 3 matrices of 6 x 32 each.
// CHECK: <tr><td>attn.experts</td><td class="n">1</td><td class="n">36.9 k</td>
// CHECK: </html>

// 4096 4097 / 2 pairs in 8 heads; (2.15 G + 16 0.336 G) / 312 T against 2.5 MiB / 2.039 T.
// LONG: <tr><td>attn.attention</td><td class="n">1</td><td class="n">2.15 G</td><td class="n">336 M</td><td class="n">2.50 MiB</td><td class="n">947.43</td><td class="n">24.1 us</td><td>compute</td>

// 8 rows see 9 to 16 keys: 100 pairs.
// AT: <h2>step at B=2, L=8, C=16 on sm_90 (H100 SXM)</h2>
// AT: <tr><td>attn.attention</td><td class="n">1</td><td class="n">25.6 k</td><td class="n">4 k</td><td class="n">6 KiB</td>

// NOFILE: error: {{.*}}page.html{{.*}}No such file or directory

#x = affine_map<(b, l, o, i) -> (b, l, i)>
#w = affine_map<(b, l, o, i) -> (o, i)>
#y = affine_map<(b, l, o, i) -> (b, l, o)>

module attributes {heddle.model = {hidden_size = 32 : i64, model_type = "test"}} {
  func.func @step(%x: tensor<?x?x32xf32> {heddle.dims = ["B", "L", ""]},
                  %kc: tensor<?x?x2x8xf16> {heddle.name = "k_cache.3", heddle.role = "cache", heddle.dims = ["B", "C", "", ""], bufferization.writable = true},
                  %vc: tensor<?x?x2x8xf16> {heddle.name = "v_cache.3", heddle.role = "cache", heddle.dims = ["B", "C", "", ""], bufferization.writable = true},
                  %norm: tensor<32xf16> {heddle.name = "layers.3.norm.weight", heddle.role = "weight"},
                  %wq: tensor<32x32xf16> {heddle.name = "layers.3.q.weight", heddle.role = "weight"},
                  %wk: tensor<16x32xf16> {heddle.name = "layers.3.k.weight", heddle.role = "weight"})
      -> (tensor<?x?x4x8xf32>, tensor<?x?x2x8xf16> {heddle.updates = "k_cache.3"}, tensor<?x?x2x8xf16> {heddle.updates = "v_cache.3"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %b = tensor.dim %x, %c0 : tensor<?x?x32xf32>
    %l = tensor.dim %x, %c1 : tensor<?x?x32xf32>
    %start = tensor.generate %b {
    ^bb0(%i: index):
      %z = arith.constant 0 : i32
      tensor.yield %z : i32
    } : tensor<?xi32>
    %n = attn.rms_norm %x, %norm {eps = 1.0e-5 : f64} : tensor<?x?x32xf32>, tensor<32xf16>
    %qe = tensor.empty(%b, %l) : tensor<?x?x32xf32>
    %qz = linalg.fill ins(%zero : f32) outs(%qe : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
    %q = linalg.contract indexing_maps = [#x, #w, #y] ins(%n, %wq : tensor<?x?x32xf32>, tensor<32x32xf16>) outs(%qz : tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
    %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [%b, %l, 4, 8] : tensor<?x?x32xf32> into tensor<?x?x4x8xf32>
    %ke = tensor.empty(%b, %l) : tensor<?x?x16xf32>
    %kz = linalg.fill ins(%zero : f32) outs(%ke : tensor<?x?x16xf32>) -> tensor<?x?x16xf32>
    %k = linalg.contract indexing_maps = [#x, #w, #y] ins(%n, %wk : tensor<?x?x32xf32>, tensor<16x32xf16>) outs(%kz : tensor<?x?x16xf32>) -> tensor<?x?x16xf32>
    %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [%b, %l, 2, 8] : tensor<?x?x16xf32> into tensor<?x?x2x8xf32>
    %k2, %v2 = attn.kv_append %kc, %vc, %kh, %kh, %start
        : (tensor<?x?x2x8xf16>, tensor<?x?x2x8xf16>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32>, tensor<?xi32>) -> (tensor<?x?x2x8xf16>, tensor<?x?x2x8xf16>)
    %o = attn.attention %qh, %k2, %v2 {causal} : (tensor<?x?x4x8xf32>, tensor<?x?x2x8xf16>, tensor<?x?x2x8xf16>) -> tensor<?x?x4x8xf32>
    return %o, %k2, %v2 : tensor<?x?x4x8xf32>, tensor<?x?x2x8xf16>, tensor<?x?x2x8xf16>
  }

  func.func @rows(%x: tensor<?x32xf32>, %n: tensor<1xindex>) -> tensor<?x32xf32> {
    %c0 = arith.constant 0 : index
    %rows = tensor.extract %n[%c0] : tensor<1xindex>
    %part = tensor.extract_slice %x[0, 0] [%rows, 32] [1, 1] : tensor<?x32xf32> to tensor<?x32xf32>
    %y = attn.l2_norm %part {eps = 1.0e-6 : f64} : tensor<?x32xf32>
    return %y : tensor<?x32xf32>
  }

  func.func @latents(%q: tensor<?x?x2x8xf32>, %r: tensor<?x?x2x4xf32>, %c: tensor<?x?x20xf32>, %up: tensor<32x16xf32>, %x: tensor<?x?x32xf32>,
                     %z: tensor<?x?x4xf32>, %h: tensor<?x?x2x2xf32>, %g: tensor<4x12x32xf32>, %d: tensor<4x32x6xf32>) -> (tensor<?x?x2x8xf32>, tensor<?x?x32xf32>, tensor<?x?x2x2xf32>) {
    %m = attn.sinkhorn mhc %h {rounds = 2 : i64} : tensor<?x?x2x2xf32>
    %o = attn.latent_attention %q, %c, %up query_rope(%r : tensor<?x?x2x4xf32>) {absorbed, causal}
        : (tensor<?x?x2x8xf32>, tensor<?x?x20xf32>, tensor<32x16xf32>) -> tensor<?x?x2x8xf32>
    %i, %w = attn.router softmax %z {top_k = 2 : i64} : tensor<?x?x4xf32> -> tensor<?x?x2xi32>, tensor<?x?x2xf32>
    %y = attn.experts swiglu %x, %i, %w gate(%g : tensor<4x12x32xf32>) down(%d : tensor<4x32x6xf32>)
        : (tensor<?x?x32xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x32xf32>
    return %o, %y, %m : tensor<?x?x2x8xf32>, tensor<?x?x32xf32>, tensor<?x?x2x2xf32>
  }
}
