//===- LowerGPULaunches.cpp - lower-gpu-launches --------------------------===//
//
// A launch becomes, in the entry:
//
//   words[...]                         on the stack, 64 bits for each parameter of the kernel:
//                                      a buffer is its address, extents and strides, a scalar itself
//   params[...]                        the addresses of the words
//   status = heddle_rt_launch(ctx, @kernel.launch, "entry", names, x, y, z, params)
//   if (status != 0) return status
//
// A call that some kernel can't take should write nothing. So launches between which nothing happens but arithmetic become
// one sequence where the last of them stands: first heddle_rt_check_launch in the same way for each, then the launches.
//
// and beside the entries, for each kernel, a constant @kernel.launch: the heddle_rt_kernel of ModuleRuntime.h. Its fields come from the
// attributes of the kernel's module and from the types of the launch.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/TileNV/TileNV.h"
#include "heddle/Runtime/ModuleRuntime.h"
#include "heddle/Transforms/EntryAttributes.h"
#include "heddle/Transforms/Passes.h"

#include "TextConstants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_LOWERGPULAUNCHESPASS
#include "heddle/Transforms/Passes.h.inc"

namespace {

/// What a kernel's module says about it.
struct KernelFacts {
  int32_t threads, sharedBytes, chip;
  ArrayRef<int32_t> alignments;
  ArrayRef<bool> written;

  /// Reads the attributes for a launch with `numArguments`. An absent or unfit one is an error.
  static FailureOr<KernelFacts> read(ModuleOp kernel, unsigned numArguments) {
    auto missing = [&](StringRef name, StringRef what) {
      return kernel.emitError() << "expected kernel '" << *kernel.getName()
                                << "' to have the attribute '" << name << "', " << what;
    };
    auto threads = kernel->getAttrOfType<IntegerAttr>("tile_nv.threads");
    if (!threads)
      return missing("tile_nv.threads", "the number of threads of a CTA");
    auto shared = kernel->getAttrOfType<IntegerAttr>("tile_nv.shared_bytes");
    if (!shared)
      return missing("tile_nv.shared_bytes", "the bytes of its dynamic shared memory");
    auto chipName = kernel->getAttrOfType<StringAttr>("tile_nv.chip");
    StringRef digits = chipName ? chipName.getValue() : StringRef();
    int32_t chip;
    if (!digits.consume_front("sm_") || digits.consumeInteger(10, chip))
      return missing("tile_nv.chip", "a name such as \"sm_80\"");
    auto alignments = kernel->getAttrOfType<DenseI32ArrayAttr>("tile_nv.alignments");
    if (!alignments || alignments.size() != numArguments)
      return missing("tile_nv.alignments",
                     "an array<i32> of " + std::to_string(numArguments) + " elements");
    auto written = kernel->getAttrOfType<DenseBoolArrayAttr>("tile_nv.written");
    if (!written || written.size() != numArguments)
      return missing("tile_nv.written",
                     "an array<i1> of " + std::to_string(numArguments) + " elements");
    return KernelFacts{int32_t(threads.getInt()), int32_t(shared.getInt()), chip, alignments,
                       written};
  }
};

/// Bytes of one element, or of a scalar parameter.
int32_t bytesOf(Type type) {
  return type.isIndex() ? 8 : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

/// What callers know a buffer as: the name of an argument, that of a view of one, or nothing.
std::string nameOf(Value value, func::FuncOp entry) {
  bool isView = false;
  while (Operation *definition = value.getDefiningOp()) {
    auto view = dyn_cast<ViewLikeOpInterface>(definition);
    if (!view)
      return "";
    isView |= !isa<memref::CastOp>(definition);
    value = view.getViewSource();
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &entry.getBody().front())
    return "";
  auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nameAttr);
  return !name ? "" : isView ? "view of " + name.str() : name.str();
}

/// Whether `first` can as well be where `second` is.
bool onlyComputesBetween(Operation *first, Operation *second) {
  if (first->getBlock() != second->getBlock())
    return false;
  for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode())
    if (!isMemoryEffectFree(op))
      return false;
  return true;
}

class LaunchLowering {
public:
  LaunchLowering(ModuleOp module, bool simulated)
      : module(module), symbols(module), simulated(simulated),
        b(module.getLoc(), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())), i32(b.getI32Type()),
        i64(b.getI64Type()), texts(module, "heddle_launch_text_") {}

  /// Lowers all launches of an entry. They take turns in using one array of parameters.
  LogicalResult lower(func::FuncOp entry);

private:
  using Sequence = SmallVector<tile_nv::LaunchOp>;

  LogicalResult lower(func::FuncOp entry, const Sequence &sequence, Value words, Value params);
  LogicalResult callRuntime(StringRef function, func::FuncOp entry, tile_nv::LaunchOp launch,
                            Operation *before, Value words, Value params);
  Value constant(int64_t value, Type type) { return LLVM::ConstantOp::create(b, type, value); }
  Value toI64(Value index) { return arith::IndexCastOp::create(b, i64, index); }
  Value element(Value array, Type type, int32_t index) {
    return LLVM::GEPOp::create(b, pointer, type, array, ArrayRef<LLVM::GEPArg>{index});
  }

  FailureOr<FlatSymbolRefAttr> describeKernel(tile_nv::LaunchOp launch);
  FailureOr<LLVM::GlobalOp> describeNeed(ModuleOp kernel, TypeRange arguments);
  LLVM::GlobalOp external(StringRef name);
  FlatSymbolRefAttr declare(StringRef function);
  FailureOr<SmallVector<Value>> parameters(tile_nv::LaunchOp launch);

  ModuleOp module;
  SymbolTable symbols;
  bool simulated;
  ImplicitLocOpBuilder b;
  LLVM::LLVMPointerType pointer;
  Type i32, i64;
  TextConstants texts;
  llvm::StringMap<FlatSymbolRefAttr> kernels, functions;
};

/// heddle_rt_launch, or heddle_rt_check_launch with the same parameters.
FlatSymbolRefAttr LaunchLowering::declare(StringRef function) {
  FlatSymbolRefAttr &symbol = functions[function];
  if (!symbol) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(
        i32, {pointer, pointer, pointer, pointer, i64, i64, i64, pointer});
    symbol = FlatSymbolRefAttr::get(LLVM::LLVMFuncOp::create(b, function, type));
  }
  return symbol;
}

/// Data that another object holds.
LLVM::GlobalOp LaunchLowering::external(StringRef name) {
  return LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/true,
                                LLVM::Linkage::External, name, Attribute());
}

/// The words that say what the kernel's formula needs; null if it does not say so, and on a CUDA device.
FailureOr<LLVM::GlobalOp> LaunchLowering::describeNeed(ModuleOp kernel, TypeRange arguments) {
  Attribute attribute = kernel->getAttr("tile_nv.needed_flops");
  if (!attribute)
    return LLVM::GlobalOp();
  auto terms = dyn_cast<ArrayAttr>(attribute);
  if (!terms || !llvm::all_of(terms, llvm::IsaPred<tile::ProductsAttr>))
    return kernel.emitError() << "expected the attribute 'tile_nv.needed_flops' of kernel '"
                              << *kernel.getName() << "' to be an array of #tile.products";
  SmallVector<int64_t> words{int64_t(terms.size())};
  for (auto term : terms.getAsRange<tile::ProductsAttr>()) {
    if (failed(term.verifyArguments([&] { return kernel.emitError(); }, arguments)))
      return failure();
    ArrayRef<int64_t> extents = term.getExtents();
    words.append({term.getFlops(), int64_t(extents.size() / 2)});
    llvm::append_range(words, extents);
    for (std::optional<int64_t> word :
         {term.getQuery(), term.getKey(), term.getLengths(), term.getAdded(), term.getLeft(),
          term.getRight(), term.getGlobal()})
      words.push_back(word.value_or(-1));
  }
  if (!simulated)
    return LLVM::GlobalOp();
  auto data = DenseElementsAttr::get(RankedTensorType::get(int64_t(words.size()), i64),
                                     ArrayRef<int64_t>(words));
  return LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(i64, words.size()), /*isConstant=*/true,
                                LLVM::Linkage::Internal, (*kernel.getName() + ".needed").str(),
                                data);
}

/// The constant that describes the launch's kernel.
FailureOr<FlatSymbolRefAttr> LaunchLowering::describeKernel(tile_nv::LaunchOp launch) {
  StringRef name = launch.getKernel();
  if (FlatSymbolRefAttr known = kernels.lookup(name))
    return known;
  auto kernel = symbols.lookup<ModuleOp>(name);
  if (!kernel)
    return launch.emitOpError() << "expected a kernel's module named '" << name << "'";
  OperandRange arguments = launch.getArguments();
  FailureOr<KernelFacts> facts = KernelFacts::read(kernel, arguments.size());
  if (failed(facts))
    return failure();

  SmallVector<int32_t> words;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    Type type = argument.getType();
    auto buffer = dyn_cast<MemRefType>(type);
    int32_t kind = type.isIndex() ? HEDDLE_RT_INDEX : HEDDLE_RT_SCALAR;
    words.append({buffer ? int32_t(buffer.getRank()) : kind,
                  bytesOf(buffer ? buffer.getElementType() : type), facts->alignments[i],
                  facts->written[i]});
  }
  OpBuilder::InsertionGuard guard(b);
  b.setLoc(kernel.getLoc());
  b.setInsertionPointAfter(kernel);
  auto table = LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(i32, words.size()),
                                      /*isConstant=*/true, LLVM::Linkage::Internal,
                                      (name + ".arguments").str(), b.getI32TensorAttr(words));
  LLVM::GlobalOp code =
      external(simulated ? ("heddle_sim_kernel." + name).str() : (name + ".image").str());
  LLVM::GlobalOp loaded;
  if (!simulated) {
    Type places = LLVM::LLVMArrayType::get(i64, 2 * HEDDLE_RT_MAX_CONTEXTS);
    loaded = LLVM::GlobalOp::create(b, places, /*isConstant=*/false, LLVM::Linkage::Internal,
                                    (name + ".loaded").str(), Attribute());
    OpBuilder::InsertionGuard inside(b);
    b.createBlock(&loaded.getInitializerRegion());
    LLVM::ReturnOp::create(b, LLVM::ZeroOp::create(b, places));
  }
  FailureOr<LLVM::GlobalOp> needed = describeNeed(kernel, arguments.getTypes());
  if (failed(needed))
    return failure();
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {pointer, pointer, i32, i32, i32, i32, pointer, pointer, pointer, pointer});
  auto global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                       (name + ".launch").str(), Attribute());
  b.createBlock(&global.getInitializerRegion());
  auto address = [&](LLVM::GlobalOp of) -> Value {
    return of ? LLVM::AddressOfOp::create(b, of).getResult()
              : LLVM::ZeroOp::create(b, pointer).getResult();
  };
  Value value = LLVM::UndefOp::create(b, type);
  int64_t position = 0;
  auto insert = [&](Value field) {
    value = LLVM::InsertValueOp::create(b, value, field, position++);
  };
  insert(texts.address(b, name));
  insert(address(table));
  for (int32_t word : {int32_t(arguments.size()), facts->threads, facts->sharedBytes, facts->chip})
    insert(constant(word, i32));
  insert(address(simulated ? LLVM::GlobalOp() : code));
  insert(address(loaded));
  insert(address(simulated ? code : LLVM::GlobalOp()));
  insert(address(*needed));
  LLVM::ReturnOp::create(b, value);
  return kernels[name] = FlatSymbolRefAttr::get(global.getSymNameAttr());
}

/// The kernel's parameters, each of at most 64 bits.
FailureOr<SmallVector<Value>> LaunchLowering::parameters(tile_nv::LaunchOp launch) {
  SmallVector<Value> result;
  for (Value argument : launch.getArguments()) {
    Type type = argument.getType();
    if (auto buffer = dyn_cast<MemRefType>(type)) {
      auto parts = memref::ExtractStridedMetadataOp::create(b, argument);
      Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, argument);
      Value bytes = arith::ConstantIndexOp::create(b, bytesOf(buffer.getElementType()));
      Value offset = arith::MulIOp::create(b, parts.getOffset(), bytes);
      result.push_back(toI64(arith::AddIOp::create(b, address, offset)));
      for (Value extent : parts.getSizes())
        result.push_back(toI64(extent));
      for (Value stride : parts.getStrides())
        result.push_back(toI64(stride));
    } else if (type.isIndex()) {
      result.push_back(toI64(argument));
    } else if (type.isInteger(1)) {
      result.push_back(arith::ExtUIOp::create(b, b.getI8Type(), argument));
    } else if (type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 64) {
      result.push_back(argument);
    } else {
      return launch.emitOpError() << "has an argument of type " << type
                                  << ", expected memrefs and scalars of at most 64 bits";
    }
  }
  return result;
}

LogicalResult LaunchLowering::lower(func::FuncOp entry) {
  SmallVector<tile_nv::LaunchOp> launches;
  entry.walk([&](tile_nv::LaunchOp launch) { launches.push_back(launch); });
  int64_t most = 1;
  for (tile_nv::LaunchOp launch : launches) {
    if (launch->getParentOp() != entry)
      return launch.emitOpError() << "is inside '" << launch->getParentOp()->getName()
                                  << "', where the entry can't return early; unroll loops, and "
                                     "compute both sides of a branch";
    if (entry.getResultTypes() != ArrayRef<Type>(i32))
      return launch.emitOpError("is in a function that returns no status; run "
                                "lower-runtime-checks first");
    int64_t count = 0;
    for (Type type : launch.getArguments().getTypes())
      count += isa<MemRefType>(type) ? 1 + 2 * cast<MemRefType>(type).getRank() : 1;
    most = std::max(most, count);
  }
  if (launches.empty())
    return success();
  b.setLoc(entry.getLoc());
  b.setInsertionPointToStart(&entry.getBody().front());
  Value count = constant(most, i64);
  Value words = LLVM::AllocaOp::create(b, pointer, i64, count);
  Value params = LLVM::AllocaOp::create(b, pointer, pointer, count);
  SmallVector<Sequence> sequences;
  for (tile_nv::LaunchOp launch : launches) {
    if (sequences.empty() || !onlyComputesBetween(sequences.back().back(), launch))
      sequences.emplace_back();
    sequences.back().push_back(launch);
  }
  for (const Sequence &sequence : sequences)
    if (failed(lower(entry, sequence, words, params)))
      return failure();
  return success();
}

LogicalResult LaunchLowering::lower(func::FuncOp entry, const Sequence &sequence, Value words,
                                    Value params) {
  Operation *last = sequence.back();
  auto callForEach = [&](StringRef function) {
    for (tile_nv::LaunchOp launch : sequence)
      if (failed(callRuntime(function, entry, launch, last, words, params)))
        return failure();
    return success();
  };
  // A single launch checks what it is given before anything is written.
  if (sequence.size() > 1 && failed(callForEach("heddle_rt_check_launch")))
    return failure();
  if (failed(callForEach("heddle_rt_launch")))
    return failure();
  for (tile_nv::LaunchOp launch : sequence)
    launch.erase();
  return success();
}

/// Calls a function with all that belongs to `launch`, and returns what it returns unless that is 0.
LogicalResult LaunchLowering::callRuntime(StringRef function, func::FuncOp entry,
                                          tile_nv::LaunchOp launch, Operation *before, Value words,
                                          Value params) {
  FailureOr<FlatSymbolRefAttr> kernel = describeKernel(launch);
  if (failed(kernel))
    return failure();
  b.setLoc(launch.getLoc());
  b.setInsertionPoint(before);
  FailureOr<SmallVector<Value>> values = parameters(launch);
  if (failed(values))
    return failure();
  for (auto [i, value] : llvm::enumerate(*values)) {
    Value word = element(words, i64, i);
    LLVM::StoreOp::create(b, value, word);
    LLVM::StoreOp::create(b, word, element(params, pointer, i));
  }
  std::string names;
  for (Value argument : launch.getArguments())
    names += nameOf(argument, entry) + '\0';
  SmallVector<Value> operands{entry.getArgument(0), LLVM::AddressOfOp::create(b, pointer, *kernel),
                              texts.address(b, entry.getName()), texts.address(b, names)};
  for (Value extent : {launch.getX(), launch.getY(), launch.getZ()})
    operands.push_back(toI64(extent));
  operands.push_back(params);
  Value status = LLVM::CallOp::create(b, TypeRange(i32), declare(function), operands).getResult();
  Value failed = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, status,
                                       arith::ConstantIntOp::create(b, i32, HEDDLE_OK));
  Block *head = before->getBlock();
  Block *rest = head->splitBlock(before);
  Block *leave = b.createBlock(rest);
  func::ReturnOp::create(b, status);
  b.setInsertionPointToEnd(head);
  cf::CondBranchOp::create(b, failed, leave, rest);
  return success();
}

struct LowerGPULaunchesPass : impl::LowerGPULaunchesPassBase<LowerGPULaunchesPass> {
  using LowerGPULaunchesPassBase::LowerGPULaunchesPassBase;

  void runOnOperation() override {
    LaunchLowering lowering(getOperation(), simulated);
    for (func::FuncOp entry : getEntries(getOperation())) {
      for (auto launch : entry.getOps<tile::LaunchOp>()) {
        launch.emitOpError("launches a kernel that is not lowered for a GPU");
        return signalPassFailure();
      }
      if (failed(verifyEntryContext(entry)) || failed(lowering.lower(entry)))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace heddle
