//===- Native.cpp - ops that mean the same on a CPU -----------------------===//

#include "SimtRewriter.h"

using namespace mlir;

namespace heddle {

void populateNativeRules(RuleSet &rules) {
  // Values.
  rules.keep<LLVM::ConstantOp, LLVM::ZeroOp, LLVM::UndefOp, LLVM::PoisonOp, LLVM::FreezeOp,
             LLVM::SelectOp, LLVM::BitcastOp, LLVM::ExtractElementOp, LLVM::InsertElementOp,
             LLVM::ShuffleVectorOp, LLVM::ExtractValueOp, LLVM::InsertValueOp>();
  // Integers.
  rules.keep<LLVM::AddOp, LLVM::SubOp, LLVM::MulOp, LLVM::UDivOp, LLVM::SDivOp, LLVM::URemOp,
             LLVM::SRemOp, LLVM::AndOp, LLVM::OrOp, LLVM::XOrOp, LLVM::ShlOp, LLVM::LShrOp,
             LLVM::AShrOp, LLVM::ICmpOp, LLVM::SExtOp, LLVM::ZExtOp, LLVM::TruncOp, LLVM::SMaxOp,
             LLVM::SMinOp, LLVM::UMaxOp, LLVM::UMinOp, LLVM::AbsOp, LLVM::CtPopOp,
             LLVM::CountLeadingZerosOp, LLVM::CountTrailingZerosOp, LLVM::BitReverseOp,
             LLVM::ByteSwapOp, LLVM::FshlOp, LLVM::FshrOp>();
  // Floats.
  rules.keep<LLVM::FAddOp, LLVM::FSubOp, LLVM::FMulOp, LLVM::FDivOp, LLVM::FNegOp, LLVM::FCmpOp,
             LLVM::FPExtOp, LLVM::SIToFPOp, LLVM::UIToFPOp, LLVM::FPToSIOp, LLVM::FPToUIOp,
             LLVM::FMAOp, LLVM::FMulAddOp, LLVM::FAbsOp, LLVM::CopySignOp, LLVM::SqrtOp,
             LLVM::MaxNumOp, LLVM::MinNumOp, LLVM::MaximumOp, LLVM::MinimumOp, LLVM::FFloorOp,
             LLVM::FCeilOp, LLVM::FTruncOp, LLVM::RoundEvenOp, LLVM::RintOp, LLVM::IsFPClass>();
  // Control flow, and promises to the optimiser.
  rules.keep<LLVM::BrOp, LLVM::CondBrOp, LLVM::SwitchOp, LLVM::ReturnOp, LLVM::UnreachableOp,
             LLVM::AssumeOp, LLVM::ExpectOp, LLVM::LifetimeStartOp, LLVM::LifetimeEndOp>();
  // Pointers: lowerPointers takes care of them.
  rules.keep<LLVM::GEPOp, LLVM::PtrToIntOp, LLVM::IntToPtrOp, LLVM::AddrSpaceCastOp,
             LLVM::AddressOfOp, LLVM::AllocaOp>();
}

} // namespace heddle
