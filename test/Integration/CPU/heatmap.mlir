// Two layers of pattern scores and a map of all layers at once, as one picture.
// RUN: heddle-compile %s -o %t.so
// RUN: heddle-run %t.so --entry scores --random 1 --dim B=2 --dim L=40 --heatmap %t.svg
// RUN: FileCheck %s < %t.svg
// CHECK: <svg xmlns="http://www.w3.org/2000/svg"
// CHECK: <title>{{.*}}, entry scores: attention by layer and head</title>
// CHECK: class="name">sink</text>
// CHECK: <title>sink, layer 0, head 0: 0.{{[0-9]+}}</title>
// CHECK: <title>sink, layer 5, head 3: 0.{{[0-9]+}}</title>
// CHECK: class="name">local_window</text>
// CHECK-NOT: <title>local_window, layer 1
// CHECK: <title>local_window, layer 0, head 3: 0.{{[0-9]+}}</title>
// CHECK: </svg>

// RUN: not heddle-run %t.so --entry other --random 1 --dim B=2 --heatmap %t.none.svg 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: heddle-run: error: --heatmap: entry 'other' has no output named pattern.NAME, of shape [layers, heads], or pattern.NAME.LAYER, of shape [batch, heads]; its outputs are 'y'
// RUN: not ls %t.none.svg

func.func @scores(%q: tensor<?x?x4x32xf32> {heddle.name = "q", heddle.dims = ["B", "L", "", ""]},
                  %k: tensor<?x?x2x32xf32> {heddle.name = "k", heddle.dims = ["B", "L", "", ""]})
    -> (tensor<?x4xf32> {heddle.name = "pattern.sink.5"}, tensor<?x4xf32> {heddle.name = "pattern.sink.0"},
        tensor<1x4xf32> {heddle.name = "pattern.local_window"}) {
  %sink, %local = attn.pattern_scores [sink, local_window] %q, %k {causal, local = 4 : i64}
      : (tensor<?x?x4x32xf32>, tensor<?x?x2x32xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  %all = attn.pattern_scores [sink] %q, %k {causal, window = array<i64: 15, 0>}
      : (tensor<?x?x4x32xf32>, tensor<?x?x2x32xf32>) -> (tensor<?x4xf32>)
  // The first sequence's scores as a map of one layer.
  %row = tensor.extract_slice %local[0, 0] [1, 4] [1, 1] : tensor<?x4xf32> to tensor<1x4xf32>
  return %all, %sink, %row : tensor<?x4xf32>, tensor<?x4xf32>, tensor<1x4xf32>
}

func.func @other(%x: tensor<?x4xf32> {heddle.name = "x", heddle.dims = ["B", ""]}) -> (tensor<?x4xf32> {heddle.name = "y"}) {
  %y = attn.activation silu %x : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
