//===- LLVMOptions.h - LLVM's options, of which a process has one set -----===//

#ifndef HEDDLE_LIB_TARGET_LLVMOPTIONS_H
#define HEDDLE_LIB_TARGET_LLVMOPTIONS_H

#include <mutex>

namespace heddle {

/// Held while an option of LLVM is set for what reads it next, and while LLD runs, which sets all of them back.
inline std::mutex &optionsMutex() {
  static std::mutex mutex;
  return mutex;
}

} // namespace heddle

#endif // HEDDLE_LIB_TARGET_LLVMOPTIONS_H
