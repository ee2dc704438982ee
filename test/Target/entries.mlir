// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s -o %t/all.so && llvm-nm -D --defined-only %t/all.so | FileCheck %s --check-prefix=ALL
// ALL-DAG: T half
// ALL-DAG: T twice

// Other entries are left out, and what they alone need.
// RUN: heddle-compile %s -o %t/one.so --entry=twice && llvm-nm -D --defined-only %t/one.so | FileCheck %s --check-prefix=ONE --implicit-check-not=half
// ONE: T twice
// RUN: heddle-compile %s --emit=linalg -o - --entry=twice | FileCheck %s --check-prefix=LINALG --implicit-check-not=@half
// LINALG: func.func @twice
// RUN: heddle-compile %s -o %t/both.so --entry=twice,half

// RUN: not heddle-compile %s -o %t/none.so --entry=triple 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: there is no entry 'triple'; the module has: twice, half
// RUN: not test -e %t/none.so

func.func @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = func.call @helper(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @half(%x: tensor<?xf64>) -> tensor<?xf64> {
  %y = math.sqrt %x : tensor<?xf64>
  return %y : tensor<?xf64>
}
func.func private @helper(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
