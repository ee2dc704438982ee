//===- RandomKernel.cpp - kernels for tests, from a seed ------------------===//

#include "RandomKernel.h"

#include <random>
#include <vector>

using namespace heddle;

static const char *const aliases = R"(
#tile = #tile.layout<16x16, offset = [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0), (4, 0), (8, 0)]>
#rows = #tile.layout<16x16, register = [(0, 1), (0, 2)], lane = [(0, 4), (0, 8), (1, 0), (2, 0), (4, 0)], warp = [(8, 0)]>
#pairs = #tile.layout<16x16, register = [(0, 4), (0, 8)], lane = [(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)], warp = [(8, 0)]>
#columns = #tile.layout<16x16, register = [(0, 1), (0, 2)], lane = [(0, 4), (1, 0), (2, 0), (4, 0), (8, 0)], warp = [(0, 8)]>
!tile = !tile_nv.buffer<16x16xf32, #tile>
!view = !tile.view<?x16xf32>
)";

namespace {

class Writer {
public:
  explicit Writer(uint64_t seed) : random(seed) {}

  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random); }
  bool chance(int64_t percent) { return below(100) < percent; }
  std::string fresh() { return "%v" + std::to_string(count++); }
  void line(const std::string &text) { body += text + "\n"; }
  std::string one(const std::vector<std::string> &choices) {
    return choices[below(choices.size())];
  }

  std::string body;

private:
  std::mt19937_64 random;
  int64_t count = 0;
};

class CopyingKernel : Writer {
public:
  CopyingKernel(uint64_t seed, int64_t stages) : Writer(seed), stages(stages) {}

  std::string text() {
    numBuffers = 1 + below(4);
    step = one({"%c1", "%c3", "%c64"});
    // Then buffers may be read before and behind the copies of a loop, too.
    isFilled = chance(40);
    outside = buffer(numBuffers);
    for (int64_t i = 0; isFilled && i <= numBuffers; ++i) {
      std::string tile = fresh();
      line(tile + " = arith.constant dense<" + std::to_string(i) + ".0> : tensor<16x16xf32>");
      line("tile_nv.store " + tile + ", " + buffer(i) + " : tensor<16x16xf32>, !tile");
    }
    std::string acc = "%acc0";
    hasOutside = chance(60);
    if (hasOutside) {
      copy("%begin", outside);
      line("tile_nv.commit_group\ntile_nv.wait_group 0");
      if (chance(50))
        acc = use(acc, outside);
    }
    block(acc, "%begin", 0);

    std::string text = aliases;
    text += "tile.kernel @random(%m0: memref<?x16xf32>, %m1: memref<?x16xf32>, %o: "
            "memref<?x16xf32>, %begin: index, %end: index, %flag: i1) config <block = [16, 16], "
            "stages = " +
            std::to_string(stages) + ", warps = 2> {\n";
    for (int64_t c : {0, 1, 3, 64, 7})
      text += "%c" + std::to_string(c) + " = arith.constant " + std::to_string(c) + " : index\n";
    text += "%acc0 = arith.constant dense<0.0> : tensor<16x16xf32>\n";
    for (const char *view : {"0", "1"})
      text += std::string("%view") + view + " = tile.view %m" + view +
              "[:, :] : memref<?x16xf32> -> !view\n";
    text += "%out = tile.view %o[:, :] : memref<?x16xf32> -> !view\n";
    for (int64_t i = 0; i < numBuffers + 3; ++i)
      text += buffer(i) + " = tile_nv.alloc : !tile\n";
    return text + body + "tile.return\n}\n";
  }

private:
  static std::string buffer(int64_t number) { return "%b" + std::to_string(number); }

  void copy(const std::string &index, const std::string &buffer) {
    std::string row = index;
    if (chance(50)) {
      row = fresh();
      line(row + " = arith.muli " + index + ", " + one({"%c3", "%c7"}) + " : index");
    }
    if (chance(15))
      row = "%c7";
    line("tile_nv.copy_async %view" + one({"0", "1"}) + "[" + row + ", %c0] to " + buffer +
         (chance(50) ? " bounded" : "") + " : !view, !tile");
  }

  std::string use(const std::string &acc, const std::string &buffer) {
    std::string result = fresh();
    if (chance(25)) {
      // Through one of two buffers that nothing else uses.
      std::string scratch = this->buffer(numBuffers + 1 + below(2));
      line("tile_nv.store " + acc + ", " + scratch + " : tensor<16x16xf32>, !tile");
      line(result + " = tile_nv.load " + scratch + " : !tile -> tensor<16x16xf32>");
      return result;
    }
    if (chance(60)) {
      line(result + " = tile_nv.dot " + acc + ", " + buffer + ", " + acc +
           " : tensor<16x16xf32>, !tile -> tensor<16x16xf32>");
      return result;
    }
    std::string loaded = fresh();
    line(loaded + " = tile_nv.load " + buffer + " : !tile -> tensor<16x16xf32>");
    if (chance(30)) {
      line(result + " = scf.if %flag -> tensor<16x16xf32> {");
      std::string sum = fresh();
      line(sum + " = tile_nv.dot " + loaded + ", " + buffer + ", " + acc +
           " : tensor<16x16xf32>, !tile -> tensor<16x16xf32>");
      line("scf.yield " + sum + " : tensor<16x16xf32>\n} else {\nscf.yield " + acc +
           " : tensor<16x16xf32>\n}");
      return result;
    }
    line(result + " = arith.subf " + acc + ", " + loaded + " : tensor<16x16xf32>");
    return result;
  }

  /// Loops one after another; returns the accumulator.
  std::string block(std::string acc, const std::string &begin, int depth) {
    for (int64_t loops = 1 + below(depth == 0 ? 3 : 1); loops > 0; --loops) {
      std::string result = fresh(), iv = fresh(), carried = fresh();
      std::string first = chance(20) ? "%c1" : begin, end = one({"%end", "%end", "%c3", "%c7"});
      line(result + " = scf.for " + iv + " = " + first + " to " + end + " step " + step +
           " iter_args(" + carried + " = " + acc + ") -> tensor<16x16xf32> {");
      acc = trip(carried, iv, depth);
      line("scf.yield " + acc + " : tensor<16x16xf32>\n}");
      acc = result;
      if (isFilled && chance(50))
        acc = use(acc, buffer(below(numBuffers)));
      line("tile.store " + acc + ", %out[" + begin + ", %c0] : tensor<16x16xf32>, !view");
    }
    return acc;
  }

  std::string trip(std::string acc, const std::string &iv, int depth) {
    std::vector<std::string> buffers;
    for (int64_t i = 0; i < numBuffers; ++i)
      if (chance(70))
        buffers.push_back(buffer(i));
    if (hasOutside && chance(40))
      acc = use(acc, outside);
    if (isFilled && chance(20))
      acc = use(acc, buffer(below(numBuffers)));
    // All copies first, and one wait for each or for all; or a copy and its wait before each use.
    bool first = chance(30), one = chance(50);
    if (first)
      for (const std::string &target : buffers) {
        copy(iv, target);
        line("tile_nv.commit_group");
      }
    if (first && one)
      line("tile_nv.wait_group 0");
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (first && !one)
        line("tile_nv.wait_group " + std::to_string(buffers.size() - 1 - i));
      if (!first) {
        copy(iv, buffers[i]);
        line("tile_nv.commit_group\ntile_nv.wait_group 0");
      }
      for (int64_t uses = 1 + below(2); uses > 0; --uses)
        acc = use(acc, buffers[i]);
      if (i > 0 && chance(20))
        acc = use(acc, buffers[below(i)]);
      // A loop inside of the trip may fill the buffers anew: nothing is read behind it.
      if (depth == 0 && (!first || i + 1 == buffers.size()) && chance(20))
        return block(acc, iv, 1);
      if (chance(40)) {
        std::string next = fresh();
        line(next + " = math.exp2 " + acc + " : tensor<16x16xf32>");
        acc = next;
      }
    }
    if (chance(10))
      line("tile.store " + acc + ", %out[" + iv + ", %c0] : tensor<16x16xf32>, !view");
    return acc;
  }

  int64_t stages, numBuffers = 0;
  bool isFilled = false, hasOutside = false;
  std::string step, outside;
};

class AccessingKernel : Writer {
public:
  explicit AccessingKernel(uint64_t seed) : Writer(seed) {}

  std::string text() {
    numBuffers = 2 + below(3);
    std::string text = aliases;
    text += "tile.kernel @random(%m0: memref<?x16xf32>, %begin: index, %end: index, %flag: i1) "
            "config <block = [16, 16], warps = 2> {\n"
            "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
            "%view = tile.view %m0[:, :] : memref<?x16xf32> -> !view\n"
            "%acc = arith.constant dense<0.0> : tensor<16x16xf32, #rows>\n";
    for (const char *layout : {"rows", "pairs", "columns"})
      text += std::string("%") + layout + " = arith.constant dense<1.0> : tensor<16x16xf32, #" +
              layout + ">\n";
    // Some share all bytes, some a part of them.
    for (int64_t i = 0; i < numBuffers; ++i)
      text += "%b" + std::to_string(i) + " = tile_nv.alloc offset " +
              std::to_string(1024 * below(1 + numBuffers)) + " : !tile\n";
    block(0);
    return text + body + "tile.return\n}\n";
  }

private:
  void block(int depth) {
    for (int64_t n = 2 + below(5); n > 0; --n) {
      std::string buffer = "%b" + std::to_string(below(numBuffers)),
                  layout = one({"rows", "pairs", "columns"});
      std::string type = "tensor<16x16xf32, #" + layout + ">";
      int64_t kind = below(depth < 3 ? 12 : 9);
      if (kind < 3) {
        line(fresh() + " = tile_nv.load " + buffer + " : !tile -> " + type);
      } else if (kind < 5) {
        line("tile_nv.store %" + layout + ", " + buffer + " : " + type + ", !tile");
      } else if (kind < 6) {
        line(fresh() + " = tile_nv.dot " + buffer + ", %b" + std::to_string(below(numBuffers)) +
             ", %acc : !tile, !tile -> tensor<16x16xf32, #rows>");
      } else if (kind < 8) {
        line("tile_nv.copy_async %view[%c0, %c0] to " + buffer +
             " : !view, !tile\ntile_nv.commit_group");
        if (chance(80))
          line("tile_nv.wait_group 0");
      } else if (kind < 9) {
        line("tile_nv.wait_group " + std::to_string(below(2)));
      } else if (kind < 11) {
        line("scf.for " + fresh() + " = " + one({"%begin", "%c0"}) + " to " + one({"%end", "%c1"}) +
             " step %c1 {");
        block(depth + 1);
        line("}");
      } else {
        line("scf.if %flag {");
        block(depth + 1);
        if (chance(50)) {
          line("} else {");
          block(depth + 1);
        }
        line("}");
      }
    }
  }

  int64_t numBuffers = 0;
};

} // namespace

std::string heddle::copyingKernel(uint64_t seed, int64_t stages) {
  return CopyingKernel(seed, stages).text();
}

std::string heddle::accessingKernel(uint64_t seed) { return AccessingKernel(seed).text(); }
