//===- JsonPosition.h - where a key stands in a JSON text -------*- C++ -*-===//

#ifndef HEDDLE_LIB_IMPORT_HUGGINGFACE_JSONPOSITION_H
#define HEDDLE_LIB_IMPORT_HUGGINGFACE_JSONPOSITION_H

#include "heddle/Import/ImportMessages.h"

#include <string_view>

namespace heddle {

/// Line and column (in bytes) of the key that `path` leads to, or of the last
/// key on the way that exists; the start of the text if there is none. `text`
/// must have been parsed as JSON without errors.
ImportPosition jsonKeyPosition(std::string_view text, const std::vector<std::string> &path);

} // namespace heddle

#endif // HEDDLE_LIB_IMPORT_HUGGINGFACE_JSONPOSITION_H
