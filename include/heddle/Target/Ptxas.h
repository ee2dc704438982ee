//===- Ptxas.h - PTX to machine code ----------------------------*- C++ -*-===//

#ifndef HEDDLE_TARGET_PTXAS_H
#define HEDDLE_TARGET_PTXAS_H

#include "heddle/Target/CUDATools.h"

namespace heddle {

/// What ptxas says about one kernel.
struct PtxasReport {
  int64_t registers = 0;     ///< per thread
  int64_t stackBytes = 0;    ///< per thread, spilled registers included
  int64_t spillStores = 0;   ///< bytes
  int64_t spillLoads = 0;    ///< bytes
  int64_t sharedBytes = 0;   ///< static ones only
  int64_t constantBytes = 0; ///< parameters included
  int64_t barriers = 0;
  std::vector<std::string> warnings; ///< one line each
  std::vector<std::string>
      performanceLosses; ///< lines such as "(C7513) Potential Performance Loss: ..."

  bool hasSpills() const { return spillStores || spillLoads; }
  bool isClean() const { return !hasSpills() && warnings.empty() && performanceLosses.empty(); }
};

/// Reads what `ptxas -v` printed about `kernel`. Lines about other functions are left out; warnings that name none count.
PtxasReport parsePtxasOutput(llvm::StringRef text, llvm::StringRef kernel);

struct Cubin {
  std::string bytes;
  PtxasReport report;
};

/// Machine code of `ptx`, which holds the kernel `kernel`, for `chip` ("sm_80"). Errors carry ptxas' text. Safe to call from several
/// threads.
llvm::Expected<Cubin> runPtxas(const CUDATools &tools, llvm::StringRef ptx, llvm::StringRef chip,
                               llvm::StringRef kernel);

} // namespace heddle

#endif // HEDDLE_TARGET_PTXAS_H
