//===- LayoutQueries.cpp - what a layout says about an access -------------===//

#include "heddle/Layout/LayoutQueries.h"
#include "LayoutParts.h"
#include <algorithm>

namespace heddle::layout {

Coverage coverage(const Layout &layout) {
  int64_t copies = int64_t(1) << (layout.linear().columns() - layout.linear().rank());
  for (const Repeat &repeat : layout.repeats())
    copies *= repeat.out ? 1 : repeat.count;
  return {layout.isSurjective(), copies};
}

ContiguousElements contiguousElements(const Layout &layout, Dim out) {
  std::vector<BitRef> inBits = bitsOf(layout.inputs()), outBits = bitsOf(layout.outputs());
  ContiguousElements run{1, {}};
  for (size_t row = 0; row < outBits.size(); ++row) {
    if (outBits[row].dim != out)
      continue;
    if (outBits[row].weight != run.count)
      break;
    // One register bit must contribute exactly this bit, and no other input bit may. Register is
    // the first input, so its bits are the first columns.
    int contributor = -1;
    for (int column = 0; column < int(inBits.size()); ++column) {
      uint64_t image = layout.linear().column(column);
      if (!(image >> row & 1))
        continue;
      if (contributor >= 0 || inBits[column].dim != Dim::Register || image != uint64_t(1) << row)
        return run;
      contributor = column;
    }
    if (contributor < 0)
      break;
    run.registerBits.push_back(contributor);
    run.count *= 2;
  }
  return run;
}

int64_t inputMask(const Layout &layout, Dim in, Dim out) {
  int64_t mask = 0;
  for (const LayoutParts::Bit &bit : LayoutParts::of(layout).bits)
    if (bit.in.dim == in && std::any_of(bit.image.begin(), bit.image.end(),
                                        [&](const BitRef &image) { return image.dim == out; }))
      mask |= bit.in.weight;
  return mask;
}

int64_t broadcastMask(const Layout &layout, Dim in) {
  int64_t mask = 0;
  for (const LayoutParts::Bit &bit : LayoutParts::of(layout).bits)
    if (bit.in.dim == in && bit.image.empty())
      mask |= bit.in.weight;
  return mask;
}

bool isSpreadOverWarps(const Layout &layout, Dim out) {
  return inputMask(layout, Dim::Warp, out) != 0 ||
         std::any_of(layout.repeats().begin(), layout.repeats().end(), [&](const Repeat &repeat) {
           return repeat.in == Dim::Warp && repeat.out == out;
         });
}

std::set<std::pair<int64_t, int64_t>> rowsOfWarps(const Layout &layout) {
  std::set<std::pair<int64_t, int64_t>> rows;
  layout.projectOutputs({Dim::Coord0})
      .withoutBroadcast(Dim::Register)
      .withoutBroadcast(Dim::Lane)
      .forEach([&](const Point &position, const Point &element) {
        rows.insert({valueOf(position, Dim::Warp), valueOf(element, Dim::Coord0)});
      });
  return rows;
}

} // namespace heddle::layout
