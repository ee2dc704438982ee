// Entries become C functions inside a module that calls libm.
// RUN: not heddle-compile %s -o %t.so --entry=tanh 2>&1 | FileCheck %s --check-prefix=LIBRARY
// LIBRARY: error: entry 'tanh' can't be a C function: the name is a function of the C library
// RUN: not heddle-compile %s -o %t.so --entry=pthread_create 2>&1 | FileCheck %s --check-prefix=PTHREAD
// PTHREAD: error: entry 'pthread_create' can't be a C function: the name is a function of the C library
// RUN: not heddle-compile %s -o %t.so --entry=int 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: entry 'int' can't be a C function: the name is a word of C or C++
// RUN: not heddle-compile %s -o %t.so --entry=main 2>&1 | FileCheck %s --check-prefix=MAIN
// MAIN: error: entry 'main' can't be a C function: the name is a word of C or C++
// RUN: not heddle-compile %s -o %t.so --entry=a.b 2>&1 | FileCheck %s --check-prefix=DOT
// DOT: error: entry 'a.b' can't be a C function: the name is not a C identifier
// RUN: not heddle-compile %s -o %t.so --entry=2nd 2>&1 | FileCheck %s --check-prefix=DIGIT
// DIGIT: error: entry '2nd' can't be a C function: the name is not a C identifier
// RUN: not heddle-compile %s -o %t.so --entry=heddle_module_description 2>&1 | FileCheck %s --check-prefix=RUNTIME
// RUNTIME: error: entry 'heddle_module_description' can't be a C function: the name starts with heddle_, which the runtime's functions do
// RUN: not heddle-compile %s -o %t.so --entry=__init 2>&1 | FileCheck %s --check-prefix=RESERVED
// RESERVED: error: entry '__init' can't be a C function: the name starts like the names that C reserves for compilers
// RUN: not heddle-compile %s -o %t.so --entry=good,good_workspace 2>&1 | FileCheck %s --check-prefix=WORKSPACE
// WORKSPACE: error: entry 'good' needs the name 'good_workspace', which another entry has

// Names that only the inside uses are free.
// RUN: heddle-compile %s -o %t.so --entry=good,kernel_copy,kernel_copy_task
// RUN: heddle-run %t.so --entry kernel_copy --random 1

func.func @tanh(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @pthread_create(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @int(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @a.b(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @"2nd"(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @heddle_module_description(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @__init(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @good(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @good_workspace(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @kernel_copy(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func @kernel_copy_task(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
