// RUN: heddle-opt %s --attn-absorb-latent | FileCheck %s --check-prefix=COST
// RUN: heddle-opt %s --attn-absorb-latent='queries=170 keys=100000000' | FileCheck %s --check-prefix=FEW
// RUN: heddle-opt %s --attn-absorb-latent='queries=171 keys=100000000' | FileCheck %s --check-prefix=MANY
// RUN: heddle-opt %s --attn-absorb-latent=form=absorbed | FileCheck %s --check-prefix=ABSORBED
// RUN: heddle-opt %s --attn-absorb-latent=form=absorbed --attn-absorb-latent=form=expanded | FileCheck %s --check-prefix=EXPANDED
// RUN: not heddle-opt %s --attn-absorb-latent='queries=0' 2>&1 | FileCheck %s --check-prefix=QUERIES
// QUERIES: error: expected queries and keys >= 1, got 0 and 4096

// ABSORBED-COUNT-9: attn.latent_attention {{.*}}{absorbed
// EXPANDED-COUNT-9: attn.latent_attention {{.*}}expanded
// EXPANDED-NOT: absorbed

// A step of decoding; the query comes from a latent of its own, which makes no difference.
// COST-LABEL: func.func @step
// COST: attn.latent_attention {{.*}} {absorbed, causal}
func.func @step(%latent: tensor<?x1x1536xbf16>, %wq: tensor<24576x1536xbf16>, %cache: tensor<?x?x576xbf16>, %up: tensor<32768x512xbf16>,
                %zeros: tensor<?x1x24576xbf16>, %batch: index) -> tensor<?x1x128x128xbf16> {
  %all = linalg.contract indexing_maps = [affine_map<(b, t, o, d) -> (b, t, d)>, affine_map<(b, t, o, d) -> (o, d)>, affine_map<(b, t, o, d) -> (b, t, o)>]
      ins(%latent, %wq : tensor<?x1x1536xbf16>, tensor<24576x1536xbf16>) outs(%zeros : tensor<?x1x24576xbf16>) -> tensor<?x1x24576xbf16>
  %q = tensor.expand_shape %all [[0], [1], [2, 3]] output_shape [%batch, 1, 128, 192] : tensor<?x1x24576xbf16> into tensor<?x1x128x192xbf16>
  %nope = tensor.extract_slice %q[0, 0, 0, 0] [%batch, 1, 128, 128] [1, 1, 1, 1] : tensor<?x1x128x192xbf16> to tensor<?x1x128x128xbf16>
  %rope = tensor.extract_slice %q[0, 0, 0, 128] [%batch, 1, 128, 64] [1, 1, 1, 1] : tensor<?x1x128x192xbf16> to tensor<?x1x128x64xbf16>
  %o = attn.latent_attention %nope, %cache, %up query_rope(%rope : tensor<?x1x128x64xbf16>) {causal}
      : (tensor<?x1x128x128xbf16>, tensor<?x?x576xbf16>, tensor<32768x512xbf16>) -> tensor<?x1x128x128xbf16>
  return %o : tensor<?x1x128x128xbf16>
}

// A prompt of any length counts as `queries`: 512 are more than the 170.7 where both forms cost the same.
// COST-LABEL: func.func @prompt
// COST: attn.latent_attention {{.*}} {causal, expanded}
// FEW-LABEL: func.func @prompt
// FEW: attn.latent_attention {{.*}} {absorbed, causal}
// MANY-LABEL: func.func @prompt
// MANY: attn.latent_attention {{.*}} {causal, expanded}
func.func @prompt(%q: tensor<?x?x128x128xbf16>, %qr: tensor<?x?x128x64xbf16>, %cache: tensor<?x?x576xbf16>, %up: tensor<32768x512xbf16>) -> tensor<?x?x128x128xbf16> {
  %o = attn.latent_attention %q, %cache, %up query_rope(%qr : tensor<?x?x128x64xbf16>) {causal}
      : (tensor<?x?x128x128xbf16>, tensor<?x?x576xbf16>, tensor<32768x512xbf16>) -> tensor<?x?x128x128xbf16>
  return %o : tensor<?x?x128x128xbf16>
}

// Rope does not move the border.
// FEW-LABEL: func.func @no_rope
// FEW: attn.latent_attention {{.*}} {absorbed, causal}
// MANY-LABEL: func.func @no_rope
// MANY: attn.latent_attention {{.*}} {causal, expanded}
func.func @no_rope(%q: tensor<?x?x128x128xbf16>, %cache: tensor<?x?x512xbf16>, %up: tensor<32768x512xbf16>) -> tensor<?x?x128x128xbf16> {
  %o = attn.latent_attention %q, %cache, %up {causal} : (tensor<?x?x128x128xbf16>, tensor<?x?x512xbf16>, tensor<32768x512xbf16>) -> tensor<?x?x128x128xbf16>
  return %o : tensor<?x?x128x128xbf16>
}

// As many queries as keys: expanding costs no more than absorbing does, and its attention less.
// COST-LABEL: func.func @square
// COST: attn.latent_attention {{.*}} {causal, expanded}
func.func @square(%q: tensor<1x64x128x128xbf16>, %cache: tensor<1x64x512xbf16>, %up: tensor<32768x512xbf16>) -> tensor<1x64x128x128xbf16> {
  %o = attn.latent_attention %q, %cache, %up {causal} : (tensor<1x64x128x128xbf16>, tensor<1x64x512xbf16>, tensor<32768x512xbf16>) -> tensor<1x64x128x128xbf16>
  return %o : tensor<1x64x128x128xbf16>
}

// 64 more queries on a long cache.
// COST-LABEL: func.func @chunk
// COST: attn.latent_attention {{.*}} {absorbed, causal}
func.func @chunk(%q: tensor<1x64x128x128xbf16>, %cache: tensor<1x8192x512xbf16>, %up: tensor<32768x512xbf16>) -> tensor<1x64x128x128xbf16> {
  %o = attn.latent_attention %q, %cache, %up {causal} : (tensor<1x64x128x128xbf16>, tensor<1x8192x512xbf16>, tensor<32768x512xbf16>) -> tensor<1x64x128x128xbf16>
  return %o : tensor<1x64x128x128xbf16>
}

// Each query has keys of its own.
// COST-LABEL: func.func @lists
// COST: attn.latent_attention {{.*}} {absorbed, causal}
func.func @lists(%q: tensor<?x?x128x128xbf16>, %cache: tensor<?x?x512xbf16>, %up: tensor<32768x512xbf16>, %i: tensor<?x?x2048xi32>) -> tensor<?x?x128x128xbf16> {
  %o = attn.latent_attention %q, %cache, %up indices(%i : tensor<?x?x2048xi32>) {causal}
      : (tensor<?x?x128x128xbf16>, tensor<?x?x512xbf16>, tensor<32768x512xbf16>) -> tensor<?x?x128x128xbf16>
  return %o : tensor<?x?x128x128xbf16>
}

// A latent that is narrower than what is projected from it.
// COST-LABEL: func.func @narrow
// COST: attn.latent_attention {{.*}} {absorbed, causal}
func.func @narrow(%q: tensor<?x?x8x128xbf16>, %cache: tensor<?x?x64xbf16>, %up: tensor<2048x64xbf16>) -> tensor<?x?x8x128xbf16> {
  %o = attn.latent_attention %q, %cache, %up {causal} : (tensor<?x?x8x128xbf16>, tensor<?x?x64xbf16>, tensor<2048x64xbf16>) -> tensor<?x?x8x128xbf16>
  return %o : tensor<?x?x8x128xbf16>
}

// What is set stays.
// COST-LABEL: func.func @set
// COST: attn.latent_attention {{.*}} {expanded}
// COST: attn.latent_attention {{.*}} {absorbed}
func.func @set(%step: tensor<1x1x8x128xbf16>, %prompt: tensor<1x900x8x128xbf16>, %cache: tensor<1x900x512xbf16>, %up: tensor<2048x512xbf16>)
    -> (tensor<1x1x8x128xbf16>, tensor<1x900x8x128xbf16>) {
  %0 = attn.latent_attention %step, %cache, %up {expanded} : (tensor<1x1x8x128xbf16>, tensor<1x900x512xbf16>, tensor<2048x512xbf16>) -> tensor<1x1x8x128xbf16>
  %1 = attn.latent_attention %prompt, %cache, %up {absorbed} : (tensor<1x900x8x128xbf16>, tensor<1x900x512xbf16>, tensor<2048x512xbf16>) -> tensor<1x900x8x128xbf16>
  return %0, %1 : tensor<1x1x8x128xbf16>, tensor<1x900x8x128xbf16>
}
