// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @dynamic_experts(%z: tensor<?x?xf32>) {
  // expected-error @below {{'attn.router' op expected a static last dimension of logits, got type 'tensor<?x?xf32>'}}
  %0:2 = attn.router softmax %z {top_k = 3 : i64} : tensor<?x?xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @correction(
    // expected-note @below {{logits has type 'tensor<?x16xf32>'}}
    %z: tensor<?x16xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'attn.router' op expected dimension 0 of correction (8) to equal dimension 1 of logits (16)}}
  %0:2 = attn.router softmax %z correction(%b : tensor<8xf32>) {top_k = 3 : i64} : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @top_k(%z: tensor<?x16xf32>) {
  // expected-error @below {{'attn.router' op expected 1 <= top_k <= experts (16), got 17}}
  %0:2 = attn.router softmax %z {top_k = 17 : i64} : tensor<?x16xf32> -> tensor<?x17xi32>, tensor<?x17xf32>
  return
}

// -----

func.func @top_k_zero(%z: tensor<?x16xf32>) {
  // expected-error @below {{'attn.router' op expected 1 <= top_k <= experts (16), got 0}}
  %0:2 = attn.router softmax %z {top_k = 0 : i64} : tensor<?x16xf32> -> tensor<?x0xi32>, tensor<?x0xf32>
  return
}

// -----

func.func @scale(%z: tensor<?x16xf32>) {
  // expected-error @below {{'attn.router' op expected a finite scale, got inf}}
  %0:2 = attn.router softmax %z {top_k = 3 : i64, scale = 0x7FF0000000000000 : f64} : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @top_groups_alone(%z: tensor<?x16xf32>) {
  // expected-error @below {{'attn.router' op expected top_groups only with groups}}
  %0:2 = attn.router softmax %z {top_k = 3 : i64, top_groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @no_top_groups(%z: tensor<?x16xf32>) {
  // expected-error @below {{'attn.router' op expected top_groups with groups}}
  %0:2 = attn.router softmax %z {top_k = 3 : i64, groups = 4 : i64} : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @groups_divide(%z: tensor<?x16xf32>) {
  // expected-error @below {{'attn.router' op expected experts (16) to be a multiple of groups (5)}}
  %0:2 = attn.router softmax %z {top_k = 3 : i64, groups = 5 : i64, top_groups = 2 : i64} : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @top_groups(%z: tensor<?x16xf32>) {
  // expected-error @below {{'attn.router' op expected 1 <= top_groups <= groups (4), got 5}}
  %0:2 = attn.router softmax %z {top_k = 3 : i64, groups = 4 : i64, top_groups = 5 : i64} : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @group_top(%z: tensor<?x16xf32>) {
  // expected-error @below {{'attn.router' op expected 1 <= group_top <= experts of a group (4), got 5}}
  %0:2 = attn.router softmax %z {top_k = 3 : i64, groups = 4 : i64, top_groups = 2 : i64, group_top = 5 : i64} : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @too_few(%z: tensor<?x16xf32>) {
  // expected-error @below {{'attn.router' op expected 1 <= top_k <= experts of top_groups (2), got 3}}
  %0:2 = attn.router softmax %z {top_k = 3 : i64, groups = 8 : i64, top_groups = 1 : i64} : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @no_down(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x24x40xf32>) {
  // expected-error @below {{'attn.experts' op expected operand down}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x24x40xf32>) up(%a1 : tensor<4x24x40xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<?x24x40xf32>, %a1: tensor<4x24x40xf32>, %a2: tensor<4x40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected static extents of gate, got type 'tensor<?x24x40xf32>'}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<?x24x40xf32>) up(%a1 : tensor<4x24x40xf32>) down(%a2 : tensor<4x40x24xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @two_stacks(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x24x40xf32>, %a2: tensor<4x24x40xf32>, %a3: tensor<4x40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected one tensor of gate for all experts or tensors of rank 2, got 2 of type 'tensor<4x24x40xf32>'}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0, %a1 : tensor<4x24x40xf32>, tensor<4x24x40xf32>) up(%a2 : tensor<4x24x40xf32>) down(%a3 : tensor<4x40x24xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @one_up(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<24x40xf32>, %a1: tensor<24x40xf32>, %a2: tensor<40x24xf32>, %a3: tensor<40x24xf32>, %a4: tensor<24x40xf32>) {
  // expected-error @below {{'attn.experts' op expected 2 tensors of up, got 1}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0, %a1 : tensor<24x40xf32>, tensor<24x40xf32>) down(%a2, %a3 : tensor<40x24xf32>, tensor<40x24xf32>) up(%a4 : tensor<24x40xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @up_shape(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x40x24xf32>, %a2: tensor<4x40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected up of shape [4, 24, 40], got type 'tensor<4x40x24xf32>'}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x24x40xf32>) up(%a1 : tensor<4x40x24xf32>) down(%a2 : tensor<4x40x24xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @one_shape(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<24x40xf32>, %a1: tensor<24x39xf32>, %a2: tensor<40x24xf32>, %a3: tensor<40x24xf32>, %a4: tensor<24x40xf32>, %a5: tensor<24x40xf32>) {
  // expected-error @below {{'attn.experts' op expected gate 1 of shape [24, 40], got type 'tensor<24x39xf32>'}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0, %a1 : tensor<24x40xf32>, tensor<24x39xf32>) down(%a2, %a3 : tensor<40x24xf32>, tensor<40x24xf32>) up(%a4, %a5 : tensor<24x40xf32>, tensor<24x40xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @bias_shape(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x24x40xf32>, %a2: tensor<4x40x24xf32>, %a3: tensor<4x24xf32>) {
  // expected-error @below {{'attn.experts' op expected down_bias of shape [4, 40], got type 'tensor<4x24xf32>'}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x24x40xf32>) up(%a1 : tensor<4x24x40xf32>) down(%a2 : tensor<4x40x24xf32>) down_bias(%a3 : tensor<4x24xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @one_bias(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x24x40xf32>, %a2: tensor<4x40x24xf32>, %a3: tensor<4x24xf32>) {
  // expected-error @below {{'attn.experts' op expected gate_bias and up_bias together}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x24x40xf32>) up(%a1 : tensor<4x24x40xf32>) down(%a2 : tensor<4x40x24xf32>) gate_bias(%a3 : tensor<4x24xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @odd(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x25x40xf32>, %a1: tensor<4x40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected an even number of outputs of gate without up, got 25}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x25x40xf32>) down(%a1 : tensor<4x40x24xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @interleaved(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x24x40xf32>, %a2: tensor<4x40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected interleaved only without up}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x24x40xf32>) up(%a1 : tensor<4x24x40xf32>) down(%a2 : tensor<4x40x24xf32>) {interleaved}
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @up_bias(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x48x40xf32>, %a1: tensor<4x40x24xf32>, %a2: tensor<4x24xf32>) {
  // expected-error @below {{'attn.experts' op expected up_bias only with up}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x48x40xf32>) down(%a1 : tensor<4x40x24xf32>) up_bias(%a2 : tensor<4x24xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @input_dim(%x: tensor<?x?x39xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x24x40xf32>, %a2: tensor<4x40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected dimension 2 of input (39) to equal the outputs of down (40)}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x24x40xf32>) up(%a1 : tensor<4x24x40xf32>) down(%a2 : tensor<4x40x24xf32>)
      : (tensor<?x?x39xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @rank(%x: tensor<?x?x40xf32>, %i: tensor<?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x24x40xf32>, %a2: tensor<4x40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected indices of rank 3 like input, got type 'tensor<?x2xi32>'}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x24x40xf32>) up(%a1 : tensor<4x24x40xf32>) down(%a2 : tensor<4x40x24xf32>)
      : (tensor<?x?x40xf32>, tensor<?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @tokens(
    // expected-note @below {{input has type 'tensor<?x4x40xf32>'}}
    %x: tensor<?x4x40xf32>, %i: tensor<?x5x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x24x40xf32>, %a2: tensor<4x40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected dimension 1 of indices (5) to equal dimension 1 of input (4)}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x24x40xf32>) up(%a1 : tensor<4x24x40xf32>) down(%a2 : tensor<4x40x24xf32>)
      : (tensor<?x4x40xf32>, tensor<?x5x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @choices(%x: tensor<?x?x40xf32>,
    // expected-note @below {{indices has type 'tensor<?x?x3xi32>'}}
    %i: tensor<?x?x3xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x24x40xf32>, %a2: tensor<4x40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected dimension 2 of weights (2) to equal dimension 2 of indices (3)}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x24x40xf32>) up(%a1 : tensor<4x24x40xf32>) down(%a2 : tensor<4x40x24xf32>)
      : (tensor<?x?x40xf32>, tensor<?x?x3xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @limit(%x: tensor<?x?x40xf32>, %i: tensor<?x?x2xi32>, %w: tensor<?x?x2xf32>, %a0: tensor<4x24x40xf32>, %a1: tensor<4x24x40xf32>, %a2: tensor<4x40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected limit only with gpt_oss, got swiglu}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a0 : tensor<4x24x40xf32>) up(%a1 : tensor<4x24x40xf32>) down(%a2 : tensor<4x40x24xf32>) {limit = 7.0 : f64}
      : (tensor<?x?x40xf32>, tensor<?x?x2xi32>, tensor<?x?x2xf32>) -> tensor<?x?x40xf32>
  return
}

// -----

func.func @two_types(%x: tensor<?x40xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %a: tensor<24x40xf32>, %b: tensor<24x40xbf16>,
                     %d: tensor<40x24xf32>) {
  // expected-error @below {{'attn.experts' op expected all tensors of gate to have one type, got 'tensor<24x40xf32>' and 'tensor<24x40xbf16>'}}
  %0 = attn.experts swiglu %x, %i, %w gate(%a, %b : tensor<24x40xf32>, tensor<24x40xbf16>) up(%a, %a : tensor<24x40xf32>, tensor<24x40xf32>)
      down(%d, %d : tensor<40x24xf32>, tensor<40x24xf32>)
      : (tensor<?x40xf32>, tensor<?x2xi32>, tensor<?x2xf32>) -> tensor<?x40xf32>
  return
}
