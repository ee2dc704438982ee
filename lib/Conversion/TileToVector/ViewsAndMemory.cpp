//===- ViewsAndMemory.cpp - views, loads and stores -----------------------===//
//
// Where the columns of a view are contiguous in memory, a row is loaded and stored as vectors: under a mask if it crosses the edge
// of the view, not at all if it is outside. Other views go element by element. Coordinates are index values, 64 bits, and may be
// negative: one unsigned comparison checks both ends.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace heddle {

bool TileView::hasVectors() const {
  auto type = cast<MemRefType>(source.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return columnDim >= 0 && columnDim + 1 == type.getRank() &&
         succeeded(type.getStridesAndOffset(strides, offset)) && strides.back() == 1 &&
         type.getElementTypeBitWidth() % 8 == 0;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

void TileLowering::lowerView(tile::ViewOp op) {
  TileView view;
  view.source = scalar(op.getSource());
  int64_t rank = op.getSource().getType().getRank();
  ArrayRef<int64_t> kept = op.getKeptDims();
  auto fixed = op.getIndices().begin();
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(kept, dim)) {
      view.indices.push_back(nullptr);
      view.extents.push_back(b.createOrFold<memref::DimOp>(view.source, dim));
    } else {
      view.indices.push_back(scalar(*fixed++));
    }
  }
  view.columnDim = kept.back();
  if (kept.size() == 2)
    view.rowDim = kept.front();
  views[op.getView()] = view;
}

void TileLowering::lowerGatherView(tile::GatherViewOp op) {
  TileView view;
  view.source = scalar(op.getSource());
  view.tableDim = op.getTableDim();
  view.isPaged = op.getPaged();
  Value table = op.getTable();
  Value entries;
  if (auto found = views.find(table); found != views.end()) {
    view.table = table;
    entries = found->second.extents[0];
  } else {
    view.table = scalar(table);
    entries = b.createOrFold<memref::DimOp>(view.table, 0);
  }
  if (op.getRows())
    entries = scalar(op.getRows());
  else if (view.isPaged)
    entries = math.mul(entries, b.createOrFold<memref::DimOp>(view.source, view.tableDim + 1));
  view.extents.push_back(entries);

  int64_t rank = op.getSource().getType().getRank();
  auto fixed = op.getIndices().begin();
  for (int64_t dim = 0; dim < rank; ++dim) {
    bool isKept = llvm::is_contained(op.getKeptDims(), dim);
    bool isTable = dim == view.tableDim || (view.isPaged && dim == view.tableDim + 1);
    view.indices.push_back(isKept || isTable ? Value() : scalar(*fixed++));
    if (isKept) {
      view.columnDim = dim;
      view.extents.push_back(b.createOrFold<memref::DimOp>(view.source, dim));
    }
  }
  views[op.getView()] = view;
}

Value TileLowering::tableAt(const TileView &view, Value index) {
  Value entry;
  if (auto found = views.find(view.table); found != views.end()) {
    const TileView &table = found->second;
    Value inner = tableEntry(table, index, nullptr).first;
    entry = memref::LoadOp::create(b, table.source, address(table, index, inner, index));
  } else {
    entry = memref::LoadOp::create(b, view.table, index);
  }
  return arith::IndexCastOp::create(b, b.getIndexType(), entry);
}

std::pair<Value, Value> TileLowering::tableEntry(const TileView &view, Value row, Value isInside) {
  if (view.tableDim < 0)
    return {};
  auto load = [&]() -> Value {
    Value index = row;
    if (view.isPaged)
      index = math.floorDiv(row, b.createOrFold<memref::DimOp>(view.source, view.tableDim + 1));
    return tableAt(view, index);
  };
  Value entry;
  if (isInside) {
    auto branch = scf::IfOp::create(b, b.getIndexType(), isInside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, load());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, math.constant(-1));
    entry = branch.getResult(0);
  } else {
    entry = load();
  }
  return {entry, math.lessEqual(math.constant(0), entry)};
}

SmallVector<Value> TileLowering::address(const TileView &view, Value row, Value entry,
                                         Value column) {
  SmallVector<Value> indices(view.indices);
  if (view.rowDim >= 0)
    indices[view.rowDim] = row;
  if (view.columnDim >= 0)
    indices[view.columnDim] = column;
  if (view.tableDim >= 0) {
    indices[view.tableDim] = entry;
    if (view.isPaged)
      indices[view.tableDim + 1] =
          math.rem(row, b.createOrFold<memref::DimOp>(view.source, view.tableDim + 1));
  }
  return indices;
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

Value TileLowering::inside(Value coordinate, Value extent) {
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, coordinate, extent);
}

Value TileLowering::allInside(Value first, int64_t count, Value extent) {
  std::optional<int64_t> start = getConstantIntValue(first), end = getConstantIntValue(extent);
  if (start && end && *start >= 0 && *start + count <= *end)
    return nullptr;
  Value low = math.lessEqual(math.constant(0), first);
  Value high = math.lessEqual(math.add(first, math.constant(count)), extent);
  return b.createOrFold<arith::AndIOp>(low, high);
}

Value TileLowering::tailMask(int64_t valid) {
  SmallVector<bool> lanes(target.lanes);
  std::fill_n(lanes.begin(), valid, true);
  return arith::ConstantOp::create(b, DenseElementsAttr::get(vectorOf(b.getI1Type()), lanes));
}

/// The lanes of a vector at `column` that are inside of the view, and among the first `valid`.
Value TileLowering::insideMask(Value column, Value extent, int64_t valid) {
  VectorType type = vectorOf(b.getI1Type());
  Value zero = math.constant(0);
  Value end = math.min(math.max(math.sub(extent, column), zero), math.constant(valid));
  Value mask = vector::CreateMaskOp::create(b, type, end);
  if (std::optional<int64_t> constant = getConstantIntValue(column); constant && *constant >= 0)
    return mask;
  Value begin = math.min(math.max(math.sub(zero, column), zero), math.constant(target.lanes));
  Value before = vector::CreateMaskOp::create(b, type, begin);
  Value all = tailMask(target.lanes);
  return arith::AndIOp::create(b, mask, arith::XOrIOp::create(b, before, all));
}

/// Calls `inBounds(address, row, column)` for the elements of a tile that are inside of the view, and `outside` for the others.
void TileLowering::eachElement(const TileView &view, ValueRange indices, TileShape shape,
                               bool isChecked,
                               function_ref<void(ValueRange, Value, Value)> inBounds,
                               function_ref<void(Value, Value)> outside) {
  eachRow(shape.rows, [&](Value r) {
    buildFor(b, math.constant(0), math.constant(shape.columns), math.constant(1), [&](Value c) {
      Value row, column, isInside;
      if (indices.size() == 2)
        row = math.add(indices[0], r);
      else if (view.columnDim < 0)
        row = math.add(indices[0], c);
      if (view.columnDim >= 0)
        column = math.add(indices.back(), c);
      if (isChecked && row)
        isInside = inside(row, view.extents.front());
      if (isChecked && column) {
        Value columnInside = inside(column, view.extents.back());
        isInside = isInside ? b.createOrFold<arith::AndIOp>(isInside, columnInside) : columnInside;
      }
      auto [entry, isNamed] = tableEntry(view, row, isInside);
      if (isChecked && isNamed)
        isInside = isNamed;
      auto access = [&, entry = entry] { inBounds(address(view, row, entry, column), r, c); };
      if (!isInside)
        access();
      else if (outside)
        buildIf(b, isInside, access, [&] { outside(r, c); });
      else
        buildIf(b, isInside, access);
    });
  });
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

void TileLowering::loadRow(const MatrixRow &row, Value firstColumn, Value extent, int64_t columns,
                           Value buffer, Value bufferRow, Value pad) {
  Type element = getElementTypeOrSelf(row.source.getType());
  VectorType type = vectorOf(element);
  Value otherwise = pad ? Value(vector::BroadcastOp::create(b, type, pad))
                        : Value(arith::ConstantOp::create(b, b.getZeroAttr(type)));
  // Whole registers of 16-bit elements.
  int64_t wide = 2 * target.lanes;
  bool isWide =
      element.getIntOrFloatBitWidth() == 16 && storageOf(element) == element && columns % wide == 0;
  auto load = [&](bool isMasked) {
    if (isWide && !isMasked) {
      auto wideType = VectorType::get({wide}, element);
      eachVector(
          columns, {},
          [&](Value column, int64_t, MutableArrayRef<Value>) {
            SmallVector<Value> from(row.first);
            from[row.columnDim] = math.add(from[row.columnDim], column);
            Value loaded = vector::LoadOp::create(b, wideType, row.source, from);
            vector::StoreOp::create(b, loaded, buffer, ValueRange{bufferRow, column});
          },
          wide);
      return;
    }
    eachVector(columns, {}, [&](Value column, int64_t valid, MutableArrayRef<Value>) {
      SmallVector<Value> from(row.first);
      from[row.columnDim] = math.add(from[row.columnDim], column);
      Value loaded;
      if (isMasked)
        loaded = vector::MaskedLoadOp::create(
            b, type, row.source, from, insideMask(math.add(firstColumn, column), extent, valid),
            otherwise);
      else if (valid < target.lanes)
        loaded =
            vector::MaskedLoadOp::create(b, type, row.source, from, tailMask(valid), otherwise);
      else
        loaded = vector::LoadOp::create(b, type, row.source, from);
      vector::StoreOp::create(b, toStorage(loaded, element), buffer, ValueRange{bufferRow, column});
    });
  };
  Value whole = pad ? allInside(firstColumn, columns, extent) : Value();
  if (!whole)
    return load(/*isMasked=*/false);
  buildIf(b, whole, [&] { load(false); }, [&] { load(true); });
}

SmallVector<Value> TileLowering::rowAhead(tile::LoadOp load, Value row) {
  if (!load.getAhead() || !views.lookup(load.getView()).hasVectors())
    return {};
  return rowAhead(load, row, *load.getAhead());
}

SmallVector<Value> TileLowering::rowAhead(tile::LoadOp load, Value row, int64_t distance) {
  const TileView view = views.lookup(load.getView());
  // Past the end of a table there may be no memory.
  Value last = math.sub(view.extents.front(), math.constant(1));
  Value ahead = math.min(math.add(row, math.constant(distance)), last);
  Value entry = tableEntry(view, ahead, nullptr).first;
  if (entry)
    entry = math.max(entry, math.constant(0));
  return address(view, ahead, entry, scalar(load.getIndices().back()));
}

void TileLowering::fetch(Value source, ArrayRef<Value> first, unsigned columnDim, Value column,
                         int64_t vectorNumber) {
  constexpr int64_t lineBits = 512;
  unsigned width = getElementTypeOrSelf(source.getType()).getIntOrFloatBitWidth();
  if (vectorNumber * target.lanes * width % lineBits != 0)
    return;
  SmallVector<Value> indices(first);
  indices[columnDim] = math.add(indices[columnDim], column);
  // To the second-level cache: what is fetched a block ahead would push out of the first what is used before.
  constexpr unsigned secondLevel = 2;
  memref::PrefetchOp::create(b, source, indices, /*isWrite=*/false, secondLevel,
                             /*isDataCache=*/true);
}

/// The argument of the kernel that a view or a part of memory lies in; null if that is not known.
static Value rootOf(Value memory) {
  while (Operation *op = memory.getDefiningOp()) {
    if (auto view = dyn_cast<tile::ViewOp>(op))
      memory = view.getSource();
    else if (auto view = dyn_cast<tile::GatherViewOp>(op))
      memory = view.getSource();
    else if (auto part = dyn_cast<ViewLikeOpInterface>(op))
      memory = part.getViewSource();
    else
      return nullptr;
  }
  return memory;
}

/// A product of few rows whose sums start from what is in memory, and end there: load, elementwise ops, product, store. What else is read
/// in between lies in other arguments, which don't overlap one that is written.
tile::StoreOp TileLowering::storeInPlace(tile::LoadOp load) {
  const TileView view = views.lookup(load.getView());
  RankedTensorType type = load.getType();
  bool isWhole = llvm::all_of(load.getIndices(),
                              [&](Value index) { return isConstantIntValue(scalar(index), 0); });
  if (load.getPad() || view.tableDim >= 0 || view.rowDim != 0 || view.columnDim != 1 || !isWhole ||
      !view.hasVectors() || type.getRank() != 2 ||
      cast<MemRefType>(view.source.getType()).getShape() != type.getShape() ||
      storageOf(type.getElementType()) != type.getElementType() ||
      type.getDimSize(1) % target.lanes != 0)
    return nullptr;
  Value value = load.getResult();
  tile::DotOp dot;
  while (!dot) {
    if (!value.hasOneUse() || value.getUsers().begin()->getBlock() != load->getBlock())
      return nullptr;
    OpOperand &use = *value.use_begin();
    dot = dyn_cast<tile::DotOp>(use.getOwner());
    if (dot && &use != &dot.getAccMutable())
      return nullptr;
    if (!dot && !(isElementwise(use.getOwner()) && isVirtual(use.getOwner()->getResult(0))))
      return nullptr;
    value = use.getOwner()->getResult(0);
  }
  auto store = value.hasOneUse() ? dyn_cast<tile::StoreOp>(*value.user_begin()) : nullptr;
  if (dot.getType().getDimSize(0) > fewRows || !store || store->getBlock() != load->getBlock() ||
      store.getView() != load.getView() || store.getIndices() != load.getIndices() ||
      value.getType() != type)
    return nullptr;
  Value root = rootOf(load.getView());
  auto mayRead = [&](Value memory) {
    Value other = rootOf(memory);
    return !root || !other || other == root;
  };
  // Factors without a buffer are read when other rows of the result are there already.
  for (Value factor : {dot.getA(), dot.getB()})
    if (auto other = factor.getDefiningOp<tile::LoadOp>();
        other && !buffers.contains(factor) && mayRead(other.getView()))
      return nullptr;
  for (Operation *op = load->getNextNode(); op != store; op = op->getNextNode()) {
    if (auto other = dyn_cast<tile::LoadOp>(op); other && !mayRead(other.getView()))
      continue;
    if (auto other = dyn_cast<memref::LoadOp>(op); other && !mayRead(other.getMemRef()))
      continue;
    if (!isMemoryEffectFree(op))
      return nullptr;
  }
  return store;
}

void TileLowering::lowerLoad(tile::LoadOp op) {
  preparePageRows(op);
  if (isDirect(op))
    return;
  if (tile::StoreOp store = storeInPlace(op)) {
    buffers[op.getResult()] = inPlace[store.getTile()] = views.lookup(op.getView()).source;
    lowered.insert(store);
    return;
  }
  const TileView view = views.lookup(op.getView());
  RankedTensorType type = tileType(op.getResult());
  Type element = type.getElementType();
  TileShape shape = shapeOf(type);
  Value buffer = bind(op.getResult());
  Value pad = op.getPad() ? scalar(op.getPad()) : Value();
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(scalar(index));

  if (!view.hasVectors()) {
    eachElement(
        view, indices, shape, /*isChecked=*/pad != nullptr,
        [&](ValueRange from, Value r, Value c) {
          Value loaded = memref::LoadOp::create(b, view.source, from);
          memref::StoreOp::create(b, toStorage(loaded, element), buffer, ValueRange{r, c});
        },
        [&](Value r, Value c) {
          memref::StoreOp::create(b, toStorage(pad, element), buffer, ValueRange{r, c});
        });
    return;
  }
  bool hasRows = type.getRank() == 2;
  bool checksRows = pad && hasRows && allInside(indices[0], shape.rows, view.extents[0]);
  auto loadTo = [&](Value r, const MatrixRow &from) {
    if (!from.ahead.empty())
      for (int64_t column = 0; column < shape.columns; column += target.lanes)
        fetch(from.source, from.ahead, from.columnDim, math.constant(column),
              column / target.lanes);
    loadRow(from, indices.back(), view.extents.back(), shape.columns, buffer, r, pad);
  };
  eachRow(shape.rows, [&](Value r) {
    if (pageRows.contains(op.getResult()))
      return loadTo(r, rowInMemory(op, r));
    Value row = hasRows ? math.add(indices[0], r) : Value();
    Value isInside = checksRows ? inside(row, view.extents[0]) : Value();
    auto [entry, isNamed] = tableEntry(view, row, isInside);
    if (pad && isNamed)
      isInside = isNamed;
    auto load = [&, entry = entry] {
      MatrixRow from{view.source, address(view, row, entry, indices.back()),
                     unsigned(view.columnDim)};
      if (hasRows)
        from.ahead = rowAhead(op, row);
      loadTo(r, from);
    };
    if (!isInside)
      return load();
    buildIf(b, isInside, load, [&] {
      Value none =
          vector::BroadcastOp::create(b, vectorOf(storageOf(element)), toStorage(pad, element));
      eachVector(shape.columns, {}, [&](Value column, int64_t, MutableArrayRef<Value>) {
        vector::StoreOp::create(b, none, buffer, ValueRange{r, column});
      });
    });
  });
}

void TileLowering::lowerStore(tile::StoreOp op) {
  const TileView view = views.lookup(op.getView());
  Value tile = op.getTile();
  RankedTensorType type = tileType(tile);
  Type element = type.getElementType();
  TileShape shape = shapeOf(type);
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(scalar(index));

  if (!view.hasVectors()) {
    Value buffer = bufferOf(tile);
    eachElement(
        view, indices, shape, /*isChecked=*/true,
        [&](ValueRange to, Value r, Value c) {
          Value stored = memref::LoadOp::create(b, buffer, ValueRange{r, c});
          memref::StoreOp::create(b, fromStorage(stored, element), view.source, to);
        },
        nullptr);
    return;
  }
  bool hasRows = type.getRank() == 2;
  Value extent = view.extents.back();
  bool checksRows = hasRows && allInside(indices[0], shape.rows, view.extents[0]);
  Value wholeRow = allInside(indices.back(), shape.columns, extent);
  eachRow(shape.rows, [&](Value r) {
    Value row = hasRows ? math.add(indices[0], r) : Value();
    Value isInside = checksRows ? inside(row, view.extents[0]) : Value();
    auto [entry, isNamed] = tableEntry(view, row, isInside);
    if (isNamed)
      isInside = isNamed;
    auto store = [&, entry = entry] {
      eachVector(shape.columns, {}, [&](Value column, int64_t valid, MutableArrayRef<Value>) {
        TilePoint point{r, column, valid};
        Value value = eval(tile, point);
        Value at = math.add(indices.back(), column);
        SmallVector<Value> to = address(view, row, entry, at);
        auto storeMasked = [&](Value mask) {
          vector::MaskedStoreOp::create(b, view.source, to, mask, value);
        };
        auto storeWhole = [&] {
          if (valid < target.lanes)
            storeMasked(tailMask(valid));
          else
            vector::StoreOp::create(b, value, view.source, to);
        };
        if (!wholeRow)
          return storeWhole();
        buildIf(b, wholeRow, storeWhole, [&] { storeMasked(insideMask(at, extent, valid)); });
      });
    };
    if (!isInside)
      return store();
    buildIf(b, isInside, store);
  });
}

} // namespace heddle
