//===- Html.cpp - a page of tables and small drawings ---------------------===//

#include "Html.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using llvm::formatv;

namespace heddle::html {

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::string count(double number) {
  std::string digits = formatv("{0:F0}", number), text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i && (digits.size() - i) % 3 == 0)
      text += ',';
    text += digits[i];
  }
  return text;
}

/// Three digits of a number and its unit.
static std::string withUnit(double number, double step, llvm::ArrayRef<const char *> units) {
  size_t unit = 0;
  while (number >= step && unit + 1 < units.size()) {
    number /= step;
    ++unit;
  }
  int decimals = number >= 100 || number == std::floor(number) ? 0 : number >= 10 ? 1 : 2;
  char digits[40];
  std::snprintf(digits, sizeof(digits), "%.*f", decimals, number);
  return std::string(digits) + (*units[unit] ? " " : "") + units[unit];
}

std::string scaled(double number) {
  return withUnit(number, 1000, {"", "k", "M", "G", "T", "P", "E"});
}

std::string bytes(double number) {
  return withUnit(number, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string bytesDecimal(double number) {
  return withUnit(number, 1000, {"B", "KB", "MB", "GB", "TB", "PB"});
}

std::string duration(double seconds) {
  return withUnit(seconds * 1e9, 1000, {"ns", "us", "ms", "s"});
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static std::string escaped(llvm::StringRef text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

void Writer::begin(llvm::StringRef title) {
  text += R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>)" +
          escaped(title) + R"(</title>
<style>
:root { color-scheme: light dark; --ink: #1c2126; --soft: #5b6670; --paper: #ffffff; --line: #d5dbe1; --band: #f3f6f9; --bar: #2f6fb0; --limit: #b3541e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaee; --soft: #9aa6b2; --paper: #14181c; --line: #333c45; --band: #1d2329; --bar: #6aa9e9; --limit: #e99a5f; }
}
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { color: var(--soft); max-width: 60rem; margin: .5rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.n { text-align: right; white-space: nowrap; }
tr.total td { font-weight: 600; background: var(--band); }
svg { display: block; max-width: 100%; }
td svg { margin-top: .3rem; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.bar, .point { fill: var(--bar); }
.grid { stroke: var(--line); }
.limit { stroke: var(--limit); stroke-width: 2; fill: none; }
</style>
</head>
<body>
<h1>)" + escaped(title) +
          "</h1>\n";
}

void Writer::heading(llvm::StringRef title) { text += "<h2>" + escaped(title) + "</h2>\n"; }

void Writer::note(llvm::StringRef note) { text += "<p>" + escaped(note) + "</p>\n"; }

void Writer::table(llvm::ArrayRef<std::string> columns) {
  text += "<div class=\"scroll\"><table>\n";
  if (llvm::all_of(columns, [](const std::string &column) { return column.empty(); }))
    return;
  text += "<tr>";
  for (const std::string &column : columns)
    text += "<th>" + escaped(column) + "</th>";
  text += "</tr>\n";
}

void Writer::row(llvm::ArrayRef<std::string> cells, bool isTotal) {
  text += isTotal ? "<tr class=\"total\">" : "<tr>";
  for (auto [i, cell] : llvm::enumerate(cells)) {
    // "12 to 14, each" is none, 12 and "1.23 MiB" are.
    bool isNumber = i && !cell.empty() && (std::isdigit(cell[0]) || cell == "-") &&
                    llvm::StringRef(cell).count(' ') <= 2 && cell.find("head") == std::string::npos;
    bool isDrawing = llvm::StringRef(cell).starts_with("<svg");
    text += (isNumber ? "<td class=\"n\">" : "<td>") + (isDrawing ? cell : escaped(cell)) + "</td>";
  }
  text += "</tr>\n";
}

void Writer::endTable() { text += "</table></div>\n"; }

std::string Writer::bar(double part) {
  constexpr double width = 120;
  return formatv("<svg width=\"{0:F0}\" height=\"12\" role=\"img\" aria-label=\"{1:F0} %\"><rect "
                 "class=\"bar\" y=\"1\" width=\"{2:F1}\" height=\"10\"/></svg>",
                 width, 100 * part, std::max(part * width, part > 0 ? 1.0 : 0.0));
}

void Writer::roofline(llvm::ArrayRef<Point> points, double flops, double bandwidth) {
  if (points.empty())
    return;
  // Decades around the points and the place where the limits meet.
  double meet = flops / bandwidth, left = meet, right = meet * 3, low = flops;
  for (const Point &point : points) {
    left = std::min(left, point.intensity);
    right = std::max(right, point.intensity);
    low = std::min(low, point.rate);
  }
  double x0 = std::floor(std::log10(left)), x1 = std::ceil(std::log10(right));
  double y1 = std::ceil(std::log10(flops));
  double y0 = std::floor(std::min(std::log10(low), std::log10(bandwidth) + x0));
  constexpr double width = 640, height = 300, margin = 60, top = 12;
  auto x = [&](double value) {
    return margin + (std::log10(value) - x0) / (x1 - x0) * (width - margin - 150);
  };
  auto y = [&](double value) {
    return height - 36 - (std::log10(value) - y0) / (y1 - y0) * (height - 36 - top);
  };
  text +=
      formatv("<svg viewBox=\"0 0 {0:F0} {1:F0}\" width=\"{0:F0}\" height=\"{1:F0}\" role=\"img\" "
              "aria-label=\"FLOP/s over FLOP/B\">\n",
              width, height);
  double bottom = y(std::pow(10, y0)), end = x(std::pow(10, x1));
  for (double decade = x0; decade <= x1; ++decade)
    text += formatv(
        "<line class=\"grid\" x1=\"{0:F1}\" y1=\"{1:F0}\" x2=\"{0:F1}\" y2=\"{2:F1}\"/><text "
        "x=\"{0:F1}\" y=\"{3:F1}\" text-anchor=\"middle\">{4}</text>\n",
        x(std::pow(10, decade)), top, bottom, bottom + 16,
        decade < 0 ? formatv("1/{0:F0}", std::pow(10, -decade)).str()
                   : scaled(std::pow(10, decade)));
  for (double decade = y0; decade <= y1; ++decade)
    text += formatv(
        "<line class=\"grid\" x1=\"{0:F0}\" y1=\"{1:F1}\" x2=\"{2:F1}\" y2=\"{1:F1}\"/><text "
        "x=\"{3:F0}\" y=\"{4:F1}\" text-anchor=\"end\">{5}</text>\n",
        margin, y(std::pow(10, decade)), end, margin - 6, y(std::pow(10, decade)) + 4,
        scaled(std::pow(10, decade)));
  text += formatv("<text x=\"{0:F1}\" y=\"{1:F0}\" text-anchor=\"middle\">FLOP/B</text>\n",
                  (margin + end) / 2, height - 4);
  text += formatv("<text x=\"8\" y=\"{0:F0}\">FLOP/s</text>\n", height - 4);
  double first = std::max(std::pow(10, x0), std::pow(10, y0) / bandwidth);
  text += formatv("<path class=\"limit\" d=\"M {0:F1} {1:F1} L {2:F1} {3:F1} L {4:F1} {3:F1}\"/>\n",
                  x(first), y(first * bandwidth), x(meet), y(flops), end);
  for (const Point &point : points)
    text +=
        formatv("<circle class=\"point\" cx=\"{0:F1}\" cy=\"{1:F1}\" r=\"4\"><title>{2}</title></"
                "circle>\n",
                x(point.intensity), y(point.rate), escaped(point.name));
  // Names stand apart from each other at the right, from the highest point down.
  std::vector<const Point *> order;
  for (const Point &point : points)
    order.push_back(&point);
  llvm::sort(order, [](const Point *a, const Point *b) { return a->rate > b->rate; });
  double last = -100;
  for (const Point *point : order) {
    double own = y(point->rate), place = std::max(own + 4, last + 14);
    last = place;
    text += formatv("<line class=\"grid\" x1=\"{0:F1}\" y1=\"{1:F1}\" x2=\"{2:F1}\" "
                    "y2=\"{3:F1}\"/><text x=\"{4:F1}\" y=\"{5:F1}\">{6}</text>\n",
                    x(point->intensity) + 4, own, end + 4, place - 4, end + 8, place,
                    escaped(point->name));
  }
  text += "</svg>\n";
}

std::string Writer::end() {
  text += "</body>\n</html>\n";
  return std::move(text);
}

} // namespace heddle::html
