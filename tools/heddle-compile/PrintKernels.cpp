//===- PrintKernels.cpp - what --print-kernels prints ---------------------===//

#include "PrintKernels.h"

#include "llvm/Support/FormatVariadic.h"

namespace heddle {

llvm::Expected<llvm::StringMap<int64_t>> parseExtents(llvm::ArrayRef<std::string> texts) {
  llvm::StringMap<int64_t> extents;
  for (llvm::StringRef text : texts) {
    auto [name, number] = text.split('=');
    int64_t extent;
    // The arithmetic of entries multiplies two of them, which must stay below 2^63.
    if (name.empty() || number.getAsInteger(10, extent) || extent < 0 || extent > (1 << 28))
      return llvm::createStringError(
          "--at takes dimensions with extents from 0 to 268435456, such as L=512, not '" + text +
          "'");
    if (!extents.try_emplace(name, extent).second)
      return llvm::createStringError("--at gives '" + name + "' twice");
  }
  return extents;
}

void printReports(llvm::ArrayRef<KernelReport> reports, ReportForm form, llvm::raw_ostream &os) {
  if (form == ReportForm::JSON) {
    llvm::json::Array targets;
    for (const KernelReport &report : reports)
      targets.push_back(report.toJSON());
    os << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(targets)));
    return;
  }
  for (auto [i, report] : llvm::enumerate(reports)) {
    os << (i ? "\n" : "");
    report.print(os);
  }
}

} // namespace heddle
