// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @not_square(%l: tensor<?x4x3xf32>) {
  // expected-error @below {{'attn.sinkhorn' op expected square matrices of a static extent > 0, got type 'tensor<?x4x3xf32>'}}
  %0 = attn.sinkhorn mhc %l {rounds = 20 : i64} : tensor<?x4x3xf32>
  return
}

// -----

func.func @dynamic(%l: tensor<?x?xf32>) {
  // expected-error @below {{'attn.sinkhorn' op expected square matrices of a static extent > 0, got type 'tensor<?x?xf32>'}}
  %0 = attn.sinkhorn mhc %l {rounds = 20 : i64} : tensor<?x?xf32>
  return
}

// -----

func.func @rounds(%l: tensor<4x4xf32>) {
  // expected-error @below {{'attn.sinkhorn' op expected rounds >= 1, got 0}}
  %0 = attn.sinkhorn mhc %l {rounds = 0 : i64} : tensor<4x4xf32>
  return
}

// -----

func.func @eps(%l: tensor<4x4xf32>) {
  // expected-error @below {{'attn.sinkhorn' op expected eps only with deepseek_v4, got mhc}}
  %0 = attn.sinkhorn mhc %l {rounds = 20 : i64, eps = 1.0e-6 : f64} : tensor<4x4xf32>
  return
}

// -----

func.func @negative_eps(%l: tensor<4x4xf32>) {
  // expected-error @below {{'attn.sinkhorn' op expected a finite eps >= 0, got -1}}
  %0 = attn.sinkhorn deepseek_v4 %l {rounds = 20 : i64, eps = -1.0 : f64} : tensor<4x4xf32>
  return
}

// -----

func.func @dynamic_streams(%x: tensor<?x?x?x8xf32>, %p: tensor<8x16xf32>, %s: tensor<3xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'attn.stream_maps' op expected a static number of streams > 0 and a static width, got type 'tensor<?x?x?x8xf32>'}}
  %0:3 = attn.stream_maps mhc %x, %p, %s, %b {rounds = 20 : i64, norm_eps = 1.0e-6 : f64}
      : (tensor<?x?x?x8xf32>, tensor<8x16xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x?xf32>)
  return
}

// -----

func.func @projection(%x: tensor<?x?x2x8xf32>, %p: tensor<9x16xf32>, %s: tensor<3xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'attn.stream_maps' op expected dimension 0 of projection to be 8 with 2 streams of 8, got 9}}
  %0:3 = attn.stream_maps mhc %x, %p, %s, %b {rounds = 20 : i64, norm_eps = 1.0e-6 : f64}
      : (tensor<?x?x2x8xf32>, tensor<9x16xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>)
  return
}

// -----

func.func @scale(%x: tensor<?x?x2x8xf32>, %p: tensor<8x16xf32>, %s: tensor<2xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'attn.stream_maps' op expected 3 elements of scale, got 2}}
  %0:3 = attn.stream_maps mhc %x, %p, %s, %b {rounds = 20 : i64, norm_eps = 1.0e-6 : f64}
      : (tensor<?x?x2x8xf32>, tensor<8x16xf32>, tensor<2xf32>, tensor<8xf32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>, tensor<?x?x2x2xf32>)
  return
}

// -----

func.func @head_base(%x: tensor<?x?x2x8xf32>, %p: tensor<2x16xf32>, %s: tensor<1xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'attn.stream_head' op expected dimension 0 of base to be 2 with 2 streams of 8, got 3}}
  %0 = attn.stream_head %x, %p, %s, %b {norm_eps = 1.0e-6 : f64}
      : (tensor<?x?x2x8xf32>, tensor<2x16xf32>, tensor<1xf32>, tensor<3xf32>) -> tensor<?x?x8xf32>
  return
}

// -----

func.func @collapse(
    // expected-note @below {{streams has type 'tensor<?x?x2x8xf32>'}}
    %x: tensor<?x?x2x8xf32>, %w: tensor<?x?x3xf32>) {
  // expected-error @below {{'attn.stream_collapse' op expected dimension 2 of weights (3) to equal dimension 2 of streams (2)}}
  %0 = attn.stream_collapse %x, %w : tensor<?x?x2x8xf32>, tensor<?x?x3xf32> -> tensor<?x?x8xf32>
  return
}

// -----

func.func @update(
    // expected-note @below {{streams has type 'tensor<?x?x2x8xf32>'}}
    %x: tensor<?x?x2x8xf32>, %y: tensor<?x?x8xf32>, %p: tensor<?x?x2xf32>, %m: tensor<?x?x2x4xf32>) {
  // expected-error @below {{'attn.stream_update' op expected dimension 3 of mix (4) to equal dimension 2 of streams (2)}}
  %0 = attn.stream_update %x, %y, %p, %m : tensor<?x?x2x8xf32>, tensor<?x?x8xf32>, tensor<?x?x2xf32>, tensor<?x?x2x4xf32>
  return
}
