"""Rows of attention with one query a sequence over a long cache, in one piece and in pages."""
import torch
import torch.nn.functional as F

from .attention import HEADS, KV_HEADS, LIMIT, source
from .onnx_model import NO_BF16, OnnxModel, fused
from .program import compile_module
from .work import Goal, Row, Work, random_tensors

KEYS, DIM = 8192, 128
GROUP = HEADS // KV_HEADS
GOAL = {"f32": 0.85, "bf16": 0.75}


def _inputs(sequences, dtype):
    random = random_tensors(3)
    q = random((sequences, 1, HEADS, DIM), dtype)
    # One sequence's values again for each further one: making 500 MB of random numbers takes longer than all that is timed.
    k, v = (random((1, KEYS, KV_HEADS, DIM), dtype).repeat(sequences, 1, 1, 1) for _ in range(2))
    for b in range(1, sequences):
        k[b], v[b] = k[b].roll(b, 0), v[b].roll(-b, 0)
    return q, k, v


def torch_decode(q, k, v):
    """Forms of PyTorch: with grouped heads; the heads of a group as queries of one head, which reads each key once; both also of
    heads first."""
    def forms(k, v, suffix):
        query, grouped = q.transpose(1, 2), q.view(q.shape[0], KV_HEADS, GROUP, DIM)
        return {"sdpa" + suffix: lambda: F.scaled_dot_product_attention(query, k, v, enable_gqa=True),
                "sdpa of groups" + suffix: lambda: F.scaled_dot_product_attention(grouped, k, v)}
    views = [t.transpose(1, 2) for t in (k, v)]
    return {**forms(*views, ""), **forms(*(t.contiguous() for t in views), ", heads first")}


def onnx_decode(q, k, v, threads):
    """The operator with a cache that holds all keys but the last, which comes as a new row."""
    sequences = q.shape[0]
    caches = [t.transpose(1, 2).contiguous() for t in (k, v)]
    rows = lambda t: t.reshape(sequences, 1, -1).contiguous()
    inputs = dict(q=rows(q), k=rows(k[:, -1:]), v=rows(v[:, -1:]), past_keys=caches[0], past_values=caches[1],
                  last=torch.full((sequences,), KEYS - 1, dtype=torch.int32), total=torch.tensor([KEYS], dtype=torch.int32))
    # The new cache is the old one's memory, as its documentation recommends.
    results = dict(o=torch.empty_like(inputs["q"]), keys=caches[0], values=caches[1])
    return OnnxModel([fused("GroupQueryAttention", ["q", "k", "v", "past_keys", "past_values", "last", "total"], ["o", "keys", "values"],
                            num_heads=HEADS, kv_num_heads=KV_HEADS)], inputs, {}, results, threads)


def contiguous(dtype, sequences):
    def make(threads):
        q, k, v = _inputs(sequences, dtype)
        o = torch.empty_like(q)
        call = compile_module(f"decode_{dtype}", source(dtype, DIM, queries="1")).bind("attention", dict(q=q, k=k, v=v, o=o), threads)
        onnx = {"GroupQueryAttention": onnx_decode(q, k, v, threads)} if dtype == "f32" else NO_BF16
        return Work(call, o, {"PyTorch": torch_decode(q, k, v), "ONNX Runtime": onnx}, LIMIT[dtype], [k, v])

    plural = "s" if sequences > 1 else ""
    return Row("decode", f"decode {dtype} {sequences} sequence{plural} x {KEYS} keys", dtype, make, Goal(read=GOAL[dtype], peers=1),
               4 * HEADS * DIM * KEYS * sequences)


def _paged_module(dtype):
    q, k = f"tensor<?x1x{HEADS}x{DIM}x{dtype}>", f"tensor<?x?x{KV_HEADS}x{DIM}x{dtype}>"
    return compile_module(f"decode_paged_{dtype}", f"""func.func @attention(
    %q: {q} {{heddle.name = "q"}}, %k: {k} {{heddle.name = "k"}}, %v: {k} {{heddle.name = "v"}},
    %lengths: tensor<?xi32> {{heddle.name = "lengths"}}, %tables: tensor<?x?xi32> {{heddle.name = "tables"}}) -> ({q} {{heddle.name = "o"}}) {{
  %o = attn.attention %q, %k, %v kv_len(%lengths : tensor<?xi32>) block_table(%tables : tensor<?x?xi32>) {{causal}}
      : ({q}, {k}, {k}) -> {q}
  return %o : {q}
}}
""")


def paged(dtype, page, sequences=1):
    def make(threads):
        q, k, v = _inputs(sequences, dtype)
        o, count = torch.empty_like(q), sequences * KEYS // page
        # Pages in random order: page table[i] holds rows i * page to (i + 1) * page.
        table = torch.randperm(count, generator=torch.Generator().manual_seed(4))
        shuffled = [torch.empty_like(t).view(count, page, KV_HEADS, DIM) for t in (k, v)]
        for pages, rows in zip(shuffled, (k, v)):
            pages[table] = rows.view_as(pages)
        table = table.view(sequences, -1)
        lengths = torch.full((sequences,), KEYS, dtype=torch.int32)
        call = _paged_module(dtype).bind(
            "attention", dict(q=q, k=shuffled[0], v=shuffled[1], tables=table.int(), lengths=lengths, o=o), threads)

        grouped = q.view(sequences, KV_HEADS, GROUP, DIM)
        gather = lambda pages: pages[table].view(sequences, KEYS, KV_HEADS, DIM).transpose(1, 2)
        forms = {"gathered, sdpa of groups": lambda: F.scaled_dot_product_attention(grouped, *map(gather, shuffled))}
        return Work(call, o, {"PyTorch": forms, "ONNX Runtime": "has no paged attention on CPUs"}, LIMIT[dtype], shuffled)

    return Row("paged decode", f"decode {dtype} pages of {page}, {KEYS} keys", dtype, make, Goal(read=GOAL[dtype], peers=1, against="PyTorch"),
               4 * HEADS * DIM * KEYS * sequences)


ROWS = [contiguous(dtype, sequences) for dtype in ("f32", "bf16") for sequences in (1, 8)]
PAGED = [paged(dtype, page) for dtype in ("f32", "bf16") for page in (16, 64, 256)]
