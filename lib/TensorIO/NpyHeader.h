//===- NpyHeader.h - the dictionary at the start of a .npy file -----------===//

#ifndef HEDDLE_LIB_TENSORIO_NPYHEADER_H
#define HEDDLE_LIB_TENSORIO_NPYHEADER_H

#include "heddle/TensorIO/DType.h"
#include "heddle/TensorIO/Result.h"

namespace heddle {
namespace npy {

struct Header {
  DType dtype = DType::F32;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" followed by blanks. All
/// three keys must be there, once each and nothing else. `name` stands for the file in messages.
Result<Header> parseHeader(std::string_view text, const std::string &name);

/// The dictionary's text for a type and shape. Only for types that the format has.
std::string formatHeader(DType dtype, const std::vector<int64_t> &shape);

} // namespace npy
} // namespace heddle

#endif // HEDDLE_LIB_TENSORIO_NPYHEADER_H
