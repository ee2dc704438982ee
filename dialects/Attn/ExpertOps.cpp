//===- ExpertOps.cpp - types and checks of mixtures of experts ------------===//

#include "VerifyUtils.h"
#include "heddle/Dialect/Attn/Attn.h"

using namespace mlir;
using namespace heddle::attn;

//===----------------------------------------------------------------------===//
// RouterOp
//===----------------------------------------------------------------------===//

void RouterOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getIndices(), "indices");
  setName(getWeights(), "weights");
}

LogicalResult RouterOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                         Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto logits = cast<RankedTensorType>(adaptor.getLogits().getType());
  SmallVector<int64_t> shape(logits.getShape());
  shape.back() = adaptor.getTopK();
  results.push_back(RankedTensorType::get(shape, IntegerType::get(context, 32)));
  results.push_back(RankedTensorType::get(shape, Float32Type::get(context)));
  return success();
}

bool RouterOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  return areCompatibleTypes(inferred, actual);
}

/// An attribute that counts something: 1 <= value <= high.
static LogicalResult verifyCount(Operation *op, StringRef name, int64_t value, int64_t high,
                                 StringRef highName) {
  if (value >= 1 && value <= high)
    return success();
  return op->emitOpError() << "expected 1 <= " << name << " <= " << highName << " (" << high
                           << "), got " << value;
}

LogicalResult RouterOp::verify() {
  NamedOperand logits{"logits", getLogits()};
  int64_t experts = getNumExperts();
  if (ShapedType::isDynamic(experts))
    return emitOpError() << "expected a static last dimension of logits, got type "
                         << logits.type();
  if (getCorrection() && failed(verifySameDim(*this, {"correction", getCorrection()}, 0, logits,
                                              logits.type().getRank() - 1)))
    return failure();
  if (failed(verifyCount(*this, "top_k", getTopK(), experts, "experts")) ||
      failed(verifyNumber(*this, "scale", getScaleValue(), -INFINITY, /*exclusive=*/false)))
    return failure();
  if (!getGroups()) {
    for (auto [name, attribute] :
         {std::pair("top_groups", getTopGroups()), std::pair("group_top", getGroupTop())})
      if (attribute)
        return emitOpError() << "expected " << name << " only with groups";
    return success();
  }
  int64_t groups = *getGroups();
  if (!getTopGroups())
    return emitOpError() << "expected top_groups with groups";
  if (failed(verifyCount(*this, "groups", groups, experts, "experts")))
    return failure();
  if (experts % groups != 0)
    return emitOpError() << "expected experts (" << experts << ") to be a multiple of groups ("
                         << groups << ")";
  if (failed(verifyCount(*this, "top_groups", *getTopGroups(), groups, "groups")) ||
      failed(verifyCount(*this, "group_top", getGroupTopValue(), experts / groups,
                         "experts of a group")))
    return failure();
  return verifyCount(*this, "top_k", getTopK(), *getTopGroups() * (experts / groups),
                     "experts of top_groups");
}

LogicalResult RouterOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  for (Value result : {getIndices(), getWeights()}) {
    SmallVector<OpFoldResult> shape = dimsOf(builder, getLoc(), getLogits());
    shape.back() = builder.getIndexAttr(getTopK());
    addShape(builder, shapes, result, shape);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ExpertsOp
//===----------------------------------------------------------------------===//

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

bool ExpertsOp::hasTensorPerExpert() { return tensorType(getGate().front()).getRank() == 2; }

int64_t ExpertsOp::getNumExperts() {
  return hasTensorPerExpert() ? getGate().size() : tensorType(getGate().front()).getDimSize(0);
}

int64_t ExpertsOp::getOutputs(Value matrix) {
  RankedTensorType type = tensorType(matrix);
  return type.getDimSize(type.getRank() - (getTransposed() ? 1 : 2));
}

int64_t ExpertsOp::getHiddenDim() {
  return getUp().empty() ? getGateOutputs() / 2 : getGateOutputs();
}

namespace {
/// What the tensors of one operand have to be.
struct ExpertOperand {
  StringRef name;
  OperandRange tensors;
  SmallVector<int64_t> shape; ///< of one expert
};
} // namespace

static LogicalResult verifyExpertTensors(ExpertsOp op, const ExpertOperand &operand) {
  SmallVector<int64_t> shape = operand.shape;
  size_t count = op.hasTensorPerExpert() ? op.getNumExperts() : 1;
  if (!op.hasTensorPerExpert())
    shape.insert(shape.begin(), op.getNumExperts());
  if (operand.tensors.size() != count)
    return op.emitOpError() << "expected " << count << " tensors of " << operand.name << ", got "
                            << operand.tensors.size();
  for (auto [number, tensor] : llvm::enumerate(operand.tensors)) {
    if (tensorType(tensor).getShape() == ArrayRef(shape)) {
      if (tensor.getType() == operand.tensors.front().getType())
        continue;
      return op.emitOpError() << "expected all tensors of " << operand.name
                              << " to have one type, got " << operand.tensors.front().getType()
                              << " and " << tensor.getType();
    }
    InFlightDiagnostic diag = op.emitOpError() << "expected " << operand.name;
    if (count > 1)
      diag << " " << number;
    diag << " of shape [";
    llvm::interleaveComma(shape, diag);
    return diag << "], got type " << tensor.getType();
  }
  return success();
}

LogicalResult ExpertsOp::verify() {
  for (auto [name, tensors] : {std::pair("gate", getGate()), std::pair("down", getDown())})
    if (tensors.empty())
      return emitOpError() << "expected operand " << name;
  for (auto [name, tensors] : {std::pair("gate", getGate()), std::pair("down", getDown())})
    if (!tensorType(tensors.front()).hasStaticShape())
      return emitOpError() << "expected static extents of " << name << ", got type "
                           << tensors.front().getType();
  if (getGate().size() > 1 && !hasTensorPerExpert())
    return emitOpError() << "expected one tensor of gate for all experts or tensors of rank 2, got "
                         << getGate().size() << " of type " << getGate().front().getType();
  int64_t dim = getOutputs(getDown().front()), outputs = getGateOutputs(), hidden = getHiddenDim();
  if (getNumExperts() == 0 || outputs == 0)
    return emitOpError() << "expected at least one expert and one output of gate, got type "
                         << getGate().front().getType();
  if (getUp().empty() && outputs % 2 != 0)
    return emitOpError() << "expected an even number of outputs of gate without up, got "
                         << outputs;
  if (getInterleaved() && !getUp().empty())
    return emitOpError() << "expected interleaved only without up";
  if (!getUp().empty() && getGateBias().empty() != getUpBias().empty())
    return emitOpError() << "expected gate_bias and up_bias together";
  auto matrix = [&](int64_t out, int64_t in) {
    return getTransposed() ? SmallVector<int64_t>{in, out} : SmallVector<int64_t>{out, in};
  };
  if (failed(verifyExpertTensors(*this, {"gate", getGate(), matrix(outputs, dim)})) ||
      failed(verifyExpertTensors(*this, {"down", getDown(), matrix(dim, hidden)})))
    return failure();
  for (const ExpertOperand &operand : {ExpertOperand{"up", getUp(), matrix(hidden, dim)},
                                       ExpertOperand{"gate_bias", getGateBias(), {outputs}},
                                       ExpertOperand{"up_bias", getUpBias(), {hidden}},
                                       ExpertOperand{"down_bias", getDownBias(), {dim}}})
    if (!operand.tensors.empty() && failed(verifyExpertTensors(*this, operand)))
      return failure();
  if (getUp().empty() && !getUpBias().empty())
    return emitOpError() << "expected up_bias only with up";

  NamedOperand input{"input", getInput()}, indices{"indices", getIndices()};
  NamedOperand weights{"weights", getWeights()};
  NamedOperand output{"output", getOutput()};
  int64_t rank = input.type().getRank();
  if (!dimsAgree(input.dim(rank - 1), dim))
    return emitOpError() << "expected dimension " << rank - 1 << " of input ("
                         << input.dim(rank - 1) << ") to equal the outputs of down (" << dim << ")";
  for (NamedOperand each : {indices, weights, output})
    if (each.type().getRank() != rank)
      return emitOpError() << "expected " << each.name << " of rank " << rank
                           << " like input, got type " << each.type();
  for (int64_t d = 0; d + 1 < rank; ++d)
    for (NamedOperand each : {indices, weights, output})
      if (failed(verifySameDim(*this, each, d, input, d)))
        return failure();
  if (failed(verifySameDim(*this, weights, rank - 1, indices, rank - 1)) ||
      failed(verifySameDim(*this, output, rank - 1, input, rank - 1)))
    return failure();
  if (!getLimit())
    return success();
  if (getKind() != GluKind::GptOss)
    return emitOpError() << "expected limit only with gpt_oss, got " << stringifyGluKind(getKind());
  return verifyNumber(*this, "limit", getLimitValue(), 0, /*exclusive=*/true);
}

LogicalResult ExpertsOp::reifyResultShapes(OpBuilder &builder,
                                           ReifiedRankedShapedTypeDims &shapes) {
  addShape(builder, shapes, getOutput(), dimsOf(builder, getLoc(), getInput()));
  return success();
}
