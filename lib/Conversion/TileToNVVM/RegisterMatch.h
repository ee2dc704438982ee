//===- RegisterMatch.h - which registers hold the same elements -*- C++ -*-===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_REGISTERMATCH_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_REGISTERMATCH_H

#include "heddle/Layout/Layout.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace heddle {

/// The layout of a tile's coordinates without the dimension `dim`, of `rank` ones.
layout::Layout withoutDimension(const layout::Layout &layout, unsigned dim, unsigned rank);

/// For each register of `to` the register of `from` with the same element, in every thread. Nothing if a thread holds other elements
/// in one layout than in the other.
std::optional<llvm::SmallVector<int64_t>> matchRegisters(const layout::Layout &from,
                                                         const layout::Layout &to, int64_t warps);

/// The register of `from` that holds, in every thread, what register `reg` of `to` holds, `offsets` further along each dimension.
std::optional<int64_t> matchRegister(const layout::Layout &from, const layout::Layout &to,
                                     int64_t reg, llvm::ArrayRef<int64_t> offsets, int64_t warps);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_REGISTERMATCH_H
