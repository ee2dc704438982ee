// RUN: heddle-translate --import-hf %S/../goldens/models/llama | FileCheck %s

// Tied embeddings, llama3 scaling, bf16 weights, f32 activations.

// CHECK: module attributes {heddle.model = {
// CHECK-SAME: activations = "f32"
// CHECK-SAME: head_dim = 16 : i64
// CHECK-SAME: heads = 6 : i64
// CHECK-SAME: kv_heads = 2 : i64
// CHECK-SAME: layers = 3 : i64
// CHECK-SAME: model_type = "llama"
// CHECK-SAME: parameters = 232896 : i64
// CHECK-SAME: vocab_size = 211 : i64

// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: %[[TOKENS:[a-z0-9]+]]: tensor<?x?xi64> {heddle.dims = ["B", "L"], heddle.name = "tokens"}
// CHECK-SAME: %[[START:[a-z0-9]+]]: tensor<?xi32> {heddle.dims = ["B"], heddle.name = "start"}
// CHECK-SAME: %[[K0:[a-z0-9]+]]: tensor<?x?x2x16xf32> {bufferization.writable = true, heddle.dims = ["B", "C", "", ""], heddle.name = "k_cache.0", heddle.role = "cache"}
// CHECK-SAME: %[[V0:[a-z0-9]+]]: tensor<?x?x2x16xf32> {{{[^}]*}}heddle.name = "v_cache.0"
// CHECK-SAME: heddle.name = "v_cache.2", heddle.role = "cache"
// CHECK-SAME: %[[EMBED:[a-z0-9]+]]: tensor<211x96xbf16> {heddle.name = "model.embed_tokens.weight", heddle.role = "weight"}
// CHECK-SAME: %[[NORM:[a-z0-9]+]]: tensor<96xbf16> {heddle.name = "model.layers.0.input_layernorm.weight"
// CHECK-SAME: %[[WQ:[a-z0-9]+]]: tensor<96x96xbf16> {heddle.name = "model.layers.0.self_attn.q_proj.weight"
// CHECK-SAME: %[[FINAL:[a-z0-9]+]]: tensor<96xbf16> {heddle.name = "model.norm.weight"
// CHECK-NOT: lm_head
// CHECK-SAME: -> (tensor<?x?x211xf32> {heddle.name = "logits"},
// CHECK-SAME: tensor<?x?x2x16xf32> {heddle.name = "k_cache.0", heddle.updates = "k_cache.0"}

// CHECK: attn.require_range %[[TOKENS]] in{{ ?}}[%{{.*}}, %{{.*}}], "tokens" : tensor<?x?xi64>
// Positions, then lengths.
// CHECK: %[[POSITIONS:.*]] = linalg.generic {{.*}} ins(%[[START]] : tensor<?xi32>) outs(%{{.*}} : tensor<?x?xi32>)
// CHECK: linalg.index 1
// CHECK: %[[LENGTHS:.*]] = linalg.generic {{.*}} ins(%[[START]] : tensor<?xi32>) outs(%{{.*}} : tensor<?xi32>)
// CHECK: %[[HIDDEN:.*]] = linalg.generic {{.*}} ins(%[[TOKENS]]
// CHECK: tensor.extract %[[EMBED]]
// CHECK: arith.extf {{.*}} : bf16 to f32

// The first layer.
// CHECK: %[[X:.*]] = attn.rms_norm %[[HIDDEN]], %[[NORM]] {eps = 1.000000e-05 : f64} : tensor<?x?x96xf32>, tensor<96xbf16>
// CHECK: %[[ZEROS:.*]] = linalg.fill
// CHECK: %[[Q:.*]] = linalg.contract indexing_maps = [{{.*}}] ins(%[[X]], %[[WQ]] : tensor<?x?x96xf32>, tensor<96x96xbf16>) outs(%[[ZEROS]] : tensor<?x?x96xf32>)
// CHECK: tensor.expand_shape %[[Q]] {{.*}} into tensor<?x?x6x16xf32>
// CHECK: attn.rope {{.*}}, %[[POSITIONS]] {scaling = #attn.rope_llama3<factor = 3.200000e+01, low_freq_factor = 1.000000e+00, high_freq_factor = 4.000000e+00, original_max_position = 64>, theta = 5.000000e+05 : f64}
// CHECK: %[[K:.*]] = attn.rope
// CHECK: %[[K1:[a-z0-9_]+]], %[[V1:[a-z0-9_]+]] = attn.kv_append %[[K0]], %[[V0]], %[[K]], %{{.*}}, %[[START]]
// CHECK: attn.attention %{{.*}}, %[[K1]], %[[V1]] kv_len(%[[LENGTHS]] : tensor<?xi32>) {causal}
// CHECK: tensor.collapse_shape
// CHECK: arith.addf %[[HIDDEN]]
// CHECK: attn.glu swiglu

// The head reads the embedding and stays in f32.
// CHECK: %[[LAST:.*]] = attn.rms_norm %{{.*}}, %[[FINAL]]
// CHECK: %[[LOGITS:.*]] = linalg.contract {{.*}} ins(%[[LAST]], %[[EMBED]]
// CHECK: return %[[LOGITS]], %[[K1]], %[[V1]],

// CHECK-LABEL: func.func @decode(
// CHECK-SAME: tensor<?x1xi64> {heddle.dims = ["B", ""], heddle.name = "tokens"}
// CHECK-SAME: -> (tensor<?x1x211xf32> {heddle.name = "logits"}
