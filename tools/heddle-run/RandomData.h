//===- RandomData.h - the data of --random --------------------------------===//

#ifndef HEDDLE_TOOLS_RUN_RANDOMDATA_H
#define HEDDLE_TOOLS_RUN_RANDOMDATA_H

#include "ArgumentSet.h"

namespace heddle {
namespace run {

/// The random number number `index` of a stream: a function of its arguments alone, so data does
/// not depend on the order of filling.
uint64_t randomBits(uint64_t stream, uint64_t index);

/// Fills an input: floats uniform in [-1, 1), weights times 1/sqrt(last extent); bools 0 or 1;
/// integers named 'tokens' below the vocabulary size, if the model gives one; other integers 0. The
/// stream depends on the seed and the argument's name.
void fillRandom(const Argument &argument, Tensor &tensor, uint64_t seed,
                std::optional<int64_t> vocabularySize);

/// fillRandom with the given seed; an empty filler without one.
ArgumentSet::Filler randomFiller(std::optional<uint64_t> seed,
                                 std::optional<int64_t> vocabularySize);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_RANDOMDATA_H
