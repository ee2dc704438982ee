"""Rows of products with weights [out, in]."""
import torch
import torch.nn.functional as F

from .onnx_model import NO_BF16, OnnxModel, node
from .program import compile_module
from .work import Goal, Row, Work, random_tensors

LIMIT = {"f32": 1e-5, "bf16": 8e-3}


def source(dtype, outputs, inputs):
    """As the importer writes a projection of a decoder: accumulators in f32, the result rounded once."""
    rows, wide = f"tensor<?x?x{inputs}x{dtype}>", f"tensor<?x?x{outputs}xf32>"
    weight, result = f"tensor<{outputs}x{inputs}x{dtype}>", f"tensor<?x?x{outputs}x{dtype}>"
    rounded = "" if dtype == "f32" else f"  %r = arith.truncf %y : {wide} to {result}\n"
    return f"""#x = affine_map<(b, m, n, k) -> (b, m, k)>
#w = affine_map<(b, m, n, k) -> (n, k)>
#y = affine_map<(b, m, n, k) -> (b, m, n)>
func.func @project(%x: {rows} {{heddle.name = "x"}}, %w: {weight} {{heddle.name = "w", heddle.role = "weight"}}) -> ({result} {{heddle.name = "y"}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %x, %c0 : {rows}
  %count = tensor.dim %x, %c1 : {rows}
  %empty = tensor.empty(%batch, %count) : {wide}
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : {wide}) -> {wide}
  %y = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : {rows}, {weight}) outs(%zeros : {wide}) -> {wide}
{rounded}  return {"%y" if dtype == "f32" else "%r"} : {result}
}}
"""


def projection(group, dtype, rows, outputs, inputs, goal, threads=None, reads=False):
    def make(threads):
        random = random_tensors(2)
        x, w = random((1, rows, inputs), dtype), random((outputs, inputs), dtype, inputs**-0.5)
        y = torch.empty(1, rows, outputs, dtype=x.dtype)
        call = compile_module(f"project_{dtype}_{outputs}x{inputs}", source(dtype, outputs, inputs)).bind("project", dict(x=x, w=w, y=y), threads)
        # ONNX Runtime takes weights [in, out], and packs them when it loads the model.
        onnx = NO_BF16 if dtype == "bf16" else {
            "MatMul": OnnxModel([node("MatMul", ["x", "w"], ["y"])], dict(x=x), dict(w=w.t()), dict(y=torch.empty_like(y)), threads)}
        return Work(call, y, {"PyTorch": {"linear": lambda: F.linear(x, w)}, "ONNX Runtime": onnx}, LIMIT[dtype], [w] if reads else None)

    name = f"projection {dtype} {rows} x {outputs} x {inputs}" + (f", {threads} thread" if threads else "")
    return Row(group, name, dtype, make, goal, 2 * rows * outputs * inputs, threads)


def _goal_of_many(dtype):
    return Goal(peak=0.70, peers=1, against="PyTorch") if dtype == "f32" else Goal(peers=1, against="PyTorch")


ROWS = [
    *(projection("projection", dtype, 512, outputs, 2048, _goal_of_many(dtype)) for dtype in ("f32", "bf16") for outputs in (2048, 8192)),
    *(projection("projection", dtype, 512, 2048, 8192, _goal_of_many(dtype)) for dtype in ("f32", "bf16")),
    *(projection("projection", dtype, 32, 2048, 2048, Goal(peers=1.7, against="PyTorch"), threads=1) for dtype in ("f32", "bf16")),
]
ONE_ROW = [projection("one row", dtype, 1, outputs, inputs, Goal(read=0.85, peers=1), reads=True)
           for dtype in ("f32", "bf16") for outputs, inputs in ((2048, 2048), (8192, 2048), (2048, 8192))]
