//===- ModuleCost.h - work, weights and caches of attn modules --*- C++ -*-===//
//
// What a module of attn ops needs before anything of it is lowered: FLOPs and bytes of each kind of op, weights and caches of each layer.
// Unlike KernelCost it counts what the formulas ask for, once, whatever kernels make of them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_ANALYSIS_MODULECOST_H
#define HEDDLE_ANALYSIS_MODULECOST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace heddle {

/// Work of ops of one kind. Counts are doubles, as they may exceed 64 bits.
struct OpWork {
  std::string kind; ///< name of the op; "projections" and "other" for what is no op of attn
  int64_t count = 0;
  double matrixFlops = 0; ///< of products: 2 a multiply-add
  double otherFlops = 0;  ///< of the rest of the formulas: 1 an operation on a float
  double bytes = 0; ///< operands read once and results written once; of caches only the rows needed
  bool isComplete = true; ///< false: the formula of such an op, or an extent, is not known here
};

/// What belongs to one layer, or to none.
struct LayerParts {
  std::optional<int64_t> number;
  llvm::MapVector<llvm::StringRef, int64_t>
      ops; ///< how many of each op of attn, and of projections
  double parameters = 0, parameterBytes = 0;
  double cacheBytesPerToken = 0, stateBytesPerSequence = 0;

  bool isLike(const LayerParts &other) const;
};

/// Key and value heads of one attention op. With a latent there are no key heads: what is cached of a token is the latent and a rope
/// key, of which each query head makes keys of keyDim (rope included) and values.
struct AttentionHeads {
  int64_t queryHeads = 0, keyHeads = 0, keyDim = 0, valueDim = 0;
  int64_t elementBytes = 0; ///< of a key
  int64_t latentDim = 0, ropeDim = 0;

  bool operator==(const AttentionHeads &other) const {
    return queryHeads == other.queryHeads && keyHeads == other.keyHeads && keyDim == other.keyDim &&
           valueDim == other.valueDim && elementBytes == other.elementBytes;
  }
};

struct EntryCost {
  std::string name;
  /// Symbols of the entry's dimensions and the extents that were counted with.
  std::vector<std::pair<std::string, int64_t>> extents;
  int64_t inputs = 0, weights = 0, caches = 0, outputs = 0;
  std::vector<OpWork> work;       ///< in the order in which the kinds appear
  std::vector<LayerParts> layers; ///< what belongs to none first
  /// The distinct forms of attention, and how many ops have each.
  std::vector<std::pair<AttentionHeads, int64_t>> attention;
};

/// Extents that an entry is counted at: a dimension that `given` does not name is `batch` if it leads an argument or is the only one,
/// else `length`.
struct CostExtents {
  int64_t batch = 1, length = 2048;
  llvm::StringMap<int64_t> given;
};

/// Counts an entry whose calls are inlined.
EntryCost countEntry(mlir::func::FuncOp entry, const CostExtents &extents);

/// Pairs of query and key that see each other: rows `queries` at the end of `keys`, causal or not, within a window (-1: no limit).
double countVisiblePairs(int64_t queries, int64_t keys, bool isCausal, int64_t left, int64_t right);

} // namespace heddle

#endif // HEDDLE_ANALYSIS_MODULECOST_H
