//===- HtmlReport.h - what --report writes ----------------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_COMPILE_HTMLREPORT_H
#define HEDDLE_TOOLS_COMPILE_HTMLREPORT_H

#include "heddle/Analysis/ModuleCost.h"
#include "heddle/Target/GPUChips.h"

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

struct ReportOptions {
  std::string file;  ///< "-": standard output
  std::string title; ///< of the page: what was read
  CostExtents extents;
  const GPUChip *chip = nullptr;
};

/// Writes one page about a module of attn ops, which stays as it is. The file appears whole or not at all.
mlir::LogicalResult writeHtmlReport(mlir::ModuleOp module, const ReportOptions &options);

} // namespace heddle

#endif // HEDDLE_TOOLS_COMPILE_HTMLREPORT_H
