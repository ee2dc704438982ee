// Arguments that are updated in place, when their old content is a result or becomes another argument.
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s -o %t/m.so
// RUN: heddle-run %t/m.so --entry make --random 1 --dim N=5 --output result0=%t/a.npy
// RUN: heddle-run %t/m.so --entry make --random 2 --dim N=5 --output result0=%t/b.npy
// RUN: heddle-run %t/m.so --entry plus --input x=%t/a.npy --input y=%t/b.npy --output result0=%t/sum.npy

// RUN: heddle-run %t/m.so --entry swap --input a=%t/a.npy --input b=%t/b.npy --verify a=%t/b.npy --verify b=%t/a.npy --rtol 0
// RUN: heddle-run %t/m.so --entry old_result --input a=%t/a.npy --input b=%t/b.npy --verify a=%t/sum.npy --verify old=%t/a.npy --rtol 0
// RUN: heddle-run %t/m.so --entry old_moves --input a=%t/a.npy --input b=%t/b.npy --verify a=%t/sum.npy --verify b=%t/a.npy --verify new=%t/sum.npy --rtol 0
// RUN: heddle-run %t/m.so --entry same --input a=%t/a.npy --verify a=%t/a.npy --verify first=%t/a.npy --verify second=%t/a.npy --rtol 0

func.func @make(%x: tensor<?xf32> {heddle.dims = ["N"]}) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func @plus(%x: tensor<?xf32> {heddle.name = "x"}, %y: tensor<?xf32> {heddle.name = "y"}) -> tensor<?xf32> {
  %s = arith.addf %x, %y : tensor<?xf32>
  return %s : tensor<?xf32>
}
func.func @swap(%a: tensor<?xf32> {heddle.name = "a", heddle.dims = ["N"]}, %b: tensor<?xf32> {heddle.name = "b", heddle.dims = ["N"]})
    -> (tensor<?xf32> {heddle.updates = "a"}, tensor<?xf32> {heddle.updates = "b"}) {
  return %b, %a : tensor<?xf32>, tensor<?xf32>
}
func.func @old_result(%a: tensor<?xf32> {heddle.name = "a"}, %b: tensor<?xf32> {heddle.name = "b"})
    -> (tensor<?xf32> {heddle.updates = "a"}, tensor<?xf32> {heddle.name = "old"}) {
  %s = arith.addf %a, %b : tensor<?xf32>
  return %s, %a : tensor<?xf32>, tensor<?xf32>
}
func.func @old_moves(%a: tensor<?xf32> {heddle.name = "a"}, %b: tensor<?xf32> {heddle.name = "b"})
    -> (tensor<?xf32> {heddle.updates = "a"}, tensor<?xf32> {heddle.updates = "b"}, tensor<?xf32> {heddle.name = "new"}) {
  %s = arith.addf %a, %b : tensor<?xf32>
  return %s, %a, %s : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
func.func @same(%a: tensor<?xf32> {heddle.name = "a"})
    -> (tensor<?xf32> {heddle.updates = "a"}, tensor<?xf32> {heddle.name = "first"}, tensor<?xf32> {heddle.name = "second"}) {
  return %a, %a, %a : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
