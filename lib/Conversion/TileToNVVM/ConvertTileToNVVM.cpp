//===- ConvertTileToNVVM.cpp - convert-tile-to-nvvm -----------------------===//

#include "heddle/Conversion/TileToNVVM/Passes.h"

#include "KernelABI.h"
#include "KernelLowering.h"

#include "heddle/Transforms/Tile/KernelKnobs.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_CONVERTTILETONVVMPASS
#include "heddle/Conversion/TileToNVVM/Passes.h.inc"

namespace {

struct ConvertTileToNVVMPass : impl::ConvertTileToNVVMPassBase<ConvertTileToNVVMPass> {
  using ConvertTileToNVVMPassBase::ConvertTileToNVVMPassBase;

  void runOnOperation() override {
    static constexpr StringLiteral chips[] = {"sm_80", "sm_86", "sm_89", "sm_90"};
    if (!llvm::is_contained(chips, chip)) {
      InFlightDiagnostic error = getOperation().emitError("expected chip to be one of ");
      llvm::interleaveComma(chips, error);
      error << ", got '" << chip << "'";
      return signalPassFailure();
    }
    SmallVector<tile::LaunchOp> launches;
    llvm::StringMap<SmallVector<tile::LaunchOp>> launchesOf;
    for (Operation &op : *getOperation().getBody())
      if (!isa<tile::KernelOp>(op))
        op.walk([&](tile::LaunchOp launch) {
          launches.push_back(launch);
          launchesOf[launch.getKernel()].push_back(launch);
        });
    for (tile::KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>()))
      if (failed(lowerKernel(kernel, launchesOf[kernel.getSymName()])))
        return signalPassFailure();
    for (tile::LaunchOp launch : launches) {
      OpBuilder b(launch);
      tile_nv::LaunchOp::create(b, launch.getLoc(), launch.getKernelAttr(), launch.getX(),
                                launch.getY(), launch.getZ(), launch.getArguments());
      launch.erase();
    }
  }

private:
  LogicalResult lowerKernel(tile::KernelOp kernel, ArrayRef<tile::LaunchOp> launches);
  void mapArguments(ImplicitLocOpBuilder &b, tile::KernelOp kernel, ArrayRef<int32_t> alignments,
                    LLVM::LLVMFuncOp function, KernelLowering &lowering);
};

/// The parameters of a kernel with these arguments.
SmallVector<Type> parameterTypes(tile::KernelOp kernel) {
  MLIRContext *context = kernel.getContext();
  auto i64 = IntegerType::get(context, 64);
  SmallVector<Type> types;
  for (Type type : kernel.getArgumentTypes()) {
    if (auto memory = dyn_cast<MemRefType>(type)) {
      types.push_back(LLVM::LLVMPointerType::get(context, globalMemorySpace));
      types.append(2 * memory.getRank(), i64);
    } else {
      types.push_back(type.isIndex() ? i64 : type);
    }
  }
  return types;
}

void ConvertTileToNVVMPass::mapArguments(ImplicitLocOpBuilder &b, tile::KernelOp kernel,
                                         ArrayRef<int32_t> alignments, LLVM::LLVMFuncOp function,
                                         KernelLowering &lowering) {
  IntegerMath math(b);
  auto parameter = function.getArguments().begin();
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      Value value = *parameter++;
      lowering.mapScalar(argument, argument.getType().isIndex() ? math.narrow(value) : value);
      continue;
    }
    GlobalMemory memory;
    memory.alignment = alignments[argument.getArgNumber()];
    function.setArgAttr(cast<BlockArgument>(*parameter).getArgNumber(),
                        LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(memory.alignment));
    memory.pointer = *parameter++;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)))
      strides.assign(type.getRank(), ShapedType::kDynamic);
    for (int64_t extent : type.getShape()) {
      Value value = *parameter++;
      memory.extents.push_back(ShapedType::isDynamic(extent) ? math.narrow(value)
                                                             : math.i32(extent));
    }
    for (int64_t stride : strides) {
      Value value = *parameter++;
      memory.strides.push_back(ShapedType::isDynamic(stride) ? value : math.i64(stride));
    }
    lowering.mapMemory(argument, memory);
  }
}

LogicalResult ConvertTileToNVVMPass::lowerKernel(tile::KernelOp kernel,
                                                 ArrayRef<tile::LaunchOp> launches) {
  tile::ConfigAttr config = kernel.getConfigAttr();
  if (!config || !config.getWarps())
    return kernel.emitOpError("expected a config with a number of warps; tile-select-config "
                              "chooses one");
  FailureOr<SmallVector<int32_t>> alignments = argumentAlignments(kernel, launches);
  if (failed(alignments))
    return failure();
  int32_t threads = 32 * *config.getWarps();

  ImplicitLocOpBuilder b(kernel.getLoc(), kernel);
  auto module = ModuleOp::create(b, kernel.getSymName());
  if (StringAttr visibility = kernel.getSymVisibilityAttr())
    module.setSymVisibilityAttr(visibility);
  auto shared = kernel->getAttrOfType<IntegerAttr>(sharedBytesName);
  module->setAttr("tile_nv.chip", b.getStringAttr(chip));
  module->setAttr("tile_nv.threads", b.getI32IntegerAttr(threads));
  module->setAttr(sharedBytesName, b.getI32IntegerAttr(shared ? shared.getInt() : 0));
  module->setAttr(alignmentsName, b.getDenseI32ArrayAttr(*alignments));
  module->setAttr("tile_nv.config", config);
  module->setAttr("tile_nv.written", b.getDenseBoolArrayAttr(writtenArguments(kernel)));
  if (ArrayAttr needed = kernel.getNeededFlopsAttr())
    module->setAttr("tile_nv.needed_flops", needed);
  for (NamedAttribute attr : kernel->getDiscardableAttrs())
    if (!module->hasAttr(attr.getName()))
      module->setAttr(attr.getName(), attr.getValue());

  b.setInsertionPointToStart(module.getBody());
  if (kernel.getBody()
          .walk([](tile_nv::AllocOp) { return WalkResult::interrupt(); })
          .wasInterrupted())
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
                           LLVM::Linkage::External, sharedMemoryName, Attribute(),
                           /*alignment=*/1024, sharedMemorySpace);
  auto function = LLVM::LLVMFuncOp::create(
      b, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()), parameterTypes(kernel)));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), b.getDenseI32ArrayAttr({threads}));
  if (auto ctas = kernel->getAttrOfType<IntegerAttr>(tile_nv::ctasName))
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      b.getI32IntegerAttr(int32_t(ctas.getInt())));
  function.setDenormalFpMathF32("preserve-sign,preserve-sign");

  b.setInsertionPointToStart(function.addEntryBlock(b));
  KernelLowering lowering(b, function, *config.getWarps());
  mapArguments(b, kernel, *alignments, function, lowering);
  if (failed(lowering.lowerBlock(kernel.getBody().front())))
    return failure();
  b.setLoc(kernel.getLoc());
  LLVM::ReturnOp::create(b, ValueRange());
  kernel.erase();
  ++numKernels;
  return success();
}

} // namespace
} // namespace heddle
