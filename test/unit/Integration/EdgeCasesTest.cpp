//===- EdgeCasesTest.cpp - inputs that shipping kernels got wrong ---------===//
//
// Those that no suite of its own has. test/edge-cases.md says which test has
// which of them.
//
//===----------------------------------------------------------------------===//

#include "AttentionFormula.h"
#include "Program.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace heddle;
using namespace heddle::test;
using heddle::goldens::EntryText;
using heddle::goldens::tensorType;

static Array integers(const std::vector<int64_t> &numbers) {
  return Array::filled(DType::I32, {int64_t(numbers.size())},
                       [&](const auto &i) { return double(numbers[size_t(i[0])]); });
}

/// Compiles one text on the best variant; null if that fails, which is a failure.
static bool compileText(Program &program, const std::string &text) {
  program.add(text);
  return program.compile();
}

static const char *const kPagedEntry = R"(
func.func @paged(%q: tensor<?x?x2x8xf32>, %k: tensor<?x?x1x8xf32>, %v: tensor<?x?x1x8xf32>, %n: tensor<?xi32>, %t: tensor<?x?xi32>)
    -> (tensor<?x?x2x8xf32>, tensor<?x2x?xf32>) {
  %o, %lse = attn.attention %q, %k, %v kv_len(%n : tensor<?xi32>) block_table(%t : tensor<?x?xi32>)
      {causal, window = array<i64: 3, 0>, return_lse}
      : (tensor<?x?x2x8xf32>, tensor<?x?x1x8xf32>, tensor<?x?x1x8xf32>) -> (tensor<?x?x2x8xf32>, tensor<?x2x?xf32>)
  return %o, %lse : tensor<?x?x2x8xf32>, tensor<?x2x?xf32>
}
)";

// 1: more queries than keys, in pages: rows that see no key are 0, with an lse of -inf.
TEST(EdgeCases, PagedRowsThatSeeNoKey) {
  Program program;
  ASSERT_TRUE(compileText(program, kPagedEntry));
  Random random(1);
  Array query = Array::uniform(DType::F32, {1, 5, 2, 8}, random), output(DType::F32, {1, 5, 2, 8});
  Array key(DType::F32, {3, 2, 1, 8}), value(DType::F32, {3, 2, 1, 8}), lse(DType::F32, {1, 2, 5});
  for (int64_t slot : {0, 1})
    for (int64_t d = 0; d < 8; ++d) {
      key.set({1, slot, 0, d}, random.real(-1, 1));
      value.set({1, slot, 0, d}, double(slot + 1));
    }
  Array lengths = integers({2}), table = Array::constant(DType::I32, {1, 2}, -7);
  table.set({0, 0}, 1);
  program.call("paged", {&query, &key, &value, &lengths, &table, &output, &lse});
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t h = 0; h < 2; ++h) {
      EXPECT_EQ(lse.get({0, h, i}) == -INFINITY, i < 3) << i;
      EXPECT_EQ(output.get(0, i, h, 0) == 0, i < 3) << i;
      EXPECT_TRUE(std::isfinite(output.get(0, i, h, 7))) << i;
    }
  EXPECT_EQ(output.get(0, 3, 0, 0), 1);
}

// 12: a window of 4 keys with the own one, 9 steps of one token in pages of 3, all else NaN.
TEST(EdgeCases, WindowedDecodingInPages) {
  Program program;
  ASSERT_TRUE(compileText(program, kPagedEntry));
  Array query = Array::constant(DType::F32, {1, 1, 2, 8}, 0);
  Array key(DType::F32, {5, 3, 1, 8}), value(DType::F32, {5, 3, 1, 8});
  const int64_t pages[] = {4, 0, 2};
  Array table = integers({4, 0, 2}).withStrides({1, 3}, {3, 1});
  for (int64_t step = 0; step < 9; ++step) {
    for (int64_t d = 0; d < 8; ++d) {
      key.set({pages[step / 3], step % 3, 0, d}, 1);
      value.set({pages[step / 3], step % 3, 0, d}, double(step));
    }
    Array lengths = integers({step + 1}), output(DType::F32, {1, 1, 2, 8}),
          lse(DType::F32, {1, 2, 1});
    program.call("paged", {&query, &key, &value, &lengths, &table, &output, &lse});
    // Keys step - 3 .. step weigh alike.
    double first = double(std::max<int64_t>(step - 3, 0));
    EXPECT_NEAR(output.get(0, 0, 1, 5), (first + double(step)) / 2, 1e-6) << step;
    EXPECT_NEAR(lse[0], std::log(double(step) - first + 1), 1e-6) << step;
  }
}

// 4: packed sequences without keys, without queries, and none at all.
TEST(EdgeCases, PackedSequencesOfNothing) {
  Program program;
  ASSERT_TRUE(compileText(program, R"(
func.func @packed(%q: tensor<1x?x2x8xf32>, %k: tensor<1x?x1x8xf32>, %v: tensor<1x?x1x8xf32>, %a: tensor<?xi32>, %b: tensor<?xi32>)
    -> (tensor<1x?x2x8xf32>, tensor<1x2x?xf32>) {
  %o, %lse = attn.attention %q, %k, %v cu_seqlens_q(%a : tensor<?xi32>) cu_seqlens_k(%b : tensor<?xi32>) {return_lse}
      : (tensor<1x?x2x8xf32>, tensor<1x?x1x8xf32>, tensor<1x?x1x8xf32>) -> (tensor<1x?x2x8xf32>, tensor<1x2x?xf32>)
  return %o, %lse : tensor<1x?x2x8xf32>, tensor<1x2x?xf32>
}
)"));
  for (auto [queries, keys] :
       {std::pair(std::vector<int64_t>{0, 3, 3, 7}, std::vector<int64_t>{0, 4, 9, 9}),
        {{0, 0, 0}, {0, 2, 5}},
        {{0}, {0}}}) {
    Random random(4);
    int64_t rows = queries.back();
    Array query = Array::uniform(DType::F32, {1, rows, 2, 8}, random),
          output(DType::F32, {1, rows, 2, 8});
    Array key = Array::uniform(DType::F32, {1, keys.back(), 1, 8}, random);
    Array value = Array::constant(DType::F32, {1, keys.back(), 1, 8}, 5),
          lse(DType::F32, {1, 2, rows});
    Array offsetsQ = integers(queries), offsetsK = integers(keys);
    program.call("packed", {&query, &key, &value, &offsetsQ, &offsetsK, &output, &lse});
    for (int64_t i = 0; i < rows; ++i) {
      // Sequence 0 has 4 keys, sequence 2 none.
      EXPECT_NEAR(output.get(0, i, 1, 3), i < 3 ? 5 : 0, 1e-5) << i;
      EXPECT_EQ(lse.get({0, 1, i}) == -INFINITY, i >= 3) << i;
    }
  }
}

/// Address space of which pages exist once they are written to; null if there is not so much.
static void *sparse(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// 7: pages whose elements lie past 2^31.
TEST(EdgeCases, PagesPast32Bits) {
  Program program;
  ASSERT_TRUE(compileText(program, R"(
func.func @append(%k: tensor<?x16x1x64xf16> {heddle.name = "k", heddle.role = "cache", bufferization.writable = true},
                  %v: tensor<?x16x1x64xf16> {heddle.name = "v", heddle.role = "cache", bufferization.writable = true},
                  %x: tensor<?x?x1x64xf16>, %start: tensor<?xi32>, %t: tensor<?x?xi64>)
    -> (tensor<?x16x1x64xf16> {heddle.updates = "k"}, tensor<?x16x1x64xf16> {heddle.updates = "v"}) {
  %k2, %v2 = attn.kv_append %k, %v, %x, %x, %start block_table(%t : tensor<?x?xi64>)
      : (tensor<?x16x1x64xf16>, tensor<?x16x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?xi32>)
      -> (tensor<?x16x1x64xf16>, tensor<?x16x1x64xf16>)
  return %k2, %v2 : tensor<?x16x1x64xf16>, tensor<?x16x1x64xf16>
}
func.func @attend(%q: tensor<?x?x1x64xf16>, %k: tensor<?x16x1x64xf16>, %v: tensor<?x16x1x64xf16>, %n: tensor<?xi32>, %t: tensor<?x?xi64>)
    -> tensor<?x?x1x64xf16> {
  %o = attn.attention %q, %k, %v kv_len(%n : tensor<?xi32>) block_table(%t : tensor<?x?xi64>)
      : (tensor<?x?x1x64xf16>, tensor<?x16x1x64xf16>, tensor<?x16x1x64xf16>) -> tensor<?x?x1x64xf16>
  return %o : tensor<?x?x1x64xf16>
}
)"));
  constexpr int64_t kPage = 16 * 64, kPages = (int64_t(1) << 31) / kPage + 40;
  const size_t bytes = size_t(kPages * kPage) * 2;
  void *memory[] = {sparse(bytes), sparse(bytes)};
  if (!memory[0] || !memory[1])
    GTEST_SKIP() << "this machine does not give twice " << bytes << " bytes of address space";
  auto cache = [&](int which) {
    return Array::over(DType::F16, memory[which], {kPages, 16, 1, 64}, {kPage, 64, 64, 1}, 0);
  };
  Array key = cache(0), value = cache(1);
  // 20 tokens on a page at the very end and one right past 2^31 elements.
  Array table = Array::constant(DType::I64, {1, 2}, double(kPages - 1));
  table.set({0, 1}, double(kPages - 40));
  Random random(7);
  Array rows = Array::uniform(DType::F16, {1, 20, 1, 64}, random), start = integers({0});
  program.call("append", {&key, &value, &rows, &start, &table});
  EXPECT_EQ(key.get(kPages - 1, 15, 0, 63), rows.get(0, 15, 0, 63));
  EXPECT_EQ(value.get(kPages - 40, 3, 0, 1), rows.get(0, 19, 0, 1));
  EXPECT_EQ(value.get(0, 15, 0, 63), 0);
  Array query = Array::uniform(DType::F16, {1, 3, 1, 64}, random), lengths = integers({20});
  Array output(DType::F16, query.shape());
  program.call("attend", {&query, &key, &value, &lengths, &table, &output});
  AttentionOperands operands;
  operands.query = &query;
  operands.key = operands.value = &rows;
  EXPECT_LE(relativeError(output, evaluateAttention(operands, {}).output), errorLimit(DType::F16));
  for (void *each : memory)
    munmap(each, bytes);
}

// 7: rows of a norm whose elements lie past 2^31.
TEST(EdgeCases, NormOf175000Rows) {
  constexpr int64_t kRows = 175000, kWidth = 12288;
  const size_t bytes = size_t(kRows * kWidth) * 2;
  std::ifstream facts("/proc/meminfo");
  std::string word;
  size_t available = 0;
  while (facts >> word)
    if (word == "MemAvailable:")
      facts >> available;
  if (available * 1024 < 2 * bytes)
    GTEST_SKIP() << "the result takes " << bytes
                 << " bytes of memory, and twice as many have to be free";
  void *memory[] = {sparse(bytes), sparse(bytes)};
  if (!memory[0] || !memory[1])
    GTEST_SKIP() << "this machine does not give twice " << bytes << " bytes of address space";
  Program program;
  ASSERT_TRUE(compileText(program, R"(
func.func @norm(%x: tensor<?x12288xf16>, %w: tensor<12288xf16>) -> tensor<?x12288xf16> {
  %y = attn.rms_norm %x, %w {eps = 1.0e-6 : f64} : tensor<?x12288xf16>, tensor<12288xf16>
  return %y : tensor<?x12288xf16>
}
)"));
  Array x = Array::over(DType::F16, memory[0], {kRows, kWidth}, {kWidth, 1}, 0);
  Array y = Array::over(DType::F16, memory[1], {kRows, kWidth}, {kWidth, 1}, 0);
  Array w = Array::constant(DType::F16, {kWidth}, 1);
  const int64_t marked[] = {0, (int64_t(1) << 31) / kWidth, kRows - 1};
  for (int64_t row : marked)
    for (int64_t i = 0; i < kWidth; ++i)
      x.set({row, i}, i % 2 ? 300 : -300);
  program.call("norm", {&x, &w, &y});
  for (int64_t row : marked)
    for (int64_t i : {int64_t(0), kWidth - 1})
      EXPECT_EQ(y.get({row, i}), i % 2 ? 1 : -1) << row;
  for (int64_t row : {int64_t(1), marked[1] - 1, marked[1] + 1, kRows - 2})
    EXPECT_EQ(y.get({row, 7}), 0) << row;
  for (void *each : memory)
    munmap(each, bytes);
}

// 19: 2048 of 5 keys; equal scores; nothing eligible; what is not chosen does not matter, NaN included.
TEST(EdgeCases, ChosenKeys) {
  Program program;
  std::string text = R"(
func.func @choose(%s: tensor<?x?x?xf32>) -> tensor<?x?x2048xi32> {
  %i = attn.top_k %s {k = 2048} : tensor<?x?x?xf32> -> tensor<?x?x2048xi32>
  return %i : tensor<?x?x2048xi32>
}
)";
  const int64_t heads[] = {8, 16, 64, 128};
  for (int64_t h : heads) {
    std::string q = tensorType({-1, -1, h, 16}, DType::F32),
                k = tensorType({-1, -1, 1, 16}, DType::F32),
                lse = tensorType({-1, h, -1}, DType::F32);
    text += "func.func @attend" + std::to_string(h) + "(%q: " + q + ", %k: " + k + ", %v: " + k +
            ", %i: tensor<?x?x?xi32>) -> (" + q + ", " + lse +
            ") {\n  %o, %l = attn.attention %q, %k, %v indices(%i : tensor<?x?x?xi32>) "
            "{return_lse} : (" +
            q + ", " + k + ", " + k + ") -> (" + q + ", " + lse + ")\n  return %o, %l : " + q +
            ", " + lse + "\n}\n";
  }
  ASSERT_TRUE(compileText(program, text));
  Array scores = Array::constant(DType::F32, {1, 3, 5}, 2.5), chosen(DType::I32, {1, 3, 2048});
  const double second[] = {1, NAN, 3, -INFINITY, 3};
  for (int64_t j = 0; j < 5; ++j) {
    scores.set({0, 1, j}, second[j]);
    scores.set({0, 2, j}, -INFINITY);
  }
  program.call("choose", {&scores, &chosen});
  const std::vector<std::vector<double>> expected = {{0, 1, 2, 3, 4}, {2, 4, 0}, {}};
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t t = 0; t < 2048; ++t) {
      const std::vector<double> &own = expected[size_t(row)];
      EXPECT_EQ(chosen.get({0, row, t}), t < int64_t(own.size()) ? own[size_t(t)] : -1)
          << row << " " << t;
    }
  // Row 0 does not list key 3 here, which is NaN.
  Array lists = Array::constant(DType::I32, {1, 3, 8}, -1);
  for (int64_t t = 0; t < 3; ++t)
    lists.set({0, 0, 2 * t}, double(t));
  for (int64_t t = 0; t < 3; ++t)
    lists.set({0, 1, t}, expected[1][size_t(t)]);
  for (int64_t h : heads) {
    Random random(h);
    Array query = Array::uniform(DType::F32, {1, 3, h, 16}, random), key(DType::F32, {1, 5, 1, 16});
    Array value(DType::F32, {1, 5, 1, 16}), output(DType::F32, query.shape()),
        lse(DType::F32, {1, h, 3});
    for (int64_t j : {0, 1, 2, 4})
      for (int64_t d = 0; d < 16; ++d) {
        key.set({0, j, 0, d}, 0);
        value.set({0, j, 0, d}, double(j));
      }
    program.call("attend" + std::to_string(h), {&query, &key, &value, &lists, &output, &lse});
    EXPECT_NEAR(output.get(0, 0, h - 1, 3), 1, 1e-6) << h; // keys 0, 1, 2
    EXPECT_NEAR(output.get(0, 1, h - 1, 3), 2, 1e-6) << h; // keys 2, 4, 0
    EXPECT_NEAR(lse.get({0, h - 1, 1}), std::log(3.0), 1e-6) << h;
    EXPECT_EQ(output.get(0, 2, h - 1, 3), 0) << h;
    EXPECT_EQ(lse.get({0, h - 1, 2}), -INFINITY) << h;
  }
}

// 24: both forms of latent attention, with the dims of DeepSeek-V3 and 8 heads.
TEST(EdgeCases, AbsorbedEqualsExpanded) {
  Program program;
  std::string text;
  for (std::string form : {"expanded", "absorbed"})
    text +=
        "func.func @" + form +
        R"((%q: tensor<?x?x8x128xf32>, %c: tensor<?x?x576xf32>, %up: tensor<2048x512xf32>, %r: tensor<?x?x8x64xf32>)
    -> (tensor<?x?x8x128xf32>, tensor<?x8x?xf32>) {
  %o, %lse = attn.latent_attention %q, %c, %up query_rope(%r : tensor<?x?x8x64xf32>) {causal, return_lse, )" +
        form + R"(}
      : (tensor<?x?x8x128xf32>, tensor<?x?x576xf32>, tensor<2048x512xf32>) -> (tensor<?x?x8x128xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x?x8x128xf32>, tensor<?x8x?xf32>
}
)";
  ASSERT_TRUE(compileText(program, text));
  Random random(24);
  constexpr int64_t kLength = 129;
  Array query = Array::uniform(DType::F32, {1, kLength, 8, 128}, random);
  Array rope = Array::uniform(DType::F32, {1, kLength, 8, 64}, random);
  Array latent = Array::uniform(DType::F32, {1, kLength, 576}, random);
  Array up = Array::uniform(DType::F32, {2048, 512}, random, -0.05, 0.05);
  Array output[2], lse[2];
  for (int form : {0, 1}) {
    output[form] = Array(DType::F32, {1, kLength, 8, 128});
    lse[form] = Array(DType::F32, {1, 8, kLength});
    program.call(form ? "absorbed" : "expanded",
                 {&query, &latent, &up, &rope, &output[form], &lse[form]});
  }
  EXPECT_LE(relativeError(output[1], output[0].values()), 1e-5);
  EXPECT_LE(relativeError(lse[1], lse[0].values()), 1e-5);
  // Both have the scale 1 / sqrt(128 + 64): the first query sees the first key alone.
  for (int64_t h = 0; h < 8; ++h) {
    double score = 0;
    for (int64_t n = 0; n < 128; ++n) {
      double key = 0;
      for (int64_t r = 0; r < 512; ++r)
        key += up.get({h * 256 + n, r}) * latent.get({0, 0, r});
      score += query.get(0, 0, h, n) * key;
    }
    for (int64_t d = 0; d < 64; ++d)
      score += rope.get(0, 0, h, d) * latent.get({0, 0, 512 + d});
    EXPECT_NEAR(lse[0].get({0, h, 0}), score / std::sqrt(192.0), 1e-5) << h;
  }
}
