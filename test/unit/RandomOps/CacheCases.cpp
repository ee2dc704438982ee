//===- CacheCases.cpp - random appends to caches --------------------------===//

#include "OpCase.h"

using heddle::goldens::EntryText;
using heddle::goldens::tensorType;

namespace heddle::test {

static std::vector<int64_t> shuffled(int64_t count, Random &random) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < count; ++i)
    list.push_back(i);
  for (int64_t i = count; i-- > 1;)
    std::swap(list[size_t(i)], list[size_t(random.integer(0, i))]);
  return list;
}

namespace {
struct AppendSpec {
  DType keyCache, valueCache, key, value, start, table;
  int64_t heads, keyDim, valueDim;
  int64_t page;       // rows of a page, 0: contiguous
  bool pageInType;    // else any page size
  bool batchInType;   // 2 sequences, else any number
  int64_t rowsInType; // new rows, -1: any number
  bool slots;         // each row has its own place
  bool newLengths;    // of the rows, only the first are new
};
} // namespace

static OpCall appendCall(const AppendSpec &spec, Random &random) {
  int64_t batch = spec.batchInType ? 2 : random.chance(0.05) ? 0 : random.integer(1, 4);
  int64_t rows = spec.rowsInType >= 0 ? spec.rowsInType : random.integer(0, 9);
  int64_t page = spec.page ? spec.page : 1, perSequence, capacity, pages = 0;
  if (spec.page) {
    perSequence = (rows + page - 1) / page + random.integer(0, 3);
    capacity = perSequence * page;
    pages = batch * perSequence + random.integer(0, 3);
  } else {
    perSequence = 0;
    capacity = rows + random.integer(0, 12);
  }
  int64_t first = spec.page ? pages : batch, second = spec.page ? page : capacity;
  Array keyCache =
      Array::uniform(spec.keyCache, {first, second, spec.heads, spec.keyDim}, random, -9, 9);
  Array valueCache =
      Array::uniform(spec.valueCache, {first, second, spec.heads, spec.valueDim}, random, -9, 9);
  Array key = Array::uniform(spec.key, {batch, rows, spec.heads, spec.keyDim}, random, -70, 70);
  Array value = Array::uniform(spec.value, {batch, rows, spec.heads, spec.valueDim}, random, -1, 1);
  Array start = Array::filled(spec.start, {batch}, [&](const auto &) {
    return double(random.integer(0, capacity - rows));
  });
  // Some rows have no slot, and no two have the same.
  std::vector<int64_t> places = shuffled(first * second, random);
  Array slots = Array::constant(spec.table, {batch, rows}, -1);
  if (spec.slots)
    for (int64_t i = 0; i < slots.count(); ++i)
      if (i < int64_t(places.size()) && random.chance(0.8))
        slots.set(slots.indexOf(i), double(places[size_t(i)]));
  Array newLengths = Array::filled(spec.start, {batch},
                                   [&](const auto &) { return double(random.integer(0, rows)); });
  std::vector<int64_t> order = shuffled(pages, random);
  // Entries that no row needs hold what is no page.
  Array table = Array::constant(spec.table, {batch, perSequence}, -1000000007);
  Array newKeys = keyCache.copy(), newValues = valueCache.copy();
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t t = 0; t < rows; ++t) {
      int64_t position = int64_t(start[b]) + t, to = b, slot = position;
      if (spec.newLengths && t >= int64_t(newLengths[b]))
        continue;
      if (spec.slots) {
        int64_t place = int64_t(slots.get({b, t}));
        if (place < 0)
          continue;
        to = place / second;
        slot = place % second;
      } else if (spec.page) {
        to = order[size_t(b * perSequence + position / page)];
        slot = position % page;
        table.set({b, position / page}, double(to));
      }
      for (int64_t h = 0; h < spec.heads; ++h) {
        for (int64_t d = 0; d < spec.keyDim; ++d)
          newKeys.set({to, slot, h, d}, key.get(b, t, h, d));
        for (int64_t d = 0; d < spec.valueDim; ++d)
          newValues.set({to, slot, h, d}, value.get(b, t, h, d));
      }
    }
  OpCall call;
  call.results.push_back({call.add(keyCache), newKeys.values(), {}});
  call.results.push_back({call.add(valueCache), newValues.values(), {}});
  call.add(key);
  call.add(value);
  if (!spec.slots)
    call.add(start);
  if (spec.slots)
    call.add(slots);
  else if (spec.page)
    call.add(table);
  if (spec.newLengths)
    call.add(newLengths);
  return call;
}

static OpCase kvAppend(const std::string &symbol, Random &random) {
  static const int64_t pages[] = {0, 0, 1, 3, 16, 19};
  AppendSpec spec;
  spec.keyCache = randomFloat(random);
  spec.valueCache = random.chance(0.7) ? spec.keyCache : randomFloat(random);
  spec.key = random.chance(0.5) ? spec.keyCache : randomFloat(random);
  spec.value = random.chance(0.5) ? spec.valueCache : randomFloat(random);
  spec.start = randomIndexType(random);
  spec.table = randomIndexType(random);
  spec.heads = random.integer(1, 3);
  spec.keyDim = random.integer(1, 20);
  spec.valueDim = random.integer(1, 20);
  spec.page = pick(random, pages);
  spec.pageInType = random.chance(0.5);
  spec.batchInType = random.chance(0.3);
  spec.rowsInType = random.chance(0.3) ? random.integer(0, 4) : -1;
  spec.slots = random.chance(0.25);
  spec.newLengths = !spec.slots && random.chance(0.3);
  EntryText entry(symbol);
  int64_t batch = spec.batchInType ? 2 : -1, first = spec.page ? -1 : batch;
  int64_t second = spec.page && spec.pageInType ? spec.page : -1;
  std::string keyCache = tensorType({first, second, spec.heads, spec.keyDim}, spec.keyCache);
  std::string valueCache = tensorType({first, second, spec.heads, spec.valueDim}, spec.valueCache);
  std::string key = tensorType({batch, spec.rowsInType, spec.heads, spec.keyDim}, spec.key);
  std::string value = tensorType({batch, spec.rowsInType, spec.heads, spec.valueDim}, spec.value);
  std::string start = tensorType({batch}, spec.start), table = tensorType({batch, -1}, spec.table);
  std::string text = entry.cache("k_cache", keyCache) + ", " + entry.cache("v_cache", valueCache);
  text += ", " + entry.argument("k", key) + ", " + entry.argument("v", value);
  auto clause = [&](const std::string &name, const std::string &type) {
    text += " " + name + "(" + entry.argument(name, type) + " : " + type + ")";
  };
  if (!spec.slots)
    text += ", " + entry.argument("start", start);
  if (spec.slots)
    clause("slots", tensorType({batch, spec.rowsInType}, spec.table));
  else if (spec.page)
    clause("block_table", table);
  if (spec.newLengths)
    clause("new_len", start);
  std::string types = "(" + keyCache + ", " + valueCache + ", " + key + ", " + value +
                      (spec.slots ? "" : ", " + start) + ") -> (" + keyCache + ", " + valueCache +
                      ")";
  entry.line("%k2, %v2 = attn.kv_append " + text + " : " + types);
  entry.result("%k2", keyCache, "k_cache", /*updatesCache=*/true);
  entry.result("%v2", valueCache, "v_cache", /*updatesCache=*/true);
  return {entry.text(), "page " + std::to_string(spec.page) + " " + text + " " + types,
          [spec](Random &random) { return appendCall(spec, random); }};
}

const std::vector<OpKind> &cacheKinds() {
  static const std::vector<OpKind> kinds = {{"kv_append", kvAppend, 90}};
  return kinds;
}

} // namespace heddle::test
