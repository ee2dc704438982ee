//===- Decoder.cpp - a small checkpoint under test ------------------------===//

#include "Decoder.h"

#include "heddle/Import/HuggingFace.h"
#include "heddle/TensorIO/Checkpoint.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

namespace heddle::test {

static Array arrayOf(const TensorView &view) {
  return Array::filled(view.dtype, view.shape, [&, place = size_t(0)](const auto &) mutable {
    return loadAsDouble(view.dtype, view.data, place++);
  });
}

Decoder *Decoder::shared() {
  static std::unique_ptr<Decoder> decoder = [] {
    std::unique_ptr<Decoder> fresh(new Decoder);
    return fresh->load() ? std::move(fresh) : nullptr;
  }();
  return decoder.get();
}

bool Decoder::load() {
  std::string folder = HEDDLE_SOURCE_DIR "/test/goldens/models/llama";
  Result<Checkpoint> checkpoint = Checkpoint::open(folder);
  mlir::OwningOpRef<mlir::ModuleOp> module = importHuggingFace(&sharedContext(), folder);
  if (!checkpoint || !module) {
    ADD_FAILURE() << folder << ": " << checkpoint.error();
    return false;
  }
  auto prefill = module->lookupSymbol<mlir::func::FuncOp>("prefill");
  for (unsigned i = 0; i < prefill.getNumArguments(); ++i) {
    auto role = prefill.getArgAttrOfType<mlir::StringAttr>(i, "heddle.role");
    auto name = prefill.getArgAttrOfType<mlir::StringAttr>(i, "heddle.name");
    auto type = llvm::cast<mlir::RankedTensorType>(prefill.getArgument(i).getType());
    if (role && role.getValue() == "weight")
      weights.push_back(arrayOf(checkpoint->find(name.str())->tensor));
    else if (role && role.getValue() == "cache")
      cacheShapes.push_back({type.getDimSize(2), type.getDimSize(3)});
  }
  vocabularySize =
      llvm::cast<mlir::RankedTensorType>(prefill.getResultTypes().front()).getDimSize(2);
  return program.compile(std::move(module));
}

Decoder::Call Decoder::makeCall(int64_t batch, int64_t length, int64_t capacity) const {
  Call call{Array::constant(DType::I64, {batch, length}, 0),
            Array::constant(DType::I32, {batch}, 0),
            Array(DType::F32, {batch, length, vocabularySize}),
            {}};
  for (const Array::Index &shape : cacheShapes)
    call.caches.emplace_back(DType::F32, Array::Index{batch, capacity, shape[0], shape[1]});
  return call;
}

Outcome Decoder::tryCall(const std::string &entry, Call &call, int32_t threads) {
  std::vector<Array *> arguments{&call.tokens, &call.start};
  for (Array &cache : call.caches)
    arguments.push_back(&cache);
  for (Array &weight : weights)
    arguments.push_back(&weight);
  arguments.push_back(&call.logits);
  return program.tryCall(entry, arguments, threads);
}

} // namespace heddle::test
