//===- OutputFiles.h - files that appear whole or not at all ----*- C++ -*-===//

#ifndef HEDDLE_TARGET_OUTPUTFILES_H
#define HEDDLE_TARGET_OUTPUTFILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace heddle {

/// Writes text to `path` ("-": standard output) as replaceFile does, but to a file that is not executable.
llvm::Error writeOutput(llvm::StringRef path,
                        llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write);

/// Calls `make` with the path of a temporary file beside `path` and renames that file to `path` if it succeeds. The result is
/// readable by all, and executable, as far as the process' umask allows. A stream such as /dev/stdout is written to instead.
llvm::Error replaceFile(llvm::StringRef path,
                        llvm::function_ref<llvm::Error(llvm::StringRef)> make);

/// Writes `content` to the file at `path`, which is for names that no reader knows yet: a failure leaves a part of it there.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content);

/// Whether `path` is a file or could become one: neither standard output nor another stream.
bool isReplaceable(llvm::StringRef path);

/// Whether both are names of one file, or would be: neither is a stream.
bool isSameFile(llvm::StringRef a, llvm::StringRef b);

/// Whether a file written to `path` would replace the input, by whatever name: that file, or one of the .json and .safetensors files of a
/// checkpoint's folder.
bool replacesInput(llvm::StringRef path, llvm::StringRef input);

} // namespace heddle

#endif // HEDDLE_TARGET_OUTPUTFILES_H
