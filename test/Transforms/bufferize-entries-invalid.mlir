// RUN: heddle-opt %s --split-input-file --bufferize-entries --verify-diagnostics

// In place: nothing to say.
func.func @in_place(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.exp ins(%t : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %u = linalg.copy ins(%y : tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @for(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{'scf.for' op expected tensor 0 that it carries to be updated in place; on CPUs linalg.copy ins(%next) outs(%carried) does so, for GPUs unroll the loop}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    // expected-note @below {{this is in another buffer}}
    %y = linalg.exp ins(%t : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// The two change places with each trip.
func.func @swap(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @below {{this is in another buffer}}
  // expected-error @below {{'scf.for' op expected tensor 0 that it carries to be updated in place}}
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @while(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{'scf.while' op expected tensor 1 that it carries to be updated in place}}
  %r:2 = scf.while (%i = %c0, %t = %x) : (index, tensor<4xf32>) -> (index, tensor<4xf32>) {
    %go = arith.cmpi slt, %i, %n : index
    scf.condition(%go) %i, %t : index, tensor<4xf32>
  } do {
  ^bb0(%i: index, %t: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    // expected-note @below {{this is in another buffer}}
    %y = linalg.exp ins(%t : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %j = arith.addi %i, %c1 : index
    scf.yield %j, %y : index, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

func.func @while_condition(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{'scf.while' op expected tensor 1 that it carries to be updated in place}}
  %r:2 = scf.while (%i = %c0, %t = %x) : (index, tensor<4xf32>) -> (index, tensor<4xf32>) {
    %go = arith.cmpi slt, %i, %n : index
    %e = tensor.empty() : tensor<4xf32>
    // expected-note @below {{this is in another buffer}}
    %y = linalg.exp ins(%t : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.condition(%go) %i, %y : index, tensor<4xf32>
  } do {
  ^bb0(%i: index, %t: tensor<4xf32>):
    %j = arith.addi %i, %c1 : index
    scf.yield %j, %t : index, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
