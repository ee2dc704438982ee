"""Rows of a whole block of Llama-3.2-1B's size: Heddle, PyTorch's operators, ONNX Runtime's fused operators."""
import torch
import torch.nn.functional as F

from llama_block import CONFIG, EPS, HEAD_DIM, HEADS, HIDDEN, KV_HEADS, PREFIX, SHAPES, write_checkpoint

from .onnx_model import NO_BF16, OnnxModel, fused, node
from .paths import BENCH
from .program import compile_module
from .work import TORCH, Goal, Row, Work, random_tensors

LIMIT = {"f32": 1e-4, "bf16": 2e-2}


def _angles(capacity):
    frequency = CONFIG["rope_theta"] ** (-torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM)
    return torch.arange(capacity, dtype=torch.float32)[:, None] * frequency.float()


class TorchBlock:
    """The block out of torch.nn.functional, with a preallocated cache."""

    def __init__(self, weights, length, capacity, dtype):
        self.w, self.length = weights, length
        angles = _angles(capacity)
        self.cos, self.sin = (torch.cat([f(angles)] * 2, -1).to(dtype) for f in (torch.cos, torch.sin))

    def rope(self, x, start):
        cos, sin = (t[start:start + self.length, None, :] for t in (self.cos, self.sin))
        low, high = x.chunk(2, -1)
        return x * cos + torch.cat([-high, low], -1) * sin

    def __call__(self, x, start, k_cache, v_cache):
        w, end = self.w, start + self.length
        h = F.rms_norm(x, [HIDDEN], w["input_layernorm.weight"], EPS)
        split = lambda name, heads: F.linear(h, w[f"self_attn.{name}_proj.weight"]).view(1, self.length, heads, HEAD_DIM)
        q, k = self.rope(split("q", HEADS), start), self.rope(split("k", KV_HEADS), start)
        k_cache[:, start:end], v_cache[:, start:end] = k, split("v", KV_HEADS)
        o = F.scaled_dot_product_attention(q.transpose(1, 2), k_cache[:, :end].transpose(1, 2),
                                           v_cache[:, :end].transpose(1, 2), is_causal=self.length > 1, enable_gqa=True)
        x = x + F.linear(o.transpose(1, 2).reshape(1, self.length, -1), w["self_attn.o_proj.weight"])
        h = F.rms_norm(x, [HIDDEN], w["post_attention_layernorm.weight"], EPS)
        up = F.silu(F.linear(h, w["mlp.gate_proj.weight"])) * F.linear(h, w["mlp.up_proj.weight"])
        return x + F.linear(up, w["mlp.down_proj.weight"])


def onnx_block(weights, x, start, caches, threads):
    """The block as ONNX Runtime's own exporter writes it: one product for q, k and v, rope and cache inside of attention, residuals inside of norms."""
    matrix = lambda *names: torch.cat([weights[name + "_proj.weight"] for name in names]).t()
    constants = dict(norm1=weights["input_layernorm.weight"], norm2=weights["post_attention_layernorm.weight"],
                     w_qkv=matrix("self_attn.q", "self_attn.k", "self_attn.v"), w_o=matrix("self_attn.o"),
                     w_gate=matrix("mlp.gate"), w_up=matrix("mlp.up"), w_down=matrix("mlp.down"))
    angles = _angles(start + x.shape[1])
    constants.update(cos=torch.cos(angles), sin=torch.sin(angles))
    nodes = [
        node("SimplifiedLayerNormalization", ["x", "norm1"], ["h"], axis=-1, epsilon=EPS),
        node("MatMul", ["h", "w_qkv"], ["qkv"]),
        fused("GroupQueryAttention", ["qkv", "", "", "past_keys", "past_values", "last", "total", "cos", "sin"], ["o", "keys", "values"],
              num_heads=HEADS, kv_num_heads=KV_HEADS, do_rotary=1),
        node("MatMul", ["o", "w_o"], ["projected"]),
        fused("SkipSimplifiedLayerNormalization", ["projected", "x", "norm2"], ["h2", "", "", "sum"], epsilon=EPS),
        node("MatMul", ["h2", "w_gate"], ["gate"]),
        node("MatMul", ["h2", "w_up"], ["up"]),
        fused("QuickGelu", ["gate"], ["activated"], alpha=1.0),
        node("Mul", ["activated", "up"], ["product"]),
        node("MatMul", ["product", "w_down"], ["down"]),
        node("Add", ["down", "sum"], ["y"]),
    ]
    total = start + x.shape[1]
    cache = [t.transpose(1, 2).contiguous() for t in caches]
    inputs = dict(x=x, past_keys=cache[0], past_values=cache[1], last=torch.tensor([total - 1], dtype=torch.int32),
                  total=torch.tensor([total], dtype=torch.int32))
    return OnnxModel(nodes, inputs, constants, dict(y=torch.empty_like(x), keys=cache[0], values=cache[1]), threads)


def block(dtype, length, start, goal):
    def make(threads):
        kind, random = TORCH[dtype], random_tensors(1)
        weights = {name: random(shape, dtype, shape[-1] ** -0.5 if len(shape) > 1 else 1) for name, shape in SHAPES.items()}
        x = random((1, length, HIDDEN), dtype)
        caches = [random((1, start + length, KV_HEADS, HEAD_DIM), dtype) for _ in range(2)]
        peer_caches, out = [cache.clone() for cache in caches], torch.empty_like(x)

        folder = BENCH / f"llama-1b-{dtype}"
        write_checkpoint(folder, dtype)
        # As the model's entry `decode`, a block for one token knows that it has one.
        tokens = ["--tokens", "1"] if length == 1 else []
        module = compile_module(f"block_{dtype}_{length}", folder, ["--layer", "0", f"--dtype={dtype}", *tokens])
        tensors = {"hidden_states": x, "start": torch.tensor([start], dtype=torch.int32), "k_cache": caches[0],
                   "v_cache": caches[1], "hidden_states.out": out}
        tensors.update({PREFIX + name: tensor for name, tensor in weights.items()})

        peer = TorchBlock(weights, length, start + length, kind)
        onnx = {"fused operators": onnx_block(weights, x, start, caches, threads)} if dtype == "f32" else NO_BF16
        forms = {"operators": lambda: peer(x, start, *peer_caches)}
        return Work(module.bind("block", tensors, threads), out, {"PyTorch": forms, "ONNX Runtime": onnx}, LIMIT[dtype],
                    list(weights.values()) if length == 1 else None)

    keys = start + (length + 1) / 2
    flops = 2 * length * (sum(torch.Size(s).numel() for s in SHAPES.values() if len(s) > 1) + 2 * HEADS * HEAD_DIM * keys)
    plural = "s" if length > 1 else ""
    return Row("block", f"block {dtype} {length} token{plural}", dtype, make, goal, flops)


ROWS = [block(dtype, length, start, goal) for dtype in ("f32", "bf16")
        for length, start, goal in ((512, 0, Goal(peers=1)), (1, 512, Goal(peers=1, read=0.85)))]
