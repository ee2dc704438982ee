// RUN: heddle-opt %s --entry-to-buffers --split-input-file --verify-diagnostics
// What infer-entry-dims has not seen.

// expected-error @+1 {{entry 'unnamed' argument 0 has no heddle.name; run infer-entry-dims first}}
func.func @unnamed(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{entry 'scalar' expected argument 0 to be a ranked tensor, but it is 'index'}}
func.func @scalar(%x: index) {
  return
}

// -----

// expected-error @+1 {{entry 'blocks' expected one block}}
func.func @blocks() {
  cf.br ^end
^end:
  return
}
