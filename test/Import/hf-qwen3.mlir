// RUN: heddle-translate --import-hf %S/../goldens/models/qwen3 --dtype bf16 --logits last | FileCheck %s
// RUN: heddle-translate --import-hf %S/../goldens/models/qwen3 --layer 1 | FileCheck %s --check-prefix=BLOCK
// A block for a known number of tokens, as decoding has.
// RUN: heddle-translate --import-hf %S/../goldens/models/qwen3 --layer 1 --tokens 1 | FileCheck %s --check-prefix=TOKEN
// TOKEN: func.func @block(%{{.*}}: tensor<?x1x{{[0-9]+}}xf32> {heddle.dims = ["B", "", ""], heddle.name = "hidden_states"}
// TOKEN: attn.attention {{.*}} : (tensor<?x1x

// Two shards, QK norm, head of its own, bf16 activations over f32 weights.

// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: tensor<?x?x4x32xbf16> {{{[^}]*}}heddle.name = "k_cache.0"
// CHECK-SAME: %[[HEAD:[a-z0-9]+]]: tensor<197x80xf32> {heddle.name = "lm_head.weight", heddle.role = "weight"}
// CHECK-SAME: -> (tensor<?x1x197xf32> {heddle.name = "logits"}
// CHECK: attn.require %{{.*}}, "tokens has no columns, so no last logits"
// CHECK: arith.truncf {{.*}} : f32 to bf16
// CHECK: arith.truncf {{.*}} : tensor<?x?x256xf32> to tensor<?x?x256xbf16>
// CHECK: attn.rms_norm {{.*}} : tensor<?x?x8x32xbf16>, tensor<32xf32>
// CHECK: attn.rms_norm {{.*}} : tensor<?x?x4x32xbf16>, tensor<32xf32>
// CHECK: attn.rope {{.*}} {theta = 1.000000e+06 : f64} : tensor<?x?x8x32xbf16>, tensor<?x?xi32>
// CHECK: %[[ROW:.*]] = tensor.extract_slice {{.*}} : tensor<?x?x80xbf16> to tensor<?x1x80xbf16>
// CHECK: %[[NORMED:.*]] = attn.rms_norm %[[ROW]]
// CHECK: linalg.contract {{.*}} ins(%[[NORMED]], %[[HEAD]] : tensor<?x1x80xbf16>, tensor<197x80xf32>) outs(%{{.*}} : tensor<?x1x197xf32>)
// CHECK-LABEL: func.func @decode(
// CHECK-NOT: attn.require %
// CHECK-NOT: tensor.extract_slice

// BLOCK-NOT: func.func @prefill
// BLOCK: func.func @block(
// BLOCK-SAME: tensor<?x?x80xf32> {heddle.dims = ["B", "L", ""], heddle.name = "hidden_states"}
// BLOCK-SAME: heddle.name = "k_cache", heddle.role = "cache"
// BLOCK-SAME: heddle.name = "model.layers.1.input_layernorm.weight"
// BLOCK-SAME: heddle.name = "model.layers.1.mlp.down_proj.weight", heddle.role = "weight"}) ->
// BLOCK-SAME: tensor<?x?x80xf32> {heddle.name = "hidden_states.out"}
// BLOCK-SAME: heddle.updates = "v_cache"
