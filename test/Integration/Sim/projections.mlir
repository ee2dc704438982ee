// Projections whose operands are not as a checkpoint has them: by formulas, on the CPU and in the simulator.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --kernels=reference --cpu-variants=avx2 -o %t/reference.so
// RUN: heddle-compile %s --target=cpu,sim-sm_80 -o %t/m.so
// DEFINE: %{entry} =
// DEFINE: %{is} = heddle-run %t/reference.so --entry %{entry} --random 3 --dim d0=37 --output result0=%t/r.npy && \
// DEFINE:   heddle-run %t/m.so --entry %{entry} --random 3 --dim d0=37 --verify result0=%t/r.npy --rtol 1e-3 && \
// DEFINE:   heddle-run %t/m.so --entry %{entry} --random 3 --dim d0=37 --verify result0=%t/r.npy --rtol 1e-3 --target=sim-sm_80

#x = affine_map<(r, o, i) -> (r, i)>
#w = affine_map<(r, o, i) -> (o, i)>
#y = affine_map<(r, o, i) -> (r, o)>

// Weights of two types beside each other.
// REDEFINE: %{entry} = types_of_weights
// RUN: %{is}
func.func @types_of_weights(%x: tensor<?x96xf16>, %a: tensor<80x96xf16> {heddle.role = "weight"}, %b: tensor<80x96xbf16> {heddle.role = "weight"}) -> tensor<?x80xf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x96xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x80xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x80xf32>) -> tensor<?x80xf32>
  %g = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %a : tensor<?x96xf16>, tensor<80x96xf16>) outs(%z : tensor<?x80xf32>) -> tensor<?x80xf32>
  %u = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %b : tensor<?x96xf16>, tensor<80x96xbf16>) outs(%z : tensor<?x80xf32>) -> tensor<?x80xf32>
  %g16 = arith.truncf %g : tensor<?x80xf32> to tensor<?x80xf16>
  %u16 = arith.truncf %u : tensor<?x80xf32> to tensor<?x80xf16>
  %r = attn.glu swiglu %g16, %u16 : tensor<?x80xf16>
  return %r : tensor<?x80xf16>
}

// The same behind a norm, the type that is not x's first.
// REDEFINE: %{entry} = types_behind_norm
// RUN: %{is}
func.func @types_behind_norm(%x: tensor<?x96xf16>, %norm: tensor<96xf32> {heddle.role = "weight"}, %a: tensor<80x96xbf16> {heddle.role = "weight"}, %b: tensor<80x96xf16> {heddle.role = "weight"}) -> tensor<?x80xf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x96xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x80xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x80xf32>) -> tensor<?x80xf32>
  %h = attn.rms_norm %x, %norm {eps = 1.0e-5 : f64} : tensor<?x96xf16>, tensor<96xf32>
  %g = linalg.contract indexing_maps = [#x, #w, #y] ins(%h, %a : tensor<?x96xf16>, tensor<80x96xbf16>) outs(%z : tensor<?x80xf32>) -> tensor<?x80xf32>
  %u = linalg.contract indexing_maps = [#x, #w, #y] ins(%h, %b : tensor<?x96xf16>, tensor<80x96xf16>) outs(%z : tensor<?x80xf32>) -> tensor<?x80xf32>
  %g16 = arith.truncf %g : tensor<?x80xf32> to tensor<?x80xf16>
  %u16 = arith.truncf %u : tensor<?x80xf32> to tensor<?x80xf16>
  %r = attn.glu swiglu %g16, %u16 : tensor<?x80xf16>
  return %r : tensor<?x80xf16>
}

// Columns that begin where no vector does, of an argument and of a value.
// REDEFINE: %{entry} = columns_of_argument
// RUN: %{is}
func.func @columns_of_argument(%x: tensor<?x72xf16>, %w: tensor<48x64xf16> {heddle.role = "weight"}) -> tensor<?x48xf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x72xf16>
  %s = tensor.extract_slice %x[0, 3] [%n, 64] [1, 1] : tensor<?x72xf16> to tensor<?x64xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x48xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x48xf32>) -> tensor<?x48xf32>
  %g = linalg.contract indexing_maps = [#x, #w, #y] ins(%s, %w : tensor<?x64xf16>, tensor<48x64xf16>) outs(%z : tensor<?x48xf32>) -> tensor<?x48xf32>
  %r = arith.truncf %g : tensor<?x48xf32> to tensor<?x48xf16>
  return %r : tensor<?x48xf16>
}

// REDEFINE: %{entry} = columns_of_value
// RUN: %{is}
func.func @columns_of_value(%x: tensor<?x65xf16>, %norm: tensor<65xf16> {heddle.role = "weight"}, %w: tensor<48x32xf16> {heddle.role = "weight"}, %v: tensor<4xf16> {heddle.role = "weight"}) -> (tensor<?x48xf16>, tensor<?x4xf16>, tensor<?x65xf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x65xf16>
  %h = attn.rms_norm %x, %norm {eps = 1.0e-5 : f64} : tensor<?x65xf16>, tensor<65xf16>
  %s = tensor.extract_slice %h[0, 32] [%n, 32] [1, 1] : tensor<?x65xf16> to tensor<?x32xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x48xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x48xf32>) -> tensor<?x48xf32>
  %g = linalg.contract indexing_maps = [#x, #w, #y] ins(%s, %w : tensor<?x32xf16>, tensor<48x32xf16>) outs(%z : tensor<?x48xf32>) -> tensor<?x48xf32>
  %r = arith.truncf %g : tensor<?x48xf32> to tensor<?x48xf16>
  %t = tensor.extract_slice %h[0, 13] [%n, 4] [1, 1] : tensor<?x65xf16> to tensor<?x4xf16>
  %m = attn.rms_norm %t, %v {eps = 1.0e-5 : f64} : tensor<?x4xf16>, tensor<4xf16>
  return %r, %m, %h : tensor<?x48xf16>, tensor<?x4xf16>, tensor<?x65xf16>
}
