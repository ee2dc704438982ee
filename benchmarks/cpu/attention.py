"""Rows of attention with many queries: causal, and within a window."""
import torch.nn.functional as F

from .machine import has_matrix_tiles
from .onnx_model import NO_BF16, OnnxModel, fused, node
from .program import compile_module
from .work import Goal, Row, Work, random_tensors

import torch

HEADS, KV_HEADS, WINDOW = 32, 8, 512
LIMIT = {"f32": 1e-5, "bf16": 8e-3}
# Parts of the f32 FMA peak to reach at 512, 2048 and 8192 tokens; those of bf16 hold for CPUs with matrix tiles.
GOALS = {
    ("f32", 128): (0.55, 0.62, 0.68), ("f32", 64): (0.48, 0.57, 0.62),
    ("bf16", 128): (2.3, 3.3, 3.6), ("bf16", 64): (1.5, 2.3, 2.9),
}


def source(dtype, dim, attributes="causal", queries="?"):
    """An entry `attention` of whole tensors, whose queries are the last of the keys."""
    q, k = (f"tensor<?x{rows}x{heads}x{dim}x{dtype}>" for rows, heads in ((queries, HEADS), ("?", KV_HEADS)))
    return f"""func.func @attention(%q: {q} {{heddle.name = "q"}}, %k: {k} {{heddle.name = "k"}}, %v: {k} {{heddle.name = "v"}})
    -> ({q} {{heddle.name = "o"}}) {{
  %o = attn.attention %q, %k, %v {{{attributes}}} : ({q}, {k}, {k}) -> {q}
  return %o : {q}
}}
"""


def bind(dtype, dim, length, threads, window=None):
    """q, k, v, o and the entry bound to them."""
    random = random_tensors(1)
    q, k, v = (random((1, length, heads, dim), dtype) for heads in (HEADS, KV_HEADS, KV_HEADS))
    o = torch.empty_like(q)
    name = f"attention_{dtype}_{dim}" + ("_window" if window else "")
    attributes = f"causal, window = array<i64: {window - 1}, 0>" if window else "causal"
    module = compile_module(name, source(dtype, dim, attributes))
    return q, k, v, o, module.bind("attention", dict(q=q, k=k, v=v, o=o), threads)


def grouped_query_attention(q, k, v, threads, window=None):
    """ONNX Runtime's operator; it also writes keys and values as its cache has them."""
    (_, length, _, dim), rows = q.shape, lambda t: t.reshape(1, t.shape[1], -1)
    inputs = dict(q=rows(q), k=rows(k), v=rows(v), last=torch.tensor([length - 1], dtype=torch.int32),
                  total=torch.tensor([length], dtype=torch.int32))
    results = dict(o=torch.empty_like(rows(q)), keys=torch.empty(1, KV_HEADS, length, dim), values=torch.empty(1, KV_HEADS, length, dim))
    limits = dict(local_window_size=window) if window else {}
    return OnnxModel([fused("GroupQueryAttention", ["q", "k", "v", "", "", "last", "total"], ["o", "keys", "values"],
                            num_heads=HEADS, kv_num_heads=KV_HEADS, **limits)], inputs, {}, results, threads)


def onnx_attention(q, k, v, threads):
    """The standard's operator, of heads first."""
    heads_first = lambda t: t.transpose(1, 2).contiguous()
    inputs = dict(q=heads_first(q), k=heads_first(k), v=heads_first(v))
    model = OnnxModel([node("Attention", ["q", "k", "v"], ["o"], is_causal=1)], inputs, {}, dict(o=torch.empty_like(inputs["q"])), threads)
    return lambda: model().transpose(1, 2)


def torch_attention(q, k, v):
    """Forms of PyTorch: rows and heads as ours, and heads first."""
    views = [t.transpose(1, 2) for t in (q, k, v)]
    copies = [t.contiguous() for t in views]
    attend = lambda tensors: F.scaled_dot_product_attention(*tensors, is_causal=True, enable_gqa=True).transpose(1, 2)
    return {"sdpa": lambda: attend(views), "sdpa, heads first": lambda: attend(copies)}


def causal(dtype, dim, length):
    def make(threads):
        q, k, v, o, call = bind(dtype, dim, length, threads)
        onnx = NO_BF16
        if dtype == "f32":
            onnx = {"GroupQueryAttention": grouped_query_attention(q, k, v, threads)}
            # It holds all scores at once, 2 GB at 4096 tokens, and is much slower there.
            if length <= 2048:
                onnx["Attention"] = onnx_attention(q, k, v, threads)
        return Work(call, o, {"PyTorch": torch_attention(q, k, v), "ONNX Runtime": onnx}, LIMIT[dtype])

    part = GOALS[dtype, dim][(512, 2048, 8192).index(length)]
    goal = Goal(peak=part) if dtype == "f32" or has_matrix_tiles() else Goal(peers=1, against="PyTorch")
    flops = 4 * HEADS * dim * length * (length + 1) / 2
    return Row("causal attention", f"causal attention {dtype} D {dim} L {length}", dtype, make, goal, flops, large=length > 4096)


def windowed(dtype, length, dim=128):
    def make(threads):
        q, k, v, o, call = bind(dtype, dim, length, threads, WINDOW)
        onnx = {"GroupQueryAttention": grouped_query_attention(q, k, v, threads, WINDOW)} if dtype == "f32" else NO_BF16
        torch_form = "has no window without a mask of L x L"
        if length <= 2048:
            distance = torch.arange(length)[:, None] - torch.arange(length)
            mask = (distance >= 0) & (distance < WINDOW)
            views = [t.transpose(1, 2) for t in (q, k, v)]
            torch_form = {"sdpa with a mask": lambda: F.scaled_dot_product_attention(*views, attn_mask=mask, enable_gqa=True).transpose(1, 2)}
        return Work(call, o, {"PyTorch": torch_form, "ONNX Runtime": onnx}, LIMIT[dtype])

    scores = sum(min(i + 1, WINDOW) for i in range(length))
    return Row("window", f"window {WINDOW} {dtype} D {dim} L {length}", dtype, make, Goal(growth=1.15), 4 * HEADS * dim * scores, large=length > 8192)


ROWS = [causal(dtype, dim, length) for dtype in ("f32", "bf16") for dim in (128, 64) for length in (512, 2048, 8192)]
WINDOWS = [windowed(dtype, length) for dtype in ("f32", "bf16") for length in (1024, 2048, 4096, 8192, 16384)]
