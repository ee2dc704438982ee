//===- Registers.cpp - special registers and opaque moves -----------------===//

#include "SimtRewriter.h"

#include "heddle/Simulator/Device.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace heddle {
namespace {

template <typename Op, uint32_t which> LogicalResult convertRegister(Op op, SimtRewriter &r) {
  Type type = op.getType();
  Value value = r.callPlain("heddle_sim_register", r.b.getI32Type(), {r.i32(which)});
  if (type != value.getType())
    value = LLVM::ZExtOp::create(r.b, type, value);
  r.replace(value);
  return success();
}

/// PTX's names of special registers.
std::optional<uint32_t> registerNamed(StringRef name) {
  static constexpr std::pair<StringLiteral, uint32_t> known[] = {
      {"%tid.x", HEDDLE_SIM_TID_X},       {"%tid.y", HEDDLE_SIM_TID_Y},
      {"%tid.z", HEDDLE_SIM_TID_Z},       {"%ntid.x", HEDDLE_SIM_NTID_X},
      {"%ntid.y", HEDDLE_SIM_NTID_Y},     {"%ntid.z", HEDDLE_SIM_NTID_Z},
      {"%ctaid.x", HEDDLE_SIM_CTAID_X},   {"%ctaid.y", HEDDLE_SIM_CTAID_Y},
      {"%ctaid.z", HEDDLE_SIM_CTAID_Z},   {"%nctaid.x", HEDDLE_SIM_NCTAID_X},
      {"%nctaid.y", HEDDLE_SIM_NCTAID_Y}, {"%nctaid.z", HEDDLE_SIM_NCTAID_Z},
      {"%laneid", HEDDLE_SIM_LANEID},     {"%warpid", HEDDLE_SIM_WARPID}};
  for (const auto &[text, id] : known)
    if (name == text)
      return id;
  return std::nullopt;
}

/// "mov.<type> $0, <source>;" with the register $1 or a special register.
LogicalResult convertInlineAsm(LLVM::InlineAsmOp op, SimtRewriter &r) {
  auto refuse = [&] {
    return op.emitOpError("can't be simulated: expected a move of a register, such as "
                          "\"mov.b32 $0, $1;\" or \"mov.u32 $0, %tid.x;\", got \"")
           << op.getAsmString() << "\"";
  };
  StringRef text = op.getAsmString().trim();
  if (!text.consume_front("mov.") || !text.consume_back(";") || op->getNumResults() != 1)
    return refuse();
  StringRef source = text.substr(text.find_first_of(" \t")).trim();
  if (!source.consume_front("$0"))
    return refuse();
  source = source.ltrim();
  if (!source.consume_front(","))
    return refuse();
  source = source.trim();
  Type type = op->getResult(0).getType();
  if (source == "$1") {
    if (op->getNumOperands() != 1 || op->getOperand(0).getType() != type)
      return refuse();
    r.replace(op->getOperand(0));
    return success();
  }
  // A percent sign may be doubled, as in LLVM's own assembly strings.
  std::string name = source.starts_with("%%") ? source.drop_front().str() : source.str();
  std::optional<uint32_t> id = registerNamed(name);
  if (!id || op->getNumOperands() != 0 || !type.isInteger(32))
    return refuse();
  r.replace(r.callPlain("heddle_sim_register", type, {r.i32(*id)}));
  return success();
}

} // namespace

void populateRegisterRules(RuleSet &rules) {
  rules.add<NVVM::ThreadIdXOp>(convertRegister<NVVM::ThreadIdXOp, HEDDLE_SIM_TID_X>);
  rules.add<NVVM::ThreadIdYOp>(convertRegister<NVVM::ThreadIdYOp, HEDDLE_SIM_TID_Y>);
  rules.add<NVVM::ThreadIdZOp>(convertRegister<NVVM::ThreadIdZOp, HEDDLE_SIM_TID_Z>);
  rules.add<NVVM::BlockDimXOp>(convertRegister<NVVM::BlockDimXOp, HEDDLE_SIM_NTID_X>);
  rules.add<NVVM::BlockDimYOp>(convertRegister<NVVM::BlockDimYOp, HEDDLE_SIM_NTID_Y>);
  rules.add<NVVM::BlockDimZOp>(convertRegister<NVVM::BlockDimZOp, HEDDLE_SIM_NTID_Z>);
  rules.add<NVVM::BlockIdXOp>(convertRegister<NVVM::BlockIdXOp, HEDDLE_SIM_CTAID_X>);
  rules.add<NVVM::BlockIdYOp>(convertRegister<NVVM::BlockIdYOp, HEDDLE_SIM_CTAID_Y>);
  rules.add<NVVM::BlockIdZOp>(convertRegister<NVVM::BlockIdZOp, HEDDLE_SIM_CTAID_Z>);
  rules.add<NVVM::GridDimXOp>(convertRegister<NVVM::GridDimXOp, HEDDLE_SIM_NCTAID_X>);
  rules.add<NVVM::GridDimYOp>(convertRegister<NVVM::GridDimYOp, HEDDLE_SIM_NCTAID_Y>);
  rules.add<NVVM::GridDimZOp>(convertRegister<NVVM::GridDimZOp, HEDDLE_SIM_NCTAID_Z>);
  rules.add<NVVM::LaneIdOp>(convertRegister<NVVM::LaneIdOp, HEDDLE_SIM_LANEID>);
  rules.add<NVVM::WarpIdOp>(convertRegister<NVVM::WarpIdOp, HEDDLE_SIM_WARPID>);
  rules.add<LLVM::InlineAsmOp>(convertInlineAsm);
}

} // namespace heddle
