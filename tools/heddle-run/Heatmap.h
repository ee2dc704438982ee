//===- Heatmap.h - maps of layers and heads as a picture --------*- C++ -*-===//

#ifndef HEDDLE_TOOLS_RUN_HEATMAP_H
#define HEDDLE_TOOLS_RUN_HEATMAP_H

#include "PatternMaps.h"

namespace heddle {
namespace run {

/// One SVG without references to anything outside: a panel for each map with its name, numbered axes, a scale of its own colours with
/// numbers, and in each cell a tooltip with layer, head and value.
std::string heatmapSvg(const std::vector<PatternMap> &maps, const std::string &title);

/// Writes it to a file.
Status writeHeatmap(const std::vector<PatternMap> &maps, const std::string &title,
                    const std::string &file);

} // namespace run
} // namespace heddle

#endif // HEDDLE_TOOLS_RUN_HEATMAP_H
