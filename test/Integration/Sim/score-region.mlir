// Regions that rewrite scores, on the CPU by the formula in f64 and as kernels, and in the simulator of sm_80. ALiBi written as a region
// gives what the operand gives.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --kernels=reference --accumulate=f64 -o %t/reference.so
// RUN: heddle-compile %s --target=cpu,sim-sm_80 -o %t/m.so
// DEFINE: %{entry} =
// DEFINE: %{expected} =
// DEFINE: %{dims} =
// DEFINE: %{limit} = 1e-5
// DEFINE: %{check} = heddle-run %t/reference.so --entry %{expected} --random 8 %{dims} --output o=%t/o.npy && \
// DEFINE:   heddle-run %t/reference.so --entry %{entry} --random 8 %{dims} --verify o=%t/o.npy --rtol 1e-6 && \
// DEFINE:   heddle-run %t/m.so --entry %{entry} --random 8 %{dims} --target=cpu --verify o=%t/o.npy --rtol %{limit} && \
// DEFINE:   heddle-run %t/m.so --entry %{entry} --random 8 %{dims} --target=sim-sm_80 --verify o=%t/o.npy --rtol %{limit}

// Slopes 2^(-2 (h + 1)) of four heads; with more queries than keys some positions are negative.
// REDEFINE: %{entry} = region_alibi
// REDEFINE: %{expected} = alibi
// REDEFINE: %{dims} = --dim B=2 --dim L=70 --dim S=150
// RUN: %{check}
// REDEFINE: %{dims} = --dim B=1 --dim L=90 --dim S=40
// RUN: %{check}

// Relative positions in buckets, which batch, head and sign change.
// REDEFINE: %{entry} = relative
// REDEFINE: %{expected} = relative
// REDEFINE: %{dims} = --dim B=2 --dim L=100 --dim S=133
// RUN: %{check}
// REDEFINE: %{dims} = --dim B=3 --dim L=1 --dim S=70
// RUN: %{check}
// REDEFINE: %{entry} = half
// REDEFINE: %{expected} = half
// REDEFINE: %{dims} = --dim B=2 --dim L=100 --dim S=133
// REDEFINE: %{limit} = 2e-3
// RUN: %{check}

// The region comes behind the softcap and before the bias.
// REDEFINE: %{entry} = order
// REDEFINE: %{expected} = folded
// REDEFINE: %{limit} = 1e-5
// REDEFINE: %{dims} = --dim B=1 --dim L=33 --dim S=40
// RUN: %{check}

func.func @alibi(%q: tensor<?x?x4x32xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x32xf32> {heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x2x32xf32>) -> (tensor<?x?x4x32xf32> {heddle.name = "o"}) {
  %slopes = arith.constant dense<[0.25, 0.0625, 0.015625, 0.00390625]> : tensor<4xf32>
  %o = attn.attention %q, %k, %v alibi_slopes(%slopes : tensor<4xf32>) {causal}
      : (tensor<?x?x4x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) -> tensor<?x?x4x32xf32>
  return %o : tensor<?x?x4x32xf32>
}

func.func @region_alibi(%q: tensor<?x?x4x32xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x32xf32> {heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x2x32xf32>) -> (tensor<?x?x4x32xf32> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v {causal}
      : (tensor<?x?x4x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) -> tensor<?x?x4x32xf32>
      score(%s, %b, %h, %p, %j) {
    %one = arith.constant 1 : index
    %step = arith.constant -2.0 : f32
    %count = arith.addi %h, %one : index
    %countInt = arith.index_cast %count : index to i32
    %countFloat = arith.sitofp %countInt : i32 to f32
    %exponent = arith.mulf %countFloat, %step : f32
    %slope = math.exp2 %exponent : f32
    %d = arith.subi %p, %j : index
    %i = arith.index_cast %d : index to i32
    %x = arith.sitofp %i : i32 to f32
    %distance = math.absf %x : f32
    %penalty = arith.mulf %distance, %slope : f32
    %t = arith.subf %s, %penalty : f32
    attn.yield %t : f32
  }
  return %o : tensor<?x?x4x32xf32>
}

func.func @relative(%q: tensor<?x?x4x32xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x32xf32> {heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x2x32xf32>) -> (tensor<?x?x4x32xf32> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v {window = array<i64: 60, 9>, softcap = 4.0}
      : (tensor<?x?x4x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) -> tensor<?x?x4x32xf32>
      score(%s, %b, %h, %p, %j) {
    %zero = arith.constant 0 : index
    %width = arith.constant 7 : index
    %most = arith.constant 5 : index
    %small = arith.constant 0.25 : f32
    %d = arith.subi %p, %j : index
    %isAhead = arith.cmpi slt, %d, %zero : index
    %back = arith.maxsi %d, %zero : index
    %bucket = arith.divsi %back, %width : index
    %near = arith.minsi %bucket, %most : index
    %ofHead = arith.addi %h, %b : index
    %sum = arith.muli %near, %ofHead : index
    %sumInt = arith.index_cast %sum : index to i32
    %sumFloat = arith.sitofp %sumInt : i32 to f32
    %bias = arith.mulf %sumFloat, %small : f32
    %halved = arith.mulf %s, %small : f32
    %behind = arith.subf %s, %bias : f32
    %t = arith.select %isAhead, %halved, %behind : f32
    attn.yield %t : f32
  }
  return %o : tensor<?x?x4x32xf32>
}

// Scores from a half-wide data type; a region that uses the score more than once.
func.func @half(%q: tensor<?x?x4x64xf16> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x64xf16> {heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x2x64xf16>) -> (tensor<?x?x4x64xf16> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v {causal}
      : (tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x?x4x64xf16>
      score(%s, %b, %h, %p, %j) {
    %three = arith.constant 3 : index
    %tanh = math.tanh %s : f32
    %square = arith.mulf %tanh, %s : f32
    %rest = arith.remsi %j, %three : index
    %restInt = arith.index_cast %rest : index to i32
    %scale = arith.sitofp %restInt : i32 to f32
    %t = math.fma %square, %scale, %s : f32
    attn.yield %t : f32
  }
  return %o : tensor<?x?x4x64xf16>
}

func.func @order(%q: tensor<?x?x2x16xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x16xf32> {heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x2x16xf32>, %bias: tensor<1x2x1x?xf32> {heddle.dims = ["", "", "", "S"]}) -> (tensor<?x?x2x16xf32> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v bias(%bias : tensor<1x2x1x?xf32>) {causal, softcap = 1.5, scale = 2.0}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32>
      score(%s, %b, %h, %p, %j) {
    %half = arith.constant 0.5 : f32
    %t = arith.mulf %s, %half : f32
    attn.yield %t : f32
  }
  return %o : tensor<?x?x2x16xf32>
}

// The same without a region: 0.5 * 1.5 tanh(2 x / 1.5) = 0.75 tanh(x / 0.75).
func.func @folded(%q: tensor<?x?x2x16xf32> {heddle.dims = ["B", "L", "", ""]}, %k: tensor<?x?x2x16xf32> {heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x2x16xf32>, %bias: tensor<1x2x1x?xf32> {heddle.dims = ["", "", "", "S"]}) -> (tensor<?x?x2x16xf32> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v bias(%bias : tensor<1x2x1x?xf32>) {causal, softcap = 0.75, scale = 1.0}
      : (tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32>) -> tensor<?x?x2x16xf32>
  return %o : tensor<?x?x2x16xf32>
}
