//===- Html.h - a page of tables and small drawings -------------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_COMPILE_HTML_H
#define HEDDLE_TOOLS_COMPILE_HTML_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace heddle::html {

/// 1234567 as "1,234,567".
std::string count(double number);
/// Three digits with a unit of 1000: "1.23 G".
std::string scaled(double number);
/// The same of bytes, with units of 1024: "1.23 MiB"; exact below that.
std::string bytes(double number);
/// With units of 1000: "1.23 TB".
std::string bytesDecimal(double number);
/// "1.23 ms".
std::string duration(double seconds);

/// Writes a page that stands for itself: style and drawings inside, readable on a light and a dark screen. One element of a table a line.
class Writer {
public:
  void begin(llvm::StringRef title);
  void heading(llvm::StringRef text);
  /// Columns of which all but the first are aligned to the right if their cells are numbers.
  void table(llvm::ArrayRef<std::string> columns);
  void row(llvm::ArrayRef<std::string> cells, bool isTotal = false);
  void endTable();
  void note(llvm::StringRef text);

  /// A cell that is a bar of this part of the largest one, 0 to 1.
  static std::string bar(double part);

  struct Point {
    std::string name;
    double intensity, rate; ///< FLOP/B and FLOP/s
  };
  /// FLOP/s over FLOP/B under the two limits of a chip.
  void roofline(llvm::ArrayRef<Point> points, double flops, double bandwidth);

  /// The whole page.
  std::string end();

private:
  std::string text;
};

} // namespace heddle::html

#endif // HEDDLE_TOOLS_COMPILE_HTML_H
