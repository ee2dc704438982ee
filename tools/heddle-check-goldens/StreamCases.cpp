//===- StreamCases.cpp - files of residual streams ------------------------===//

#include "SingleCase.h"

namespace heddle::goldens {

void addSinkhorn(SingleCase &file) {
  std::string rounds = "rounds = " + std::to_string(file.integer("rounds")) + " : i64";
  for (int64_t size : file.integers("sizes"))
    for (auto [form, output, attributes] :
         {std::tuple("mhc", "output.paper", ""),
          std::tuple("deepseek_v4", "output.v4_", ", eps = 1.0e-6 : f64")}) {
      std::string n = std::to_string(size);
      OperationCase call(form + (" " + n), form + ("_" + n));
      // Matrices are f32 in any model, and the limit is that of edge case 26.
      std::string type = tensorType({-1, size, size}, DType::F32);
      std::string logits =
          call.addInput("logits", file.copy("input.logits" + n, DType::F32), {-1, size, size});
      call.entry.line("%m = attn.sinkhorn " + std::string(form) + " " + logits + " {" + rounds +
                      attributes + "} : " + type);
      call.entry.result("%m", type, "m");
      call.expectations.push_back({"m", file.get(output + n), 1e-6});
      file.add(std::move(call));
    }
}

namespace {

/// One sublayer with streams: its maps, a norm and a SwiGLU on the collapsed stream, and the new streams.
class StreamBlock {
public:
  StreamBlock(SingleCase &file, OperationCase &call, std::string prefix, int64_t streams)
      : file(file), call(call), prefix(std::move(prefix)), streams(streams),
        dim(file.integer("dim")), hidden(file.integer("ffn")) {
    type = tensorType({-1, -1, streams, dim}, file.type());
    x = call.addInput("x", file.copy("input." + this->prefix + "x", file.type()),
                      {-1, -1, streams, dim});
    line("%zero = arith.constant 0.0 : f32");
    for (const char *number : {"0", "1"}) {
      line(std::string("%c") + number + " = arith.constant " + number + " : index");
      line(std::string("%extent") + number + " = tensor.dim " + x + ", %c" + number + " : " + type);
    }
  }

  void addMaps(const std::string &form, Tensor projection, Tensor scale, Tensor base, Tensor weight,
               const std::string &attributes) {
    std::string vector = tensorType({-1, -1, streams}, DType::F32);
    std::string matrix = tensorType({-1, -1, streams, streams}, DType::F32);
    std::vector<std::string> names = {"projection", "scale", "base", "weight"}, types;
    std::string operands = x, clause;
    Tensor *tensors[] = {&projection, &scale, &base, &weight};
    for (size_t i = 0; i < names.size(); ++i) {
      if (tensors[i]->shape().empty())
        continue;
      std::vector<int64_t> shape = tensors[i]->shape();
      types.push_back(tensorType(shape, DType::F32));
      std::string value = call.addInput(names[i], std::move(*tensors[i]), shape);
      if (names[i] == "weight")
        clause = " weight(" + value + " : " + types.back() + ")";
      else
        operands += ", " + value;
    }
    std::string rounds = std::to_string(int64_t(file.number("rounds")));
    line("%pre, %post, %mix = attn.stream_maps " + form + " " + operands + clause +
         " {rounds = " + rounds + " : i64, norm_eps = " + floatText(file.number("norm_eps")) +
         attributes + "} : (" + type + ", " + types[0] + ", " + types[1] + ", " + types[2] +
         ") -> (" + vector + ", " + vector + ", " + matrix + ")");
    double limit = Tolerance::ofOperation().limit(DType::F32);
    bool isPaper = form == "mhc";
    expectResult("%pre", vector, isPaper ? "h_pre" : "pre", limit);
    expectResult("%post", vector, isPaper ? "h_post" : "post", limit);
    if (isPaper)
      return expectResult("%mix", matrix, "h_res", limit);
    line("%comb_empty = tensor.empty(%extent0, %extent1) : " + matrix);
    line("%comb = linalg.transpose ins(%mix : " + matrix + ") outs(%comb_empty : " + matrix +
         ") permutation = [0, 1, 3, 2]");
    expectResult("%comb", matrix, "comb", limit);
  }

  void addSublayer() {
    std::string vector = tensorType({-1, -1, streams}, DType::F32);
    std::string row = tensorType({-1, -1, dim}, file.type());
    std::string wide = tensorType({-1, -1, hidden}, DType::F32);
    std::string narrow = tensorType({-1, -1, hidden}, file.type());
    std::string result = tensorType({-1, -1, dim}, DType::F32);
    line("%collapsed = attn.stream_collapse " + x + ", %pre : " + type + ", " + vector + " -> " +
         row);
    if (file.has("output." + prefix + "collapsed"))
      expectResult("%collapsed", row, "collapsed", file.limit());
    std::string norm = weight("ffn.norm.weight", {dim});
    line("%normed = attn.rms_norm %collapsed, " + norm + " {eps = " +
         floatText(file.number("norm_eps")) + "} : " + row + ", " + tensorType({dim}, file.type()));
    linear("gate", "%normed", row, dim, hidden);
    linear("up", "%normed", row, dim, hidden);
    line("%unit = attn.glu swiglu %gate, %up : " + wide);
    std::string unit = "%unit";
    if (file.type() != DType::F32) {
      line("%rounded = arith.truncf %unit : " + wide + " to " + narrow);
      unit = "%rounded";
    }
    linear("down", unit, narrow, hidden, dim);
    double limit = Tolerance::ofLayer().limit(file.type());
    expectResult("%down", result, "y", limit);
    line("%new = attn.stream_update " + x + ", %down, %post, %mix : " + type + ", " + result +
         ", " + vector + ", " + tensorType({-1, -1, streams, streams}, DType::F32));
    expectResult("%new", type, "x_new", limit);
  }

  void addHead() {
    std::string row = tensorType({-1, -1, dim}, file.type());
    std::string fn = weight("head.fn", {streams, streams * dim}, DType::F32);
    std::string scale = weight("head.scale", {1}, DType::F32);
    std::string base = weight("head.base", {streams}, DType::F32);
    line("%head = attn.stream_head %new, " + fn + ", " + scale + ", " + base + " {norm_eps = " +
         floatText(file.number("norm_eps")) + ", eps = " + floatText(file.number("hc_eps")) +
         "} : (" + type + ", " + tensorType({streams, streams * dim}, DType::F32) + ", " +
         tensorType({1}, DType::F32) + ", " + tensorType({streams}, DType::F32) + ") -> " + row);
    expectResult("%head", row, "head", Tolerance::ofLayer().limit(file.type()));
  }

private:
  void line(const std::string &text) { call.entry.line(text); }

  std::string weight(const std::string &name, std::vector<int64_t> shape) {
    return weight(name, std::move(shape), file.type());
  }
  std::string weight(const std::string &name, std::vector<int64_t> shape, DType dtype) {
    return call.addInput(name, file.copy("weight." + prefix + name, dtype), std::move(shape));
  }

  void linear(const std::string &name, const std::string &input, const std::string &inputType,
              int64_t inputs, int64_t outputs) {
    std::string matrix = weight("ffn." + name + "_proj.weight", {outputs, inputs});
    std::string output = tensorType({-1, -1, outputs}, DType::F32);
    line("%" + name + "_empty = tensor.empty(%extent0, %extent1) : " + output);
    line("%" + name + "_zeros = linalg.fill ins(%zero : f32) outs(%" + name + "_empty : " + output +
         ") -> " + output);
    line("%" + name +
         " = linalg.contract indexing_maps = [affine_map<(b, t, o, i) -> (b, t, i)>, "
         "affine_map<(b, t, o, i) -> (o, i)>, affine_map<(b, t, o, i) -> (b, t, o)>] ins(" +
         input + ", " + matrix + " : " + inputType + ", " +
         tensorType({outputs, inputs}, file.type()) + ") outs(%" + name + "_zeros : " + output +
         ") -> " + output);
  }

  void expectResult(const std::string &value, const std::string &valueType,
                    const std::string &output, double limit) {
    call.entry.result(value, valueType, output);
    call.expectations.push_back({output, file.get("output." + prefix + output), limit});
  }

  SingleCase &file;
  OperationCase &call;
  std::string prefix, type, x;
  int64_t streams, dim, hidden;
};

} // namespace

/// phi [n C, rows] of pre, post and res as one matrix [(2 + n) n, n C].
static Tensor packProjection(SingleCase &file, const std::string &prefix, int64_t streams) {
  std::vector<const TensorView *> parts;
  for (const char *name : {"phi_pre", "phi_post", "phi_res"})
    parts.push_back(&file.get("weight." + prefix + name));
  int64_t width = parts[0]->shape[0], row = 0;
  Tensor packed = std::move(*Tensor::zeros(DType::F32, {(2 + streams) * streams, width}));
  for (const TensorView *part : parts)
    for (int64_t r = 0; r < part->shape[1]; ++r, ++row)
      for (int64_t i = 0; i < width; ++i)
        storeFromDouble(DType::F32, packed.data(), size_t(row * width + i),
                        loadAsDouble(part->dtype, part->data, size_t(i * part->shape[1] + r)));
  return packed;
}

static Tensor packBase(SingleCase &file, const std::string &prefix, int64_t streams) {
  Tensor packed = std::move(*Tensor::zeros(DType::F32, {(2 + streams) * streams}));
  size_t place = 0;
  for (const char *name : {"b_pre", "b_post", "b_res"}) {
    const TensorView &part = file.get("weight." + prefix + name);
    for (int64_t i = 0; i < part.count(); ++i)
      storeFromDouble(DType::F32, packed.data(), place++,
                      loadAsDouble(part.dtype, part.data, size_t(i)));
  }
  return packed;
}

void addStreamsPaper(SingleCase &file) {
  for (int64_t streams : file.integers("streams")) {
    std::string name = "n" + std::to_string(streams), prefix = name + ".";
    OperationCase call(name, name);
    StreamBlock block(file, call, prefix, streams);
    block.addMaps("mhc", packProjection(file, prefix, streams),
                  file.copy("weight." + prefix + "alpha", DType::F32),
                  packBase(file, prefix, streams),
                  file.copy("weight." + prefix + "norm.weight", DType::F32), "");
    block.addSublayer();
    file.add(std::move(call));
  }
}

void addStreamsV4(SingleCase &file) {
  OperationCase call("block", "block");
  StreamBlock block(file, call, "", file.integer("streams"));
  block.addMaps("deepseek_v4", file.copy("weight.hc.fn", DType::F32),
                file.copy("weight.hc.scale", DType::F32), file.copy("weight.hc.base", DType::F32),
                {}, ", eps = " + floatText(file.number("hc_eps")));
  block.addSublayer();
  block.addHead();
  file.add(std::move(call));
}

} // namespace heddle::goldens
