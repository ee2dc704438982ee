//===- MatrixTest.cpp - products by mma.sync ------------------------------===//

#include "SimtProgram.h"

#include "heddle/Runtime/HalfFloat.h"

using namespace heddle::test;

namespace {

/// Copies a (16 x 16) and b (8 x 16, a column of the product a row) to shared memory, multiplies,
/// stores 16 x 8. `product` makes %d from the fragments %a (x4) and %b (x2).
std::string productKernel(const std::string &product) {
  return R"mlir(
    llvm.func @k(%ga: !llvm.ptr<1>, %gb: !llvm.ptr<1>, %gd: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %lane = nvvm.read.ptx.sreg.tid.x : i32
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %c2 = llvm.mlir.constant(2 : i32) : i32
      %c3 = llvm.mlir.constant(3 : i32) : i32
      %c4 = llvm.mlir.constant(4 : i32) : i32
      %c8 = llvm.mlir.constant(8 : i32) : i32
      %c15 = llvm.mlir.constant(15 : i32) : i32
      %c16 = llvm.mlir.constant(16 : i32) : i32
      %all = llvm.mlir.constant(-1 : i32) : i32
      %shared = llvm.mlir.addressof @heddle_shared : !llvm.ptr<3>
      %sb = llvm.getelementptr %shared[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      // 32 lanes copy a; 16 copy b, the others zeros to where nobody reads.
      %at = llvm.mul %lane, %c16 : i32
      %to_a = llvm.getelementptr %shared[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %from_a = llvm.getelementptr %ga[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
      nvvm.cp.async.shared.global %to_a, %from_a, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      %has_b = llvm.icmp "ult" %lane, %c16 : i32
      %bytes = llvm.select %has_b, %c16, %c0 : i1, i32
      %to_b = llvm.getelementptr %sb[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %from_b = llvm.getelementptr %gb[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
      nvvm.cp.async.shared.global %to_b, %from_b, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 0
      nvvm.bar.warp.sync %all : i32
      // Rows of 32 bytes: lane = row + 16 * half of the columns.
      %row = llvm.and %lane, %c15 : i32
      %half = llvm.lshr %lane, %c4 : i32
      %row_at = llvm.mul %row, %c2 : i32
      %piece = llvm.add %row_at, %half : i32
      %piece_at = llvm.mul %piece, %c16 : i32
      %pa = llvm.getelementptr %shared[%piece_at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %a = nvvm.ldmatrix %pa {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
      %c7 = llvm.mlir.constant(7 : i32) : i32
      %row_b = llvm.and %lane, %c7 : i32
      %half_b = llvm.lshr %row, %c3 : i32
      %row_b_at = llvm.mul %row_b, %c2 : i32
      %piece_b = llvm.add %row_b_at, %half_b : i32
      %piece_b_at = llvm.mul %piece_b, %c16 : i32
      %pb = llvm.getelementptr %sb[%piece_b_at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %b = nvvm.ldmatrix %pb {num = 2 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
      %a0 = llvm.extractvalue %a[0] : !llvm.struct<(i32, i32, i32, i32)>
      %a1 = llvm.extractvalue %a[1] : !llvm.struct<(i32, i32, i32, i32)>
      %a2 = llvm.extractvalue %a[2] : !llvm.struct<(i32, i32, i32, i32)>
      %a3 = llvm.extractvalue %a[3] : !llvm.struct<(i32, i32, i32, i32)>
      %b0 = llvm.extractvalue %b[0] : !llvm.struct<(i32, i32)>
      %b1 = llvm.extractvalue %b[1] : !llvm.struct<(i32, i32)>
      %z = llvm.mlir.constant(0.0 : f32) : f32
)mlir" + product +
         R"mlir(
      // Row lane / 4 and 8 more, columns 2 * (lane % 4) and the next.
      %group = llvm.lshr %lane, %c2 : i32
      %thread = llvm.and %lane, %c3 : i32
      %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
      %d1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
      %d2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
      %d3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
      %poison = llvm.mlir.poison : vector<2xf32>
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %low0 = llvm.insertelement %d0, %poison[%c0 : i32] : vector<2xf32>
      %low = llvm.insertelement %d1, %low0[%c1 : i32] : vector<2xf32>
      %high0 = llvm.insertelement %d2, %poison[%c0 : i32] : vector<2xf32>
      %high = llvm.insertelement %d3, %high0[%c1 : i32] : vector<2xf32>
      %line = llvm.mul %group, %c4 : i32
      %pair = llvm.add %line, %thread : i32
      %to = llvm.getelementptr %gd[%pair] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2xf32>
      %to8 = llvm.getelementptr %to[32] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<2xf32>
      llvm.store %low, %to : vector<2xf32>, !llvm.ptr<1>
      llvm.store %high, %to8 : vector<2xf32>, !llvm.ptr<1>
      llvm.return
    })mlir";
}

const char *const halfProduct = R"mlir(
      %ha0 = llvm.bitcast %a0 : i32 to vector<2xf16>
      %ha1 = llvm.bitcast %a1 : i32 to vector<2xf16>
      %ha2 = llvm.bitcast %a2 : i32 to vector<2xf16>
      %ha3 = llvm.bitcast %a3 : i32 to vector<2xf16>
      %hb0 = llvm.bitcast %b0 : i32 to vector<2xf16>
      %hb1 = llvm.bitcast %b1 : i32 to vector<2xf16>
      %d = nvvm.mma.sync A[%ha0, %ha1, %ha2, %ha3] B[%hb0, %hb1] C[%z, %z, %z, %z]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}
        : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
)mlir";

const char *const bfloatProduct = R"mlir(
      %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%z, %z, %z, %z]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>,
         multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>}
        : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
)mlir";

template <typename ToBits> void checkProduct(const char *product, ToBits toBits) {
  SimtProgram program(productKernel(product));
  std::vector<uint16_t> a(16 * 16), b(8 * 16);
  std::vector<float> d(16 * 8), expected(16 * 8);
  auto value = [](size_t i) { return float(int(i * 37 % 23) - 11); };
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = toBits(value(i));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = toBits(value(i + 5));
  for (size_t m = 0; m < 16; ++m)
    for (size_t n = 0; n < 8; ++n)
      for (size_t k = 0; k < 16; ++k)
        expected[m * 8 + n] += value(m * 16 + k) * value(n * 16 + k + 5);
  for (uint64_t seed : {0, 1, 2}) {
    SimtResult result = program.run({1, 32, 1024, seed}, {{"a", a}, {"b", b}, {"d", d, true}});
    result.expectClean();
    EXPECT_EQ(d, expected);
    EXPECT_EQ(result.total.mma_flops, 2u * 16 * 8 * 16);
    EXPECT_EQ(result.instructions[HEDDLE_SIM_MMA], 1u);
    EXPECT_EQ(result.instructions[HEDDLE_SIM_LDMATRIX], 2u);
    // b takes 16 of 32 lanes' copies from memory.
    EXPECT_EQ(result.total.global_load_bytes, 512u + 256);
    EXPECT_EQ(result.total.global_load_sectors, (512u + 256) / 32);
    EXPECT_EQ(result.total.shared_load_bytes, 4u * 128 + 2 * 128);
    // Rows of 32 bytes: rows r and r + 4 of each 8 x 8 matrix share their banks. The copies don't.
    EXPECT_EQ(result.total.shared_conflicts, 4u + 2);
  }
}

TEST(Matrix, ProductOfHalves) { checkProduct(halfProduct, heddle::floatToFloat16); }

TEST(Matrix, ProductOfBFloats) { checkProduct(bfloatProduct, heddle::floatToBFloat16); }

TEST(Matrix, ProductOfTF32) {
  // Fragments straight from global memory; rounded to tf32 on the way.
  SimtProgram program(R"mlir(
    llvm.func @k(%ga: !llvm.ptr<1>, %gb: !llvm.ptr<1>, %gd: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %lane = nvvm.read.ptx.sreg.tid.x : i32
      %c2 = llvm.mlir.constant(2 : i32) : i32
      %c3 = llvm.mlir.constant(3 : i32) : i32
      %g = llvm.lshr %lane, %c2 : i32
      %t = llvm.and %lane, %c3 : i32
      %pa0 = llvm.getelementptr %ga[%g, %t] : (!llvm.ptr<1>, i32, i32) -> !llvm.ptr<1>, !llvm.array<8 x f32>
      %pa1 = llvm.getelementptr %pa0[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %pa2 = llvm.getelementptr %pa0[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %pa3 = llvm.getelementptr %pa0[68] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %pb0 = llvm.getelementptr %gb[%g, %t] : (!llvm.ptr<1>, i32, i32) -> !llvm.ptr<1>, !llvm.array<8 x f32>
      %pb1 = llvm.getelementptr %pb0[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %fa0 = llvm.load %pa0 : !llvm.ptr<1> -> f32
      %fa1 = llvm.load %pa1 : !llvm.ptr<1> -> f32
      %fa2 = llvm.load %pa2 : !llvm.ptr<1> -> f32
      %fa3 = llvm.load %pa3 : !llvm.ptr<1> -> f32
      %fb0 = llvm.load %pb0 : !llvm.ptr<1> -> f32
      %fb1 = llvm.load %pb1 : !llvm.ptr<1> -> f32
      %a0 = nvvm.convert.float.to.tf32 %fa0 {rnd = #nvvm.fp_rnd_mode<rna>}
      %a1 = nvvm.convert.float.to.tf32 %fa1 {rnd = #nvvm.fp_rnd_mode<rna>}
      %a2 = nvvm.convert.float.to.tf32 %fa2 {rnd = #nvvm.fp_rnd_mode<rna>}
      %a3 = nvvm.convert.float.to.tf32 %fa3 {rnd = #nvvm.fp_rnd_mode<rna>}
      %b0 = nvvm.convert.float.to.tf32 %fb0 {rnd = #nvvm.fp_rnd_mode<rna>}
      %b1 = nvvm.convert.float.to.tf32 %fb1 {rnd = #nvvm.fp_rnd_mode<rna>}
      %one = llvm.mlir.constant(1.0 : f32) : f32
      %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%one, %one, %one, %one]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>,
         multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>}
        : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      %column = llvm.mul %t, %c2 : i32
      %to = llvm.getelementptr %gd[%g, %column] : (!llvm.ptr<1>, i32, i32) -> !llvm.ptr<1>, !llvm.array<8 x f32>
      %to1 = llvm.getelementptr %to[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %to2 = llvm.getelementptr %to[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %to3 = llvm.getelementptr %to[65] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
      %d1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
      %d2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
      %d3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
      llvm.store %d0, %to : f32, !llvm.ptr<1>
      llvm.store %d1, %to1 : f32, !llvm.ptr<1>
      llvm.store %d2, %to2 : f32, !llvm.ptr<1>
      llvm.store %d3, %to3 : f32, !llvm.ptr<1>
      llvm.return
    })mlir");
  std::vector<float> a(16 * 8), b(8 * 8), d(16 * 8), expected(16 * 8, 1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(int(i * 11 % 13) - 6);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = float(int(i * 7 % 9) - 4);
  for (size_t m = 0; m < 16; ++m)
    for (size_t n = 0; n < 8; ++n)
      for (size_t k = 0; k < 8; ++k)
        expected[m * 8 + n] += a[m * 8 + k] * b[n * 8 + k];
  SimtResult result = program.run({1, 32}, {{"a", a}, {"b", b}, {"d", d, true}});
  result.expectClean();
  EXPECT_EQ(d, expected);
  EXPECT_EQ(result.total.mma_flops, 2u * 16 * 8 * 8);
}

} // namespace
