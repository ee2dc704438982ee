//===- RouterCases.cpp - files of attn.router -----------------------------===//

#include "SingleCase.h"

namespace heddle::goldens {

/// A projection to logits, the router, and its choice as weights of all experts.
void addRouter(SingleCase &file) {
  int64_t dim = file.integer("dim"), experts = file.integer("experts");
  int64_t chosen = file.integer("top_k");
  DType type = file.type();
  bool hasCorrection = file.has("weight.e_score_correction_bias");
  OperationCase call("router", "router");
  std::string xType = tensorType({-1, dim}, type), weightType = tensorType({experts, dim}, type);
  std::string logitsType = tensorType({-1, experts}, DType::F32);
  std::string indicesType = tensorType({-1, chosen}, DType::I32);
  std::string chosenType = tensorType({-1, chosen}, DType::F32);
  std::string x = call.addInput("x", file.copy("input.x", type), {-1, dim});
  std::string weight = call.addInput("weight", file.copy("weight.weight", type), {experts, dim});
  std::string correction, attributes = "top_k = " + std::to_string(chosen) + " : i64, renormalize";
  if (hasCorrection) {
    correction = " correction(" +
                 call.addInput("correction",
                               file.copy("weight.e_score_correction_bias", DType::F32), {experts}) +
                 " : " + tensorType({experts}, DType::F32) + ")";
    attributes += ", groups = " + std::to_string(file.integer("groups")) +
                  " : i64, top_groups = " + std::to_string(file.integer("topk_groups")) +
                  " : i64, scale = " + floatText(file.number("config", "scaling"));
  }
  EntryText &entry = call.entry;
  auto zeros = [&](const std::string &name, const std::string &tensor) {
    entry.line("%" + name + "_empty = tensor.empty(%tokens) : " + tensor);
    entry.line("%" + name + "_zeros = linalg.fill ins(%zero : f32) outs(%" + name +
               "_empty : " + tensor + ") -> " + tensor);
    return "%" + name + "_zeros";
  };
  entry.line("%zero = arith.constant 0.0 : f32");
  entry.line("%c0 = arith.constant 0 : index");
  entry.line("%tokens = tensor.dim " + x + ", %c0 : " + xType);
  std::string init = zeros("logits", logitsType);
  entry.line("%logits = linalg.contract indexing_maps = [affine_map<(t, e, d) -> (t, d)>, "
             "affine_map<(t, e, d) -> (e, d)>, affine_map<(t, e, d) -> (t, e)>] ins(" +
             x + ", " + weight + " : " + xType + ", " + weightType + ") outs(" + init + " : " +
             logitsType + ") -> " + logitsType);
  entry.line("%indices, %weights = attn.router " +
             std::string(hasCorrection ? "sigmoid" : "softmax") + " %logits" + correction + " {" +
             attributes + "} : " + logitsType + " -> " + indicesType + ", " + chosenType);
  init = zeros("dense", logitsType);
  entry.line("%dense = linalg.generic {indexing_maps = [affine_map<(t, e, k) -> (t, k)>, "
             "affine_map<(t, e, k) -> (t, k)>, affine_map<(t, e, k) -> (t, e)>], "
             "iterator_types = [\"parallel\", \"parallel\", \"reduction\"]} "
             "ins(%indices, %weights : " +
             indicesType + ", " + chosenType + ") outs(" + init + " : " + logitsType + ") {");
  entry.line("^bb0(%index: i32, %w: f32, %sum: f32):");
  entry.line("  %e = linalg.index 1 : index");
  entry.line("  %e32 = arith.index_cast %e : index to i32");
  entry.line("  %is_here = arith.cmpi eq, %index, %e32 : i32");
  entry.line("  %more = arith.addf %sum, %w : f32");
  entry.line("  %next = arith.select %is_here, %more, %sum : f32");
  entry.line("  linalg.yield %next : f32");
  entry.line("} -> " + logitsType);
  entry.result("%indices", indicesType, "indices");
  entry.result("%weights", chosenType, "weights");
  entry.result("%dense", logitsType, "dense");
  call.expectations.push_back({"indices", file.get("output.indices"), 0, /*sameBits=*/true});
  // Inputs are exact in every type, and all else is f32.
  double limit = Tolerance::ofOperation().limit(DType::F32);
  call.expectations.push_back({"weights", file.get("output.weights"), limit});
  call.expectations.push_back({"dense", file.get("output.dense"), limit});
  file.add(std::move(call));
}

} // namespace heddle::goldens
