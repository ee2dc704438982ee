"""One block of Llama-3.2-1B's size: Heddle against PyTorch's operators, alternating in one process."""
import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

from heddle_module import Module
from llama_block import EPS, HEAD_DIM, HEADS, HIDDEN, KV_HEADS, PREFIX, SHAPES, write_checkpoint

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCH = ROOT / "build" / "bench"


def compile_block(dtype):
    folder, module = BENCH / f"llama-1b-{dtype}", BENCH / f"block_{dtype}.so"
    write_checkpoint(folder, dtype)
    begin = time.perf_counter()
    subprocess.run([ROOT / "build/bin/heddle-compile", folder, "--layer", "0", f"--dtype={dtype}", "-o", module], check=True)
    return Module(module), time.perf_counter() - begin


class TorchBlock:
    """The same block out of torch.nn.functional, with a preallocated cache."""

    def __init__(self, weights, length, capacity, dtype):
        self.w, self.length = weights, length
        frequency = 500000.0 ** (-torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM)
        angle = torch.arange(capacity, dtype=torch.float32)[:, None] * frequency.float()
        self.cos, self.sin = (torch.cat([f(angle)] * 2, -1).to(dtype) for f in (torch.cos, torch.sin))

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


def fma_peak(threads):
    return float(subprocess.run([BENCH / "fma_peak", str(threads)], check=True, capture_output=True, text=True).stdout)


def measure(module, dtype, length, start, threads, calls):
    kind = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    capacity = start + length
    generator = torch.Generator().manual_seed(1)
    random = lambda *shape: torch.randn(*shape, generator=generator)
    weights = {name: (random(*shape) * (shape[-1] ** -0.5 if len(shape) > 1 else 1)).to(kind) for name, shape in SHAPES.items()}
    x = random(1, length, HIDDEN).to(kind)
    caches = [random(1, capacity, KV_HEADS, HEAD_DIM).to(kind) for _ in range(2)]
    peer_caches = [cache.clone() for cache in caches]
    out = torch.empty_like(x)
    tensors = {"hidden_states": x, "start": torch.tensor([start], dtype=torch.int32), "k_cache": caches[0],
               "v_cache": caches[1], "hidden_states.out": out}
    tensors.update({PREFIX + name: tensor for name, tensor in weights.items()})
    ours = module.bind("block", tensors, threads)
    peer = TorchBlock(weights, length, capacity, kind)

    ours()
    expected = peer(x, start, *peer_caches)
    error = ((out - expected).float().norm() / expected.float().norm()).item()
    if not error < {"f32": 1e-4, "bf16": 2e-2}[dtype]:
        raise SystemExit(f"benchmarks: {dtype}, {length} tokens: outputs differ by {error:.2e}")
    times = ([], [])
    for _ in range(calls):
        for side, run in enumerate((ours, lambda: peer(x, start, *peer_caches))):
            begin = time.perf_counter()
            run()
            times[side].append(1e3 * (time.perf_counter() - begin))
    return dict(dtype=dtype, tokens=length, keys=capacity, heddle_ms=statistics.median(times[0]),
                pytorch_ms=statistics.median(times[1]), error=error, workspace_mb=ours.workspace_bytes / 2**20)


def chip():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="threads of both sides")
    parser.add_argument("--calls", type=int, default=9, help="timed calls of each side")
    parser.add_argument("--json", help="also write the results to this file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)

    before = fma_peak(options.threads)
    rows = []
    for dtype in ("f32", "bf16"):
        module, seconds = compile_block(dtype)
        print(f"compiled the {dtype} block in {seconds:.2f} s", flush=True)
        for length, start in ((512, 0), (1, 512)):
            rows.append(measure(module, dtype, length, start, options.threads, options.calls))
    after = fma_peak(options.threads)

    print(f"\n{chip()}, {options.threads} threads, PyTorch {torch.__version__}, FMA peak {before:.0f} GFLOP/s before, {after:.0f} after"
          + ("" if abs(before - after) < 0.1 * before else "  ** something else was running **"))
    print("| block | Heddle ms | PyTorch ms | PyTorch / Heddle | part of FMA peak | error |\n|---|---|---|---|---|---|")
    for row in rows:
        flops = 2 * row["tokens"] * sum(torch.Size(s).numel() for s in SHAPES.values() if len(s) > 1)
        part = flops / row["heddle_ms"] / before * 1e-6
        print(f"| {row['dtype']}, {row['tokens']} tokens, {row['keys']} keys | {row['heddle_ms']:.2f} | {row['pytorch_ms']:.2f} "
              f"| {row['pytorch_ms'] / row['heddle_ms']:.2f} | {part:.2f} | {row['error']:.1e} |")
    if options.json:
        results = dict(chip=chip(), threads=options.threads, torch=torch.__version__, fma_peak=[before, after], rows=rows)
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
