//===- AttnDialect.td - the attn dialect and its operand types -----------===//

#ifndef HEDDLE_ATTN_DIALECT_TD
#define HEDDLE_ATTN_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::heddle::attn";
  let summary = "The parts of a Transformer block as whole-tensor operations";
  let description = [{
    Every operation takes and returns tensors by value. Batch and sequence
    lengths may be dynamic. Conventions that hold for all operations:

    * Tensors of heads are `[batch, sequence, heads, dim]`.
    * Arithmetic inside an operation is f32, or f64 where the data are f64;
      the result is rounded once, to the element type of the result.
    * A dynamic dimension agrees with every extent. Extents that differ at run
      time are reported by the compiled entry before anything is computed.

    Projections, residual additions and reshapes around these operations are
    `linalg`, `arith` and `tensor` operations.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types of operands
//===----------------------------------------------------------------------===//

def Attn_Float : AnyTypeOf<[F16, BF16, F32, F64]>;
def Attn_Int : AnyTypeOf<[I32, I64]>;

/// A tensor of floating-point values of one rank.
class Attn_FloatTensor<int rank>
    : TensorRankOf<[F16, BF16, F32, F64], [rank]>;

/// Any rank from 1 to 8, so that normalised and elementwise operands need no
/// reshape.
def Attn_FloatRows
    : TensorRankOf<[F16, BF16, F32, F64], [1, 2, 3, 4, 5, 6, 7, 8]>;

/// One length or start per sequence.
def Attn_Lengths : TensorRankOf<[I32, I64], [1]>;

/// What a score region uses from outside.
def Attn_Capture
    : AnyTypeOf<[F32, I1, I32, I64, Index,
                 TensorRankOf<[F32, F16, BF16, I1, I32, I64], [1, 2, 3, 4, 5, 6, 7, 8]>]>;

/// The pages of each sequence, in order of position.
def Attn_BlockTable : TensorRankOf<[I32, I64], [2]>;

//===----------------------------------------------------------------------===//
// Base classes
//===----------------------------------------------------------------------===//

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

/// An operation that only computes tensors.
class Attn_TensorOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                                  ["reifyResultShapes"]>],
        traits)> {
  let hasVerifier = 1;
}

#endif // HEDDLE_ATTN_DIALECT_TD
