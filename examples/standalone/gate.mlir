// The gated part of a Transformer's feed-forward block. Entry attributes are described in docs/entries.md.
func.func @gate(%gate: tensor<?x?xf32> {heddle.name = "gate", heddle.dims = ["rows", "columns"]},
                %up: tensor<?x?xf32> {heddle.name = "up", heddle.dims = ["rows", "columns"]})
    -> (tensor<?x?xf32> {heddle.name = "out"}) {
  %0 = attn.glu swiglu %gate, %up : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
