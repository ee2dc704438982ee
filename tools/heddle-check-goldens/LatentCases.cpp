//===- LatentCases.cpp - files of attn.latent_attention -------------------===//

#include "SingleCase.h"
#include "Tokens.h"

#include <cstring>

namespace heddle::goldens {

/// Two tensors of one type beside each other in dimension `dim`.
static Tensor join(const TensorView &first, const TensorView &second, size_t dim) {
  std::vector<int64_t> shape = first.shape;
  shape[dim] += second.shape[dim];
  Tensor joined = std::move(*Tensor::zeros(first.dtype, shape));
  size_t outer = 1;
  for (size_t each = 0; each < dim; ++each)
    outer *= size_t(shape[each]);
  size_t left = first.bytes / outer, right = second.bytes / outer;
  for (size_t part = 0; part < outer; ++part) {
    std::memcpy(joined.data() + part * (left + right), first.data + part * left, left);
    std::memcpy(joined.data() + part * (left + right) + left, second.data + part * right, right);
  }
  return joined;
}

/// A call for the tensors input.WHAT.*, in one form, with rope keys apart or in the rows of the latent.
static void addLatentCall(SingleCase &file, const std::string &what, const std::string &form,
                          bool joinsRows) {
  DType type = file.type();
  std::string symbol = what + "_" + form + (joinsRows ? "_rows" : "");
  OperationCase call(what + " " + form + (joinsRows ? " rows" : ""), symbol);
  auto add = [&](const std::string &name, Tensor tensor, size_t dynamic) {
    std::vector<int64_t> shape = dynamicDims(tensor.shape(), dynamic);
    std::string text = tensorType(shape, tensor.dtype());
    return std::pair(call.addInput(name, std::move(tensor), shape), text);
  };
  auto input = [&](const std::string &name) {
    return file.copy("input." + what + "." + name, type);
  };
  // One query per sequence is what decoding has, for which types say so.
  auto [query, queryType] = add("q_nope", input("q_nope"), what == "decode" ? 1 : 2);
  auto [rope, ropeType] = add("q_pe", input("q_pe"), what == "decode" ? 1 : 2);
  Tensor latents = input("c"), ropeKeys = input("kpe");
  std::string clauses = " query_rope(" + rope + " : " + ropeType + ")";
  if (joinsRows) {
    latents = join(latents.view(), ropeKeys.view(), 2);
  } else {
    auto [key, keyType] = add("kpe", std::move(ropeKeys), 2);
    clauses += " key_rope(" + key + " : " + keyType + ")";
  }
  auto [latent, latentType] = add("c", std::move(latents), 2);
  Tensor up = join(file.copy("weight.w_uk", type).view(), file.copy("weight.w_uv", type).view(), 1);
  Tensor flat = std::move(*Tensor::copyOf(
      {up.dtype(), {up.shape()[0] * up.shape()[1], up.shape()[2]}, up.data(), up.bytes()}));
  auto [kvUp, kvUpType] = add("kv_up", std::move(flat), 0);
  std::string attributes = form + ", return_lse";
  if (what == "decode")
    clauses += " kv_len(" + add("kv_lens", file.copy("input.kv_lens", DType::I32), 1).first +
               " : tensor<?xi32>)";
  else
    attributes += ", causal";
  Tensor output = file.copy("output." + what + ".o", DType::F32);
  Tensor lse = file.copy("output." + what + ".lse", DType::F32);
  std::string outputType = tensorType(dynamicDims(output.shape(), what == "decode" ? 1 : 2), type);
  std::string lseType =
      tensorType({-1, lse.shape()[1], what == "decode" ? lse.shape()[2] : -1}, DType::F32);
  call.entry.line("%o, %lse = attn.latent_attention " + query + ", " + latent + ", " + kvUp +
                  clauses + " {" + attributes + "} : (" + queryType + ", " + latentType + ", " +
                  kvUpType + ") -> (" + outputType + ", " + lseType + ")");
  call.entry.result("%o", outputType, "o");
  call.entry.result("%lse", lseType, "lse");
  expect(call, "o", std::move(output), file.limit());
  expect(call, "lse", std::move(lse), Tolerance::ofOperation().limit(type, Quantity::LogSumExp));
  file.add(std::move(call));
}

void addLatentAttention(SingleCase &file) {
  for (const char *what : {"prefill", "decode"})
    for (const char *form : {"expanded", "absorbed"})
      for (bool joinsRows : {false, true})
        addLatentCall(file, what, form, joinsRows);
}

} // namespace heddle::goldens
