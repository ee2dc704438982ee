// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @no_flags(%c: tensor<16xf32>) {
  // expected-error @below {{'tile.if_any' op operand #0 must be tile (static tensor of rank 1 or 2) of i1, but got 'tensor<16xf32>'}}
  %0 = "tile.if_any"(%c, %c) ({
    tile.yield %c : tensor<16xf32>
  }) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @other_types(%c: tensor<16xi1>, %x: tensor<16xf32>, %y: tensor<16xf16>) {
  %0 = tile.if_any %c changes(%x) : tensor<16xi1>, tensor<16xf32> {
    // expected-error @below {{'tile.yield' op expected values of types 'tensor<16xf32>', got 'tensor<16xf16>'}}
    tile.yield %y : tensor<16xf16>
  }
  return
}

// -----

func.func @other_rows(%c: tensor<16xi1>, %x: tensor<32x8xf32>) {
  // expected-error @below {{'tile.if_any' op expected tiles of as many rows as the condition (16), got 'tensor<32x8xf32>'}}
  %0 = tile.if_any %c changes(%x) : tensor<16xi1>, tensor<32x8xf32> {
    tile.yield %x : tensor<32x8xf32>
  }
  return
}

// -----

func.func @arguments(%c: tensor<16xi1>, %x: tensor<16xf32>) {
  // expected-error @below {{'tile.if_any' op expected a region without arguments, got 1}}
  %0 = "tile.if_any"(%c, %x) ({
  ^bb0(%y: tensor<16xf32>):
    tile.yield %y : tensor<16xf32>
  }) : (tensor<16xi1>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @another_end(%c: tensor<16xi1>, %x: tensor<16xf32>) {
  // expected-error @below {{'tile.if_any' op expected a region that ends with tile.yield, got 'llvm.unreachable'}}
  %0 = "tile.if_any"(%c, %x) ({
    llvm.unreachable
  }) : (tensor<16xi1>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @stores(%c: tensor<16xi1>, %x: tensor<16xf32>, %m: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %view = tile.view %m[:] : memref<16xf32> -> !tile.view<16xf32>
  %0 = tile.if_any %c changes(%x) : tensor<16xi1>, tensor<16xf32> {
    // expected-error @below {{'tile.store' op writes memory in the region of tile.if_any}}
    tile.store %x, %view[%c0] : tensor<16xf32>, !tile.view<16xf32>
    tile.yield %x : tensor<16xf32>
  }
  return
}

// -----

func.func @stores_inside_of_a_branch(%c: tensor<16xi1>, %x: tensor<16xf32>, %m: memref<16xf32>, %p: i1) {
  %c0 = arith.constant 0 : index
  %view = tile.view %m[:] : memref<16xf32> -> !tile.view<16xf32>
  %0 = tile.if_any %c changes(%x) : tensor<16xi1>, tensor<16xf32> {
    // expected-error @below {{'scf.if' op writes memory in the region of tile.if_any}}
    scf.if %p {
      tile.store %x, %view[%c0] : tensor<16xf32>, !tile.view<16xf32>
    }
    tile.yield %x : tensor<16xf32>
  }
  return
}

// -----

func.func @hint_outside_of_a_loop(%c: tensor<16xi1>) {
  // expected-error @below {{'tile.skip_unless' op expects parent op 'scf.for'}}
  tile.skip_unless %c : tensor<16xi1>
  return
}

// -----

func.func @hint_of_other_rows(%c: tensor<16xi1>, %x: tensor<32x8xf32>, %i: index) {
  %r = scf.for %j = %i to %i step %i iter_args(%y = %x) -> (tensor<32x8xf32>) {
    // expected-error @below {{'tile.skip_unless' op expected a condition with as many rows as the loop's tiles, got 16 rows and 'tensor<32x8xf32>'}}
    tile.skip_unless %c : tensor<16xi1>
    scf.yield %y : tensor<32x8xf32>
  }
  return
}

// -----

func.func @hint_of_nothing(%i: index) {
  scf.for %j = %i to %i step %i {
    // expected-error @below {{'tile.skip_unless' op expected a condition}}
    "tile.skip_unless"() : () -> ()
  }
  return
}

// -----

func.func @hint_about_elements(%c: tensor<16x8xi1>, %i: index) {
  scf.for %j = %i to %i step %i {
    // expected-error @below {{'tile.skip_unless' op operand #0 must be variadic of tile (static tensor) of rank 1 of i1, but got 'tensor<16x8xi1>'}}
    tile.skip_unless %c : tensor<16x8xi1>
  }
  return
}
