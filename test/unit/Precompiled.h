//===- Precompiled.h - the precompiled header of unit tests over MLIR -----===//

#ifndef HEDDLE_TEST_UNIT_PRECOMPILED_H
#define HEDDLE_TEST_UNIT_PRECOMPILED_H

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Support/Precompiled.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#endif // HEDDLE_TEST_UNIT_PRECOMPILED_H
