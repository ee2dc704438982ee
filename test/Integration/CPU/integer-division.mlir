// Divisions that trap on a CPU give a number: x / 0 = x and x mod 0 = 0, also where padding divides 0 by 0.
// RUN: heddle-compile %s --target=cpu,sim-sm_80 -o %t.so
// RUN: heddle-run %t.so --random 1 --dim d0=3 --target=cpu --output q=%t.npy --output m=%t.m.npy
// RUN: heddle-run %t.so --random 1 --dim d0=3 --target=sim-sm_80 --verify q=%t.npy --verify m=%t.m.npy --rtol 0

func.func @f(%x: tensor<?x7xi32> {heddle.name = "x"}, %y: tensor<?x7xi32> {heddle.name = "y"})
    -> (tensor<?x7xi32> {heddle.name = "q"}, tensor<?x7xi32> {heddle.name = "m"}) {
  %q = arith.divsi %x, %y : tensor<?x7xi32>
  %m = arith.remui %x, %y : tensor<?x7xi32>
  return %q, %m : tensor<?x7xi32>, tensor<?x7xi32>
}
