//===- PrecompiledPlain.h - the precompiled header of the other unit tests ===//

#ifndef HEDDLE_TEST_UNIT_PRECOMPILEDPLAIN_H
#define HEDDLE_TEST_UNIT_PRECOMPILEDPLAIN_H

#include "heddle/Support/PrecompiledPlain.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#endif // HEDDLE_TEST_UNIT_PRECOMPILEDPLAIN_H
