//===- SimtRewriter.h - a kernel on its way to the simulator ----*- C++ -*-===//
//
// What the rules of all op families share: calls of the simulator, operation numbers, scratch slots.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_NVVMTOSIMT_SIMTREWRITER_H
#define HEDDLE_LIB_CONVERSION_NVVMTOSIMT_SIMTREWRITER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace heddle {

/// Address spaces of the NVVM dialect that kernels use.
enum NVVMSpace : unsigned { GenericSpace = 0, GlobalSpace = 1, SharedSpace = 3 };

/// Memory on the caller's stack through which operands and results of calls go. Calls don't nest, so one of each is enough.
enum class Slot { Access, MatrixA, MatrixB, MatrixC, Fragments, Predicate };

class SimtRewriter {
public:
  /// Adds the simulator's arguments in front of the kernel's own ones.
  explicit SimtRewriter(mlir::LLVM::LLVMFuncOp kernel);

  /// Goes to `op`: what is built comes in front of it and has its location.
  void start(mlir::Operation *op) {
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
    current = op;
  }

  mlir::Value i32(int64_t value) {
    return mlir::LLVM::ConstantOp::create(b, b.getI32Type(), value);
  }
  mlir::Value i64(int64_t value) {
    return mlir::LLVM::ConstantOp::create(b, b.getI64Type(), value);
  }
  /// A scalar, or a vector of its shape with the same value everywhere.
  mlir::Value splat(mlir::Type type, int64_t value);

  /// Calls `callee(self, number of the current op, operands...)`; null if there is no result.
  mlir::Value call(llvm::StringRef callee, mlir::Type result, mlir::ValueRange operands);
  /// Calls `callee(self, operands...)`: what is no operation of its own.
  mlir::Value callPlain(llvm::StringRef callee, mlir::Type result, mlir::ValueRange operands);

  /// Address of a scratch slot.
  mlir::Value slot(Slot which);
  /// Address of byte `offset` of a slot.
  mlir::Value slotByte(Slot which, int64_t offset);

  /// The address of a pointer to global (i64) or shared memory (i32).
  mlir::Value addressOf(mlir::Value pointer);
  /// The first byte of the CTA's shared memory, i32.
  mlir::Value sharedBase();

  /// Replaces the current op.
  void replace(mlir::ValueRange values) {
    current->replaceAllUsesWith(values);
    erase();
  }
  void erase() {
    current->erase();
    current = nullptr;
  }

  mlir::LLVM::LLVMFuncOp getKernel() { return kernel; }
  /// The kernel's own parameter `index`.
  mlir::BlockArgument parameter(unsigned index) {
    return kernel.getBody().getArgument(index + numHostArguments);
  }
  unsigned numParameters() { return kernel.getBody().getNumArguments() - numHostArguments; }
  mlir::Value getSelf() { return kernel.getBody().getArgument(0); }
  mlir::Value getParameterArray() { return kernel.getBody().getArgument(1); }

  /// The operations that got a number, by it: mnemonic and location.
  llvm::ArrayRef<std::pair<mlir::StringAttr, mlir::Location>> getOperations() const {
    return operations;
  }

  /// Constants in global memory that the kernel reads.
  llvm::SmallSetVector<mlir::LLVM::GlobalOp, 4> constants;

  mlir::ImplicitLocOpBuilder b;
  static constexpr unsigned numHostArguments = 2;

private:
  mlir::LLVM::LLVMFuncOp kernel;
  mlir::Operation *current = nullptr;
  mlir::Operation *numbered = nullptr; // that the last number belongs to
  llvm::SmallVector<std::pair<mlir::StringAttr, mlir::Location>> operations;
  llvm::SmallDenseMap<unsigned, mlir::Value> slots;
  mlir::Value base;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> callees;
};

/// What is done with each op. A rule replaces or erases the op it is given, or leaves it as it is.
class RuleSet {
public:
  using Rule = std::function<llvm::LogicalResult(mlir::Operation *, SimtRewriter &)>;

  template <typename Op> void add(llvm::LogicalResult (*rule)(Op, SimtRewriter &)) {
    rules[mlir::TypeID::get<Op>()] = [rule](mlir::Operation *op, SimtRewriter &rewriter) {
      return rule(mlir::cast<Op>(op), rewriter);
    };
  }
  /// Ops that mean the same on a CPU.
  template <typename... Ops> void keep() {
    ((rules[mlir::TypeID::get<Ops>()] = [](mlir::Operation *,
                                           SimtRewriter &) { return llvm::success(); }),
     ...);
  }
  llvm::LogicalResult apply(mlir::Operation *op, SimtRewriter &rewriter) const;

private:
  llvm::DenseMap<mlir::TypeID, Rule> rules;
};

void populateNativeRules(RuleSet &rules);
void populateMemoryRules(RuleSet &rules);
void populateAsyncCopyRules(RuleSet &rules);
void populateCollectiveRules(RuleSet &rules);
void populateMatrixRules(RuleSet &rules);
void populateNumericRules(RuleSet &rules);
void populateRegisterRules(RuleSet &rules);

/// Bytes that a value of a type takes in the memory of a GPU, and what its address is a multiple of.
uint64_t deviceSize(mlir::Type type);
uint64_t deviceAlignment(mlir::Type type);
uint64_t deviceFieldOffset(mlir::LLVM::LLVMStructType structure, size_t field);

/// Turns what is left of pointers with an address space into offsets and host pointers.
llvm::LogicalResult lowerPointers(SimtRewriter &rewriter);

/// Adds the constant heddle_sim_kernel.<name> with the names of all operations.
void emitKernelTable(mlir::ModuleOp module, SimtRewriter &rewriter,
                     mlir::LLVM::LLVMFuncOp function);

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_NVVMTOSIMT_SIMTREWRITER_H
