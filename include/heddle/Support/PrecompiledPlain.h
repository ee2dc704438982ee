//===- PrecompiledPlain.h - the precompiled header of code without MLIR ---===//
//
// As Precompiled.h: what is slow to parse and seldom changes.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_SUPPORT_PRECOMPILEDPLAIN_H
#define HEDDLE_SUPPORT_PRECOMPILEDPLAIN_H

#include "heddle/TensorIO/StrictJson.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#endif // HEDDLE_SUPPORT_PRECOMPILEDPLAIN_H
