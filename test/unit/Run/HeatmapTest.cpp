//===- HeatmapTest.cpp - pattern maps and their picture -------------------===//

#include "Heatmap.h"
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace heddle;
using namespace heddle::run;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

Argument output(const std::string &name, std::vector<Dim> shape, DType type = DType::F32) {
  return {name, Kind::Output, "output", type, std::move(shape)};
}

Tensor tensorOf(std::vector<int64_t> shape, const std::vector<double> &values) {
  Tensor tensor = std::move(*Tensor::zeros(DType::F32, std::move(shape)));
  for (size_t i = 0; i < values.size(); ++i)
    storeFromDouble(DType::F32, tensor.data(), i, values[i]);
  return tensor;
}

std::string errorOf(std::vector<Argument> outputs) {
  Entry entry{"patterns", {}, std::move(outputs)};
  Status status = checkPatternMaps(entry);
  return status ? "" : status.error();
}

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

const Dim batch{-1, "B"}, two{2, ""}, three{3, ""};

} // namespace

TEST(PatternMapsTest, JoinsOutputsOfLayers) {
  // Layers 11 and 3 only, as in a model where others have no attention; means over two sequences.
  Entry entry{"patterns",
              {"B"},
              {output("pattern.sink.11", {batch, two}), output("o", {two, two}),
               output("pattern.sink.3", {batch, two}),
               output("pattern.local.window", {two, three})}};
  ASSERT_TRUE(checkPatternMaps(entry));
  std::map<std::string, Tensor> tensors;
  tensors["pattern.sink.11"] = tensorOf({2, 2}, {0.5, 0.25, 0.75, 0.25});
  tensors["pattern.sink.3"] = tensorOf({2, 2}, {0, 1, 0, 0.5});
  tensors["pattern.local.window"] = tensorOf({2, 3}, {1, 2, 3, 4, 5, 6});
  Result<std::vector<PatternMap>> maps =
      collectPatternMaps(entry, [&](const std::string &name) { return tensors[name].view(); });
  ASSERT_TRUE(maps) << maps.error();
  ASSERT_EQ(maps->size(), 2u);
  EXPECT_EQ((*maps)[0].pattern, "sink");
  EXPECT_EQ((*maps)[0].layers, (std::vector<int64_t>{3, 11}));
  EXPECT_EQ((*maps)[0].heads, 2);
  EXPECT_EQ((*maps)[0].values, (std::vector<double>{0, 0.75, 0.625, 0.25}));
  EXPECT_EQ((*maps)[1].pattern, "local.window");
  EXPECT_EQ((*maps)[1].layers, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ((*maps)[1].values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(PatternMapsTest, RefusesOtherOutputs) {
  EXPECT_EQ(
      errorOf({output("o", {two}), output("lse", {two})}),
      "--heatmap: entry 'patterns' has no output named pattern.NAME, of shape [layers, heads], or "
      "pattern.NAME.LAYER, of shape [batch, heads]; its outputs are 'o', 'lse'");
  EXPECT_EQ(
      errorOf({}),
      "--heatmap: entry 'patterns' has no output named pattern.NAME, of shape "
      "[layers, heads], or pattern.NAME.LAYER, of shape [batch, heads]; its outputs are none");
  EXPECT_EQ(errorOf({output("pattern.sink", {batch, two, three})}),
            "--heatmap: output 'pattern.sink' is f32 [B, 2, 3], expected floats of shape [layers, "
            "heads]");
  EXPECT_EQ(
      errorOf({output("pattern.sink.0", {batch, two}, DType::I32)}),
      "--heatmap: output 'pattern.sink.0' is i32 [B, 2], expected floats of shape [batch, heads]");
  EXPECT_EQ(errorOf({output("pattern.sink", {two, two}), output("pattern.sink.1", {batch, two})}),
            "--heatmap: output 'pattern.sink.1' is for one layer, 'pattern.sink' is not");
  EXPECT_EQ(
      errorOf({output("pattern.sink.1", {batch, two}), output("pattern.sink.01", {batch, two})}),
      "--heatmap: outputs 'pattern.sink.1' and 'pattern.sink.01' are of the same layer");
}

TEST(PatternMapsTest, RefusesExtentsThatDoNotFit) {
  Entry entry{
      "patterns", {}, {output("pattern.a.0", {batch, two}), output("pattern.a.1", {batch, batch})}};
  std::map<std::string, Tensor> tensors;
  tensors["pattern.a.0"] = tensorOf({1, 2}, {0, 0});
  tensors["pattern.a.1"] = tensorOf({1, 3}, {0, 0, 0});
  auto view = [&](const std::string &name) { return tensors[name].view(); };
  EXPECT_EQ(collectPatternMaps(entry, view).error(),
            "--heatmap: output 'pattern.a.1' has 3 heads, 'pattern.a.0' has 2");
  tensors["pattern.a.0"] = tensorOf({0, 2}, {});
  EXPECT_EQ(collectPatternMaps(entry, view).error(),
            "--heatmap: output 'pattern.a.0' has shape [0, 2], so there is nothing to draw");
}

TEST(HeatmapTest, HasPanelsWithNumbers) {
  PatternMap sink{"sink", {0, 1}, 3, {0, 0.1, 0.2, 0.3, 0.45, 0.025}};
  PatternMap other{"a<b>&\"c\"", {5, 9}, 3, {0, NAN, -0.5, 0, 0, 0}};
  std::string svg = heatmapSvg({sink, other}, "toy & co");
  EXPECT_THAT(svg, ::testing::StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" width="));
  EXPECT_THAT(svg, HasSubstr("<title>toy &amp; co</title>"));
  // Nothing outside is referred to.
  EXPECT_EQ(countOf(svg, "http"), 1u);
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  EXPECT_EQ(countOf(svg, "class=\"name\""), 2u);
  EXPECT_EQ(countOf(svg, "<title>sink, layer"), 6u);
  EXPECT_THAT(svg, HasSubstr("<title>sink, layer 1, head 1: 0.45</title>"));
  EXPECT_THAT(svg, HasSubstr("largest 0.45: layer 1, head 1"));
  // The scale of sink ends at 0.5, in five numbers.
  for (const char *tick : {">0<", ">0.125<", ">0.25<", ">0.375<", ">0.5<"})
    EXPECT_THAT(svg, HasSubstr(tick));
  // Names are text, and what is no number is grey.
  EXPECT_THAT(svg, HasSubstr(">a&lt;b&gt;&amp;&quot;c&quot;</text>"));
  EXPECT_THAT(
      svg,
      HasSubstr(
          "fill=\"#bbbbbb\"><title>a&lt;b&gt;&amp;&quot;c&quot;, layer 5, head 1: nan</title>"));
  EXPECT_THAT(svg, HasSubstr(", layer 9, head 2: 0</title>"));
  EXPECT_EQ(countOf(svg, ">head</text>"), 2u);
  EXPECT_EQ(countOf(svg, ">layer</text>"), 2u);
}

TEST(HeatmapTest, ColoursFollowTheScale) {
  PatternMap map{"p", {0}, 3, {0, 0.5, 1}};
  std::string svg = heatmapSvg({map}, "t");
  EXPECT_THAT(svg, HasSubstr("fill=\"#440154\"><title>p, layer 0, head 0: 0</title>"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#fde725\"><title>p, layer 0, head 2: 1</title>"));
  // All zeros are the colour of 0, on a scale up to 1.
  PatternMap zeros{"z", {0}, 1, {0}};
  svg = heatmapSvg({zeros}, "t");
  EXPECT_THAT(svg, HasSubstr("fill=\"#440154\"><title>z, layer 0, head 0: 0</title>"));
  EXPECT_THAT(svg, HasSubstr(">0.75<"));
}

TEST(HeatmapTest, ManyHeadsHaveFewerNumbers) {
  PatternMap map{"p", {}, 32, {}};
  for (int64_t layer = 0; layer < 32; ++layer) {
    map.layers.push_back(layer);
    for (int64_t head = 0; head < 32; ++head)
      map.values.push_back(double(layer * 32 + head) / 1024);
  }
  std::string svg = heatmapSvg({map}, "t");
  EXPECT_EQ(countOf(svg, "<title>p, layer"), 1024u);
  // Cells of 14 pixels: every second row and column is numbered.
  EXPECT_EQ(countOf(svg, "class=\"end\""), 16u);
  EXPECT_EQ(countOf(svg, ">30</text>"), 2u);
  EXPECT_EQ(countOf(svg, ">31</text>"), 0u);
}
