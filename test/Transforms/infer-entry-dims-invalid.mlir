// RUN: heddle-opt %s --infer-entry-dims --split-input-file --verify-diagnostics

// expected-error @+1 {{entry 'f' expected argument 1 to be a ranked tensor, but it is 'memref<4xf32>'}}
func.func @f(%x: tensor<4xf32>, %y: memref<4xf32>) {
  return
}

// -----

// expected-error @+1 {{entry 'f' expected argument 0 to be a ranked tensor, but it is 'f32'}}
func.func @f(%x: f32) {
  return
}

// -----

// expected-error @+1 {{entry 'f' expected result 0 to be a ranked tensor, but it is 'tensor<*xf32>'}}
func.func @f(%x: tensor<4xf32>) -> tensor<*xf32> {
  %y = tensor.cast %x : tensor<4xf32> to tensor<*xf32>
  return %y : tensor<*xf32>
}

// -----

// expected-error @+1 {{entry 'f' expected one block}}
func.func @f(%x: tensor<4xf32>) {
  cf.br ^bb1
^bb1:
  return
}

// -----

// expected-error @+1 {{entry 'f' argument 0 has 1 names in heddle.dims, but rank 2}}
func.func @f(%x: tensor<4x4xf32> {heddle.dims = ["B"]}) {
  return
}

// -----

// expected-error @+1 {{entry 'f' argument 0 expected heddle.name to be a string, but it is 5 : i64}}
func.func @f(%x: tensor<4xf32> {heddle.name = 5}) {
  return
}

// -----

// expected-error @+1 {{entry 'f' result 0 expected heddle.updates to be a string, but it is unit}}
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {heddle.updates}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{entry 'f' argument 0 has the unknown heddle.role 'weights'; known are input, weight, cache, state}}
func.func @f(%x: tensor<4xf32> {heddle.role = "weights"}) {
  return
}

// -----

// expected-error @+1 {{entry 'f' result 0 has dims ["d1"], but updates 'x' with dims ["d0"]}}
func.func @f(%x: tensor<?xf32> {heddle.name = "x"}, %y: tensor<?xf32>) -> (tensor<?xf32> {heddle.updates = "x"}) {
  return %y : tensor<?xf32>
}

// -----

// expected-error @+1 {{entry 'f' result 0 is a 'tensor<4xf16>', but updates 'x', a 'tensor<4xf32>'}}
func.func @f(%x: tensor<4xf32> {heddle.name = "x"}, %y: tensor<4xf16>) -> (tensor<4xf16> {heddle.updates = "x"}) {
  return %y : tensor<4xf16>
}

// -----

func.func @selection(%x: tensor<?xf32>, %y: tensor<?xf32>, %c: tensor<i1>) -> tensor<?xf32> {
  %cond = tensor.extract %c[] : tensor<i1>
  // expected-error @+1 {{expected both sides of a choice between tensors to have the same extents, which can't be proven here}}
  %r = arith.select %cond, %x, %y : tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// expected-error @+1 {{entry 'f' argument 0 expected heddle.parts to be a string with one '*', but it is "e.up"}}
func.func @f(%w: tensor<4x8xf32> {heddle.role = "weight", heddle.parts = "e.up"}) {
  return
}

// -----

// expected-error @+1 {{entry 'f' argument 0 has heddle.parts, which only a weight with static extents has, stacked along the first}}
func.func @f(%w: tensor<4x8xf32> {heddle.parts = "e.*.up"}) {
  return
}

// -----

// expected-error @+1 {{entry 'f' argument 0 has heddle.parts, which only a weight with static extents has, stacked along the first}}
func.func @f(%w: tensor<?x8xf32> {heddle.role = "weight", heddle.parts = "e.*.up"}) {
  return
}

// -----

// expected-error @+1 {{entry 'f' argument 0 expected heddle.name to be UTF-8 text without control characters, but it is "x\0A"}}
func.func @f(%x: tensor<4xf32> {heddle.name = "x\0A"}) {
  return
}

// -----

// expected-error @+1 {{entry 'f' argument 0 expected heddle.name to be UTF-8 text without control characters, but it is "\FF"}}
func.func @f(%x: tensor<4xf32> {heddle.name = "\FF"}) {
  return
}

// -----

// expected-error @+1 {{entry 'f' argument 0 expected heddle.dims to be UTF-8 text without control characters, but it is "n\00m"}}
func.func @f(%x: tensor<?xf32> {heddle.dims = ["n\00m"]}) {
  return
}

// -----

// expected-error @+1 {{entry 'f' result 0 expected heddle.name to be UTF-8 text without control characters, but it is "y\7F"}}
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {heddle.name = "y\7F"}) {
  return %x : tensor<4xf32>
}
