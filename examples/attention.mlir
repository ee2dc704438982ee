// Causal attention with two query heads for each key head, the example of docs/architecture.md:
//
//   build/bin/heddle-compile examples/attention.mlir --target=cpu,sm_80,sim-sm_80 -o build/attention.so
func.func @attend(%q: tensor<?x?x8x64xf16> {heddle.name = "q", heddle.dims = ["B", "L", "", ""]},
                  %k: tensor<?x?x4x64xf16> {heddle.name = "k", heddle.dims = ["B", "S", "", ""]},
                  %v: tensor<?x?x4x64xf16> {heddle.name = "v", heddle.dims = ["B", "S", "", ""]})
    -> (tensor<?x?x8x64xf16> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v {causal} : (tensor<?x?x8x64xf16>, tensor<?x?x4x64xf16>, tensor<?x?x4x64xf16>) -> tensor<?x?x8x64xf16>
  return %o : tensor<?x?x8x64xf16>
}
