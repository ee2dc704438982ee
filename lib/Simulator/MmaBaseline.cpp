//===- MmaBaseline.cpp - mma for any processor ----------------------------===//

#define HEDDLE_SIM_MMA mmaBaseline
#include "MmaKernel.inc"
