//===- Precompiled.h - the precompiled header of all code over MLIR ----===//
//
// Holds what is slow to parse and seldom changes, and the dialects, which nearly all of it includes. Every source still includes what it uses, so that it also
// compiles without this header.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_SUPPORT_PRECOMPILED_H
#define HEDDLE_SUPPORT_PRECOMPILED_H

#include "heddle/Dialect/Attn/Attn.h"
#include "heddle/Dialect/Tile/Tile.h"
#include "heddle/Dialect/TileNV/TileNV.h"
#include "heddle/TensorIO/StrictJson.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#endif // HEDDLE_SUPPORT_PRECOMPILED_H
