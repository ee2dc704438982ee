//===- Heatmap.cpp - maps of layers and heads as a picture ----------------===//
//
// Panels stand in rows of up to three. A panel, from the left: numbers of layers, the cells (layer 0 on top, head 0 on the left), the
// scale. Scales begin at 0, or at the smallest value if that is negative, and end at the first of 1, 2, 2.5, 5 times a power of 10 that is
// not below the largest value, so that patterns of little weight show as well.
//
//===----------------------------------------------------------------------===//

#include "Heatmap.h"
#include "heddle/TensorIO/File.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace heddle;
using namespace heddle::run;

namespace {

struct Scale {
  double low = 0, high = 1;

  /// From 0 to 1.
  double place(double value) const { return std::clamp((value - low) / (high - low), 0.0, 1.0); }
};

/// Sizes of a panel, in pixels.
struct Layout {
  explicit Layout(const PatternMap &map)
      : rows(int64_t(map.layers.size())), columns(map.heads),
        cell(std::clamp<int64_t>(448 / std::max(rows, columns), 6, 28)) {}

  int64_t rows, columns, cell;

  static constexpr int64_t left = 56, top = 56, bottom = 44, scaleGap = 16, scaleWidth = 14,
                           right = 64;

  int64_t cellsWidth() const { return columns * cell; }
  int64_t cellsHeight() const { return rows * cell; }
  int64_t scaleHeight() const { return std::max<int64_t>(cellsHeight(), 96); }
  int64_t width() const {
    // Titles need some room where there are few heads.
    return std::max<int64_t>(left + cellsWidth() + scaleGap + scaleWidth + right, 260);
  }
  int64_t height() const { return top + scaleHeight() + bottom; }
  /// Every how many rows or columns there is a number.
  int64_t step() const {
    for (int64_t step : {1, 2, 4, 8, 16, 32, 64})
      if (step * cell >= 20)
        return step;
    return 128;
  }
};

} // namespace

/// A number with up to four significant digits.
static std::string numberText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

static std::string escape(const std::string &text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += c;
    }
  }
  return escaped;
}

/// A colour between dark blue and yellow whose lightness rises evenly (the colour map viridis).
static std::string colour(double place) {
  constexpr int anchors[][3] = {{68, 1, 84},    {72, 40, 120},  {62, 74, 137},  {49, 104, 142},
                                {38, 130, 142}, {31, 158, 137}, {53, 183, 121}, {109, 205, 89},
                                {180, 222, 44}, {253, 231, 37}};
  constexpr int last = int(std::size(anchors)) - 1;
  double scaled = place * last;
  int below = std::min(int(scaled), last - 1);
  char text[8];
  int mixed[3];
  for (int channel = 0; channel < 3; ++channel)
    mixed[channel] =
        int(std::lround(anchors[below][channel] + (scaled - below) * (anchors[below + 1][channel] -
                                                                      anchors[below][channel])));
  std::snprintf(text, sizeof text, "#%02x%02x%02x", mixed[0], mixed[1], mixed[2]);
  return text;
}

static Scale scaleOf(const PatternMap &map) {
  double smallest = 0, largest = 0;
  for (double value : map.values)
    if (std::isfinite(value)) {
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    }
  double bound = std::max(largest, -smallest);
  double high = 1;
  if (bound > 0) {
    high = std::pow(10, std::floor(std::log10(bound)));
    // Roundings of single precision do not widen a scale.
    for (double factor : {1.0, 2.0, 2.5, 5.0, 10.0})
      if (high * factor * (1 + 1e-6) >= bound) {
        high *= factor;
        break;
      }
  }
  return {smallest < 0 ? -high : 0.0, high};
}

namespace {

/// Writes the elements of a picture.
class Drawing {
public:
  void text(int64_t x, int64_t y, const char *style, const std::string &words) {
    add("<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" class=\"" + style +
        "\">" + escape(words) + "</text>\n");
  }
  void rectangle(int64_t x, int64_t y, int64_t width, int64_t height, const std::string &fill,
                 const std::string &tooltip) {
    add("<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
        std::to_string(width) + "\" height=\"" + std::to_string(height) + "\" fill=\"" + fill +
        "\"" + (tooltip.empty() ? "/>\n" : "><title>" + escape(tooltip) + "</title></rect>\n"));
  }
  void add(const std::string &element) { elements += element; }

  std::string elements;
};

} // namespace

/// "largest 0.931: layer 5, head 3".
static std::string largestText(const PatternMap &map) {
  size_t best = map.values.size();
  for (size_t i = 0; i < map.values.size(); ++i)
    if (std::isfinite(map.values[i]) &&
        (best == map.values.size() || map.values[i] > map.values[best]))
      best = i;
  if (best == map.values.size())
    return "no finite value";
  return "largest " + numberText(map.values[best]) + ": layer " +
         std::to_string(map.layers[best / size_t(map.heads)]) + ", head " +
         std::to_string(best % size_t(map.heads));
}

static void drawCells(Drawing &drawing, const PatternMap &map, const Layout &layout,
                      const Scale &scale) {
  // A gap shows the borders of cells where they are large enough.
  int64_t size = layout.cell - (layout.cell >= 10 ? 1 : 0);
  for (int64_t row = 0; row < layout.rows; ++row)
    for (int64_t head = 0; head < layout.columns; ++head) {
      double value = map.values[size_t(row * layout.columns + head)];
      bool isNumber = std::isfinite(value);
      drawing.rectangle(Layout::left + head * layout.cell, Layout::top + row * layout.cell, size,
                        size, isNumber ? colour(scale.place(value)) : "#bbbbbb",
                        map.pattern + ", layer " + std::to_string(map.layers[size_t(row)]) +
                            ", head " + std::to_string(head) + ": " + numberText(value));
    }
}

static void drawAxes(Drawing &drawing, const PatternMap &map, const Layout &layout) {
  int64_t half = layout.cell / 2, bottom = Layout::top + layout.cellsHeight();
  for (int64_t row = 0; row < layout.rows; row += layout.step())
    drawing.text(Layout::left - 6, Layout::top + row * layout.cell + half + 4, "end",
                 std::to_string(map.layers[size_t(row)]));
  for (int64_t head = 0; head < layout.columns; head += layout.step())
    drawing.text(Layout::left + head * layout.cell + half, bottom + 15, "middle",
                 std::to_string(head));
  drawing.text(Layout::left + layout.cellsWidth() / 2, bottom + 33, "middle", "head");
  std::string x = "18", y = std::to_string(Layout::top + layout.cellsHeight() / 2);
  drawing.add("<text transform=\"translate(" + x + " " + y +
              ") rotate(-90)\" class=\"middle\">layer</text>\n");
}

static void drawScale(Drawing &drawing, const Layout &layout, const Scale &scale) {
  constexpr int64_t steps = 32, ticks = 4;
  int64_t x = Layout::left + layout.cellsWidth() + Layout::scaleGap;
  int64_t height = layout.scaleHeight();
  for (int64_t step = 0; step < steps; ++step) {
    int64_t top = height * step / steps, end = height * (step + 1) / steps;
    drawing.rectangle(x, Layout::top + top, Layout::scaleWidth, end - top,
                      colour(1 - (double(step) + 0.5) / steps), "");
  }
  for (int64_t tick = 0; tick <= ticks; ++tick) {
    int64_t y = Layout::top + height - height * tick / ticks;
    drawing.rectangle(x + Layout::scaleWidth, y, 4, 1, "#333333", "");
    drawing.text(x + Layout::scaleWidth + 8, y + 4, "start",
                 numberText(scale.low + (scale.high - scale.low) * double(tick) / ticks));
  }
}

static std::string drawPanel(const PatternMap &map, int64_t x, int64_t y) {
  Layout layout(map);
  Scale scale = scaleOf(map);
  Drawing drawing;
  drawing.add("<g transform=\"translate(" + std::to_string(x) + " " + std::to_string(y) + ")\">\n");
  drawing.text(Layout::left, 24, "name", map.pattern);
  drawing.text(Layout::left, 42, "start", largestText(map));
  drawCells(drawing, map, layout, scale);
  drawAxes(drawing, map, layout);
  drawScale(drawing, layout, scale);
  drawing.add("</g>\n");
  return drawing.elements;
}

std::string heddle::run::heatmapSvg(const std::vector<PatternMap> &maps, const std::string &title) {
  constexpr size_t columns = 3;
  constexpr int64_t top = 44;
  std::string panels;
  // At least as wide as the title.
  int64_t width = std::max<int64_t>(320, 24 + 10 * int64_t(title.size())), height = top;
  for (size_t first = 0; first < maps.size(); first += columns) {
    int64_t x = 0, rowHeight = 0;
    for (size_t i = first; i < std::min(maps.size(), first + columns); ++i) {
      Layout layout(maps[i]);
      panels += drawPanel(maps[i], x, height);
      x += layout.width();
      rowHeight = std::max(rowHeight, layout.height());
    }
    width = std::max(width, x);
    height += rowHeight;
  }
  std::string w = std::to_string(width), h = std::to_string(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h +
         "\" viewBox=\"0 0 " + w + " " + h + "\" role=\"img\">\n<title>" + escape(title) +
         "</title>\n<style>text { font: 12px sans-serif; fill: #222222 } .title { font: bold 18px "
         "sans-serif } .name { font: bold 15px sans-serif } .middle { text-anchor: middle } .end { "
         "text-anchor: end }</style>\n<rect width=\"" +
         w + "\" height=\"" + h +
         "\" fill=\"#ffffff\"/>\n<text x=\"20\" y=\"30\" class=\"title\">" + escape(title) +
         "</text>\n" + panels + "</svg>\n";
}

Status heddle::run::writeHeatmap(const std::vector<PatternMap> &maps, const std::string &title,
                                 const std::string &file) {
  Result<AtomicFile> output = AtomicFile::create(file);
  if (!output)
    return output.failure();
  if (Status status = output->write(heatmapSvg(maps, title)); !status)
    return status;
  return output->commit();
}
