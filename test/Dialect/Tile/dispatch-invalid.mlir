// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-note @below {{'copy' is defined here}}
tile.kernel @copy(%x: memref<?xf32>) {
  tile.return
}
func.func @layout(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  // expected-error @below {{expected argument 0 to have type 'memref<?xf32>', got 'memref<?xf32, strided<[1], offset: ?>>'}}
  %y = tile.dispatch @copy grid(%n, %n, %n) outs(%x : tensor<?xf32>)
  return %y : tensor<?xf32>
}

// -----

func.func @missing(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  // expected-error @below {{expected a kernel named 'none', found none}}
  %y = tile.dispatch @none grid(%n, %n, %n) outs(%x : tensor<?xf32>)
  return %y : tensor<?xf32>
}
