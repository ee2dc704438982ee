//===- KernelLowering.h - one kernel as code for one thread ------*- C++ -*-===//
//
// Ops are lowered in the order of the program, for one thread of the CTA:
//
// 1. A tile is one SSA value per register of its layout; f16 and bf16 are kept as vectors of two where the number of registers is
//    even. What stands in a register is said by the layout alone.
// 2. `index` is i32, a memref a pointer with extents (i32) and strides (i64), a view the same plus a table.
// 3. Integer tiles that count (iota, and sums of such tiles) are kept as a scalar plus a constant per register until an op needs
//    the elements: a mask of 64 elements is then a few comparisons with constants.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_LIB_CONVERSION_TILETONVVM_KERNELLOWERING_H
#define HEDDLE_LIB_CONVERSION_TILETONVVM_KERNELLOWERING_H

#include "IntegerMath.h"
#include "LayoutArithmetic.h"

#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Dialect/TileNV/TileNV.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include <map>

namespace heddle {

/// A memref of the kernel.
struct GlobalMemory {
  mlir::Value pointer;                    ///< !llvm.ptr<1>, of the element at indices 0
  llvm::SmallVector<mlir::Value> extents; ///< i32
  llvm::SmallVector<mlir::Value> strides; ///< i64, in elements; constants where they are static
  int64_t alignment; ///< bytes that the pointer and all strides but the last are multiples of
};

/// A `tile.view` or `tile.gather_view`.
struct GlobalView {
  mlir::Type element;
  int64_t elementBytes;
  /// !llvm.ptr<1>, of element (0, 0), or of row 0 of entry 0 of the table.
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> extents; ///< i32
  /// i64, in elements; of a table's view [0] is that of rows of a page.
  llvm::SmallVector<mlir::Value> strides;
  int64_t alignment; ///< bytes that the pointer and the strides but the unit one are multiples of
  int contiguousDim = -1; ///< dimension with unit stride; -1: none

  std::shared_ptr<const GlobalView> table; ///< of rank 1; null without a table
  mlir::Value entryExtent;                 ///< i32; rows of other entries are outside of the view
  mlir::Value entryStride;                 ///< i64, in elements: from one entry's rows to the next
  mlir::Value pageRows;                    ///< i32; null if entries are rows
};

/// A row of a view.
struct GlobalRow {
  mlir::Value pointer; ///< !llvm.ptr<1>, of its first element; must not be read if it is outside
  mlir::Value inside;  ///< i1; null: known to be inside
};

/// A buffer in shared memory.
struct SharedBuffer {
  tile_nv::BufferType type;
  mlir::Value base;   ///< i32 address of the first byte, less `offset`
  int64_t offset = 0; ///< to be added as an immediate
};

/// base + one constant for each register: a tile of integers that is not computed yet.
struct AffineTile {
  mlir::Value base; ///< integer of the tile's element type (i32 for index)
  llvm::SmallVector<int64_t> offsets;
};

/// Lowers the body of one kernel at the builder's insertion point.
class KernelLowering {
public:
  KernelLowering(mlir::ImplicitLocOpBuilder &b, mlir::LLVM::LLVMFuncOp function, int64_t warps)
      : b(b), math(b), warps(warps), function(function) {}

  // KernelLowering.cpp: programs
  void mapScalar(mlir::Value from, mlir::Value to) { scalars.map(from, to); }
  void mapMemory(mlir::Value from, GlobalMemory to) { memories[from] = std::move(to); }
  /// Lowers all ops of a block but its terminator.
  mlir::LogicalResult lowerBlock(mlir::Block &block);

  //===--------------------------------------------------------------------===//
  // What all families use
  //===--------------------------------------------------------------------===//

  // KernelLowering.cpp: types and values
  /// `index` is i32; other scalars are what they are.
  mlir::Type scalarType(mlir::Type type);
  /// The layout of a tile, or an error at `op`.
  mlir::FailureOr<layout::Layout> layoutOf(mlir::Operation *op, mlir::Type tile);
  /// Whether a tile is kept as vectors of two elements.
  static bool isPaired(mlir::RankedTensorType type);
  /// The types of a tile's values, or that of a scalar; an error at `op` for a tile without a layout.
  mlir::FailureOr<llvm::SmallVector<mlir::Type>> registerTypes(mlir::Operation *op,
                                                               mlir::Type type);

  mlir::Value scalar(mlir::Value value) { return scalars.lookup(value); }
  /// A tile as it is kept: one value per register, or per pair of them.
  llvm::SmallVector<mlir::Value> registers(mlir::Value tile);
  /// A tile as one value per register.
  llvm::SmallVector<mlir::Value> elements(mlir::Value tile);
  void setRegisters(mlir::Value tile, llvm::ArrayRef<mlir::Value> registers);
  /// Packs the elements into pairs where the tile is kept so.
  void setElements(mlir::Value tile, llvm::ArrayRef<mlir::Value> elements);
  mlir::Value packPair(mlir::Value low, mlir::Value high);
  mlir::Value repeatedPair(mlir::Value element);
  std::pair<mlir::Value, mlir::Value> unpackPair(mlir::Value pair);
  /// "is not supported in kernels for GPUs", and why.
  static mlir::LogicalResult notSupported(mlir::Operation *op, const llvm::Twine &why = {});
  static bool isScalar(mlir::Type type) {
    return llvm::isa<mlir::IndexType, mlir::IntegerType, mlir::FloatType>(type);
  }

  // ThreadPosition.cpp
  mlir::Value tid();
  mlir::Value lane();
  mlir::Value warp();
  /// Lane and warp as inputs of a layout.
  llvm::SmallVector<std::pair<layout::Dim, mlir::Value>> threadInputs();
  /// A `mov` to a 32-bit register that LLVM neither moves nor joins with others.
  mlir::Value opaqueMove(llvm::StringRef text, mlir::ValueRange operands);

  // Views.cpp
  const GlobalView &view(mlir::Value value) { return views.find(value)->second; }
  /// `pointer` moved by `elements` (i64) elements of `bytes` bytes, and by constant bytes.
  mlir::Value advance(mlir::Value pointer, mlir::Value elements, int64_t bytes);
  mlir::Value advance(mlir::Value pointer, int64_t bytes);
  /// Row `row` (i32) of a view of rank 1 or 2. `checked`: it may be outside; `row` >= 0 need not be known either.
  GlobalRow rowOf(const GlobalView &view, mlir::Value row, bool checked);
  /// 0 <= coordinate < extent; null if that is known. The extent is at least 0.
  mlir::Value isInside(mlir::Value coordinate, mlir::Value extent);
  /// Whether index, ..., index + count - 1 are known to be at least 0 in 32 bits. Sums that are not known are taken not to overflow.
  bool isNonNegative(mlir::Value index, int64_t count = 1);

  // KernelLowering.cpp: shared memory
  const SharedBuffer &buffer(mlir::Value value) { return buffers.find(value)->second; }
  /// The address of the CTA's shared memory, i32.
  mlir::Value sharedBase();
  /// !llvm.ptr<3> of an i32 address plus a constant.
  mlir::Value sharedPointer(mlir::Value address, int64_t offset = 0);

  // ControlFlow.cpp
  /// Whether one of the flags is true.
  mlir::Value anyOf(mlir::ValueRange flags);
  /// Whether the flag is true in some lane of the warp, as all of its lanes know.
  mlir::Value anyLane(mlir::Value flag);

  // DotParts.cpp
  /// Flags, as opaque pointers, each with the mask of the warps that it counts for.
  using WarpFlags = std::vector<std::pair<void *, uint64_t>>;
  /// Whether some lane of the warp has one of the flags, where it was last asked; null until then.
  mlir::Value &vote(const WarpFlags &flags) { return votes[flags]; }

  // Conversions.cpp
  /// Shuffles of any type; lanes are i32.
  mlir::Value shuffleXor(mlir::Value value, int64_t lanes);
  mlir::Value shuffleFrom(mlir::Value value, mlir::Value lane);

  // Elementwise.cpp
  /// f32 pair to f16 or bf16, rounded to nearest even.
  mlir::Value roundPair(mlir::Value low, mlir::Value high, mlir::Type element);
  // Reductions.cpp
  /// Like setElements, of elements that are f32 where the tile's are f16 or bf16.
  void setRounded(mlir::Value tile, llvm::ArrayRef<mlir::Value> elements);

  mlir::ImplicitLocOpBuilder &b;
  IntegerMath math;
  const int64_t warps; ///< of a CTA

private:
  mlir::LogicalResult lowerOp(mlir::Operation *op);

  // ThreadPosition.cpp
  mlir::LogicalResult lowerProgramId(tile::ProgramIdOp op);
  mlir::LogicalResult lowerNumPrograms(tile::NumProgramsOp op);
  /// After an op of the top level: behind a loop with products, indices are read again.
  void forgetPosition(mlir::Operation *op);
  /// Before an op of the top level: lowers again what it needs from before that loop, if it is cheap.
  mlir::LogicalResult lowerAgain(mlir::Operation *op);

  mlir::LogicalResult lowerAlloc(tile_nv::AllocOp op);
  mlir::LogicalResult lowerSlot(tile_nv::SlotOp op);

  // ControlFlow.cpp
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> flatten(mlir::Operation *op,
                                                          mlir::ValueRange values);
  mlir::FailureOr<llvm::SmallVector<mlir::Type>> flattenTypes(mlir::Operation *op,
                                                              mlir::TypeRange types);
  void unflatten(mlir::Operation *op, mlir::ValueRange values, mlir::ValueRange flat);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> lowerInto(mlir::Block &from, mlir::Block &to);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp op);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp op);
  mlir::LogicalResult lowerWhile(mlir::scf::WhileOp op);
  mlir::LogicalResult lowerIfAny(tile::IfAnyOp op);

  // Dots.cpp
  mlir::LogicalResult lowerDot(tile::DotOp op);
  mlir::LogicalResult lowerDot(tile_nv::DotOp op);

  // SharedAccess.cpp
  mlir::LogicalResult lowerSharedLoad(tile_nv::LoadOp op);
  mlir::LogicalResult lowerSharedStore(tile_nv::StoreOp op);

  // AsyncCopy.cpp
  mlir::LogicalResult lowerCopyAsync(tile_nv::CopyAsyncOp op);
  mlir::LogicalResult lowerCommitGroup(tile_nv::CommitGroupOp op);
  mlir::LogicalResult lowerWaitGroup(tile_nv::WaitGroupOp op);

  // Barriers.cpp
  mlir::LogicalResult lowerBarrier(tile_nv::BarrierOp op);
  mlir::LogicalResult lowerBarrier(tile_nv::WarpBarrierOp op);

  // Views.cpp
  mlir::FailureOr<GlobalMemory> memoryOf(mlir::Operation *op, mlir::Value memref);
  mlir::LogicalResult lowerMemoryCast(mlir::memref::CastOp op);
  mlir::LogicalResult lowerMemoryDim(mlir::memref::DimOp op);
  mlir::LogicalResult lowerMemorySelect(mlir::arith::SelectOp op);
  mlir::LogicalResult lowerSubview(mlir::memref::SubViewOp op);
  void cutDimensions(GlobalView &view, const GlobalMemory &source, mlir::ValueRange indices,
                     llvm::ArrayRef<int64_t> keptDims, llvm::ArrayRef<int64_t> tableDims);
  mlir::LogicalResult lowerView(tile::ViewOp op);
  mlir::LogicalResult lowerGatherView(tile::GatherViewOp op);
  mlir::LogicalResult lowerScalarLoad(mlir::memref::LoadOp op);

  // Gather.cpp
  mlir::LogicalResult lowerGather(tile::GatherOp op);

  // GlobalAccess.cpp
  mlir::LogicalResult lowerLoad(tile::LoadOp op);
  mlir::LogicalResult lowerStore(tile::StoreOp op);

  // Elementwise.cpp, MathFunctions.cpp
  mlir::LogicalResult lowerElementwise(mlir::Operation *op);
  /// One element of the result of an elementwise op; null, and an error, if it has no lowering.
  mlir::Value lowerElement(mlir::Operation *op, mlir::ValueRange operands, mlir::Type result);

  // AffineTiles.cpp
  /// Lowers an op on integer tiles that count, if it is one.
  bool lowerAffine(mlir::Operation *op);
  bool compareAffine(mlir::arith::CmpIOp op, const AffineTile &x, const AffineTile &y);
  mlir::Type affineType(mlir::Type type);
  llvm::SmallVector<mlir::Value> materialize(const AffineTile &tile);
  mlir::LogicalResult lowerIota(tile::IotaOp op);

  // Reductions.cpp
  /// null stands for the neutral element.
  mlir::Value combine(tile::CombiningKind kind, mlir::Value x, mlir::Value y);
  mlir::Value neutral(tile::CombiningKind kind, mlir::Type type);
  llvm::SmallVector<mlir::Value> wideElements(mlir::Value tile);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  combineRegisters(mlir::Operation *op, tile::CombiningKind kind, mlir::Value input, unsigned along,
                   const layout::Layout &kept);
  mlir::LogicalResult lowerReduce(tile::ReduceOp op);
  mlir::LogicalResult lowerReduceInThread(tile_nv::ReduceInThreadOp op);
  mlir::LogicalResult lowerScan(tile::ScanOp op);

  // Shapes.cpp
  void setUniform(mlir::Value tile, mlir::Value element);
  /// Register r of `to` is register source[r] of `from`.
  void renameRegisters(mlir::Value from, mlir::Value to, llvm::ArrayRef<int64_t> source);
  mlir::LogicalResult lowerConstant(mlir::arith::ConstantOp op);
  /// A constant with different elements, from a global of the module.
  mlir::LogicalResult lowerTable(mlir::arith::ConstantOp op, mlir::DenseElementsAttr table);
  template <typename Op> mlir::LogicalResult lowerSplat(Op op);
  mlir::LogicalResult lowerExtract(mlir::tensor::ExtractOp op);
  mlir::LogicalResult lowerBroadcast(tile::BroadcastOp op);
  mlir::LogicalResult lowerTranspose(tile::TransposeOp op);
  mlir::LogicalResult lowerSlice(tile::SliceOp op);
  mlir::LogicalResult lowerConcat(tile::ConcatOp op);

  // Conversions.cpp
  mlir::LogicalResult lowerConvertLayout(tile::ConvertLayoutOp op);

  mlir::LLVM::LLVMFuncOp function;
  mlir::IRMapping scalars;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> tiles;
  llvm::DenseMap<mlir::Value, AffineTile> affineTiles;
  llvm::DenseMap<mlir::Value, GlobalMemory> memories;
  llvm::DenseMap<mlir::Value, GlobalView> views;
  llvm::DenseMap<mlir::Value, SharedBuffer> buffers;
  mlir::Value cachedTid, cachedShared;
  std::map<WarpFlags, mlir::Value> votes;

  mlir::Operation *lastLoop = nullptr;   ///< the last loop with products
  mlir::Operation *behindLoop = nullptr; ///< and what it was lowered to
  llvm::SmallPtrSet<mlir::Operation *, 16> loweredAgain;
};

} // namespace heddle

#endif // HEDDLE_LIB_CONVERSION_TILETONVVM_KERNELLOWERING_H
