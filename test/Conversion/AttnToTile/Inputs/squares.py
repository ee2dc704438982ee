"""Prints queries and keys, products with weights that are squared sixty times, on tensors and in the body of an operation: values with 2^60 paths to them."""
SHAPE = "tensor<?x64x{}x16xf32>"


def squares(name, heads):
    kind, columns = SHAPE.format(heads), heads * 16
    flat = f"tensor<?x64x{columns}xf32>"
    lines = [f"%{name}e = tensor.empty(%batch) : {flat}", f"%{name}z = linalg.fill ins(%zero : f32) outs(%{name}e : {flat}) -> {flat}",
             f"%{name}p = linalg.contract indexing_maps = [#rows, #weight, #out] ins(%x, %w{name} : tensor<?x64x32xf32>, tensor<{columns}x32xf32>) "
             f"outs(%{name}z : {flat}) -> {flat}",
             f"%{name}0 = tensor.expand_shape %{name}p [[0], [1], [2, 3]] output_shape [%batch, 64, {heads}, 16] : {flat} into {kind}"]
    lines += [f"%{name}{i + 1} = arith.mulf %{name}{i}, %{name}{i} : {kind}" for i in range(60)]
    body = "\n".join(f"    %b{i + 1} = arith.mulf %b{i}, %b{i} : f32" for i in range(60))
    lines += [f"%{name}h = tensor.empty(%batch) : {kind}",
              f"%{name}r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = [\"parallel\", \"parallel\", \"parallel\", \"parallel\"]}} "
              f"ins(%{name}60 : {kind}) outs(%{name}h : {kind}) {{\n  ^bb0(%b0: f32, %none: f32):\n{body}\n    linalg.yield %b60 : f32\n  }} -> {kind}"]
    return "\n  ".join(lines)


QUERIES, KEYS = SHAPE.format(4), SHAPE.format(2)
print(f"""#rows = affine_map<(b, i, n, k) -> (b, i, k)>
#weight = affine_map<(b, i, n, k) -> (n, k)>
#out = affine_map<(b, i, n, k) -> (b, i, n)>
#id = affine_map<(b, i, h, d) -> (b, i, h, d)>
func.func @squares(%x: tensor<?x64x32xf32>, %wq: tensor<64x32xf32>, %wk: tensor<32x32xf32>) -> ({QUERIES}, {KEYS}) {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : tensor<?x64x32xf32>
  {squares("q", 4)}
  {squares("k", 2)}
  return %qr, %kr : {QUERIES}, {KEYS}
}}""")
