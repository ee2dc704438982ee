//===- PrintKernels.h - what --print-kernels prints -------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_PRINTKERNELS_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_PRINTKERNELS_H

#include "heddle/Target/KernelReport.h"

namespace heddle {

enum class ReportForm { Table, JSON };

/// Reads what --at says: "B=1" and the like. The error says what would be right.
llvm::Expected<llvm::StringMap<int64_t>> parseExtents(llvm::ArrayRef<std::string> texts);

/// Prints the reports of all targets.
void printReports(llvm::ArrayRef<KernelReport> reports, ReportForm form, llvm::raw_ostream &os);

} // namespace heddle

#endif // HEDDLE_TOOLS_HEDDLE_COMPILE_PRINTKERNELS_H
