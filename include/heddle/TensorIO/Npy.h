//===- Npy.h - NumPy's .npy files -----------------------------------------===//

#ifndef HEDDLE_TENSORIO_NPY_H
#define HEDDLE_TENSORIO_NPY_H

#include "heddle/TensorIO/File.h"
#include "heddle/TensorIO/Tensor.h"

namespace heddle {

/// Reads a .npy file: versions 1, 2 and 3, little endian, f8 f4 f2 i8 i4 i2 i1 u1 b1, row-major or
/// Fortran order (which is converted). bfloat16 has no type in this format and is refused.
Result<Tensor> readNpy(const std::string &path);

/// The same from memory; `name` stands for the file in messages.
Result<Tensor> parseNpy(std::string_view bytes, const std::string &name);

/// Writes a .npy file (version 1) that appears when the result is committed. Refuses bfloat16.
Result<AtomicFile> stageNpy(const std::string &path, const TensorView &tensor);

/// Stages and commits.
Status writeNpy(const std::string &path, const TensorView &tensor);

} // namespace heddle

#endif // HEDDLE_TENSORIO_NPY_H
