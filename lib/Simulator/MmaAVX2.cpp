//===- MmaAVX2.cpp - mma for processors with AVX2, FMA and F16C -----------===//
//
// Compiled with those instructions on. It must not include anything whose inline functions other
// files use too: the linker might keep the copy made here.
//
//===----------------------------------------------------------------------===//

#define HEDDLE_SIM_MMA mmaAVX2
#include "MmaKernel.inc"
