"""Modules on a GPU: attention right against float64 and timed against the backends of PyTorch's scaled_dot_product_attention.

A small Llama is compared with stored logits.
"""
import argparse
import ctypes
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import time

from heddle_module import CUDA, Module, Refused

# Batch, queries, keys: blocks with edges, one row, more keys than queries.
CHECKED = [(2, 256, 256), (1, 1, 1), (2, 77, 77), (1, 130, 515), (3, 1, 300)]
# About 16 K tokens each.
TIMED = [(16, 1024, 1024), (4, 4096, 4096), (1, 16384, 16384)]
CALLS, WARM_UP = 15, 3
# Largest relative Frobenius error, that of the tests: the simulated kernels err by half of it, and at 2048 keys one that is left out by 1e-3 (f16).
LIMIT = {"f16": 6e-4, "bf16": 4e-3}
# A model's run takes less than a second.
REPLAY_SECONDS = 45


def find_driver():
    """None if the driver has a device, else what is missing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"libcuda.so.1 was not found ({error})"
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return "the CUDA driver has no usable device"
    return None


def newest_target(model, capability=math.inf):
    """The newest GPU that the model has code for and that is no newer than `capability` (80 for sm_80); None if there is none."""
    gpus = {name: int(name[3:]) for name in model["targets"] if re.fullmatch(r"sm_\d+", name)}
    return max((name for name in gpus if gpus[name] <= capability), key=gpus.get, default=None)


class NotReplayed(RuntimeError):
    """A program that can't start or does not end."""


def replay(folder, model, target):
    """Repeats the model's stored run by its program, which is heddle-run with the module inside."""
    program, weights, expected = (str((folder / model[name]).resolve()) for name in ("file", "weights", "expected"))
    command = [program, "--target", target, "--weights", weights, "--replay", expected]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=REPLAY_SECONDS)
    except OSError as error:
        raise NotReplayed(f"{model['file']} can't start: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise NotReplayed(f"{model['file']} on {target} was stopped after {REPLAY_SECONDS} s") from error
    if run.returncode and "' not found (required by" in run.stderr:
        raise NotReplayed(f"{model['file']} can't start, as it needs a newer C library than this machine has: {run.stderr.strip()}")
    return run


def check_refusals(folder, cases, models):
    """Without a GPU: modules load, and say that there is none."""
    entries = 0
    for case in cases:
        module = Module(folder / case["file"])
        for entry in module.description["entries"]:
            refused = module.refusal(entry["name"], (CUDA, 0))
            if refused is None or refused.status != 6:
                raise SystemExit(f"device: {case['file']}: '{entry['name']}' should refuse CUDA tensors here for want of a device, but says: {refused}")
            entries += 1
    print(f"device: {len(cases)} modules load; their {entries} entries refuse CUDA tensors with: {refused}")
    for model in models:
        target = newest_target(model)
        if target is None:
            raise SystemExit(f"device: {model['file']} has no code for a GPU, only for {', '.join(model['targets'])}")
        try:
            run = replay(folder, model, target)
        except NotReplayed as error:
            raise SystemExit(f"device: {error}") from error
        if run.returncode != 1 or "libcuda" not in run.stderr and "CUDA driver" not in run.stderr:
            raise SystemExit(f"device: {model['file']} should refuse to run here for want of a device, but says: {run.stdout}{run.stderr}")
        print(f"device: {model['file']} runs and refuses a device with: {run.stderr.strip()}")


class Attention:
    """One module's entry on tensors of its own."""

    def __init__(self, torch, folder, case, entry, shape):
        self.torch, self.case, self.entry, self.shape = torch, case, entry, shape
        kind = {"f16": torch.float16, "bf16": torch.bfloat16}[case["type"]]
        batch, queries, keys = shape
        generator = torch.Generator("cuda").manual_seed(1)
        make = lambda length, heads: torch.randn(batch, length, heads, case["head_dim"], generator=generator, device="cuda").to(kind)
        self.q = make(queries, case["heads"])
        self.k, self.v = make(keys, case["key_heads"]), make(keys, case["key_heads"])
        self.o = torch.full_like(self.q, math.nan)
        self.call = Module(folder / case["file"]).bind(entry, dict(q=self.q, k=self.k, v=self.v, o=self.o))

    def expected(self):
        """The formula in float64, causal masks aligned at the last query and key."""
        torch, (batch, queries, keys) = self.torch, self.shape
        group = self.case["heads"] // self.case["key_heads"]
        q, k, v = (t.double().transpose(1, 2) for t in (self.q, self.k, self.v))
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        scores = q @ k.transpose(2, 3) / math.sqrt(self.case["head_dim"])
        if self.entry == "causal":
            keep = torch.ones(queries, keys, dtype=torch.bool, device="cuda").tril(keys - queries)
            scores = scores.masked_fill(~keep, -math.inf)
        return (scores.softmax(-1) @ v).transpose(1, 2)

    def flops(self):
        batch, queries, keys = self.shape
        return 4 * batch * self.case["heads"] * queries * keys * self.case["head_dim"] * (0.5 if self.entry == "causal" else 1)

    def peer(self):
        q, k, v = (t.transpose(1, 2) for t in (self.q, self.k, self.v))
        gqa = self.case["heads"] != self.case["key_heads"]
        return self.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.entry == "causal", enable_gqa=gqa)


class Timer:
    """Median time of a call with a cold L2 cache, in ms."""

    def __init__(self, torch):
        self.torch = torch
        self.flushed = torch.empty(1 << 30, dtype=torch.int8, device="cuda")

    def __call__(self, run):
        event = lambda: self.torch.cuda.Event(enable_timing=True)
        for _ in range(WARM_UP):
            run()
        pairs = [(event(), event()) for _ in range(CALLS)]
        for begin, end in pairs:
            self.flushed.zero_()
            begin.record()
            run()
            end.record()
        self.torch.cuda.synchronize()
        return statistics.median(begin.elapsed_time(end) for begin, end in pairs)


def check(torch, folder, case):
    worst = 0.0
    for entry in ("causal", "full"):
        for shape in CHECKED:
            try:
                attention = Attention(torch, folder, case, entry, shape)
                attention.call()
            except Refused as refused:
                raise SystemExit(f"device: {case['file']}: '{entry}' refuses B, Lq, Lk = {shape}: {refused}") from refused
            expected = attention.expected()
            error = ((attention.o.double() - expected).norm() / expected.norm()).item()
            if not error <= LIMIT[case["type"]]:
                raise SystemExit(f"device: {case['file']}: '{entry}' at B, Lq, Lk = {shape} differs by {error:.2e}, "
                                 f"expected at most {LIMIT[case['type']]:.0e}")
            worst = max(worst, error)
    return worst


def check_model(folder, model, capability):
    """Prefill and decode of a whole model on the first device: norms, projections, rope, caches and attention of few queries.

    Returns whether they are right.
    """
    target = newest_target(model, capability)
    if target is None:
        found = f"has code for {', '.join(model['targets'])}, but the device is sm_{capability}"
    else:
        try:
            run = replay(folder, model, target)
        except NotReplayed as error:
            print(f"device: {error}", file=sys.stderr, flush=True)
            return False
        verified = [line for line in run.stdout.splitlines() if line.startswith("verify ")]
        if verified and not run.returncode:
            print(f"{model['file']}: right: {'; '.join(verified)}", flush=True)
            return True
        problem = f"exit status {run.returncode}" if run.returncode else "compared nothing"
        found = f"on {target}: {problem}: {run.stdout}{run.stderr}"
    print(f"device: {model['file']} {found}".rstrip(), file=sys.stderr, flush=True)
    return False


def check_graph(torch, folder, case):
    """A call captured into a CUDA graph gives the same."""
    attention = Attention(torch, folder, case, "causal", CHECKED[0])
    attention.call()
    torch.cuda.synchronize()
    wanted = attention.o.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        attention.call.use_stream(torch.cuda.current_stream())
        attention.call()
    attention.o.fill_(math.nan)
    graph.replay()
    torch.cuda.synchronize()
    if not torch.equal(attention.o, wanted):
        raise SystemExit(f"device: {case['file']}: a captured call gives another result")


def backends(torch):
    from torch.nn.attention import SDPBackend
    names = ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION")
    return {name.split("_")[0].lower(): getattr(SDPBackend, name) for name in names if hasattr(SDPBackend, name)}


def measure(torch, timer, attention):
    from torch.nn.attention import sdpa_kernel
    row = dict(type=attention.case["type"], head_dim=attention.case["head_dim"], heads=attention.case["heads"],
               key_heads=attention.case["key_heads"], entry=attention.entry, batch=attention.shape[0], length=attention.shape[1])
    row["heddle_ms"] = timer(attention.call)
    row["heddle_tflops"] = attention.flops() / row["heddle_ms"] / 1e9
    for name, backend in backends(torch).items():
        try:
            with sdpa_kernel(backend):
                row[name + "_ms"] = timer(attention.peer)
        except RuntimeError:  # not for this chip, type or head dimension
            row[name + "_ms"] = None
    return row


def show(row):
    peers = [name for name in ("flash", "efficient", "cudnn") if name + "_ms" in row]
    cells = "  ".join(f"{name} {row[name + '_ms']:8.3f}" if row[name + "_ms"] else f"{name}        -" for name in peers)
    best = min((row[name + "_ms"] for name in peers if row[name + "_ms"]), default=math.nan)
    print(f"{row['type']:>4}  d {row['head_dim']:3}  h {row['heads']}/{row['key_heads']:<2}  {row['entry']:6}  {row['batch']:2} x {row['length']:5}  "
          f"heddle {row['heddle_ms']:8.3f} ms {row['heddle_tflops']:6.1f} TFLOP/s  {cells}  {best / row['heddle_ms']:.2f}x of the best", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--json", help="also write the results to this file")
    parser.add_argument("--seconds", type=float, default=240, help="start no further measurement after this time (default 240)")
    options = parser.parse_args()
    begin = time.monotonic()
    listed = json.loads((options.folder / "device.json").read_text())
    cases, models = listed["attention"], listed.get("models", [])
    missing = find_driver()
    if missing:
        print(f"device: no GPU is present: {missing}")
        check_refusals(options.folder, cases, models)
        return 0
    try:
        import torch
    except ImportError:
        print("device: a GPU is present, but python3 has no PyTorch; set PYTHON to one that has", file=sys.stderr)
        return 1
    if not torch.cuda.is_available():
        print(f"device: a GPU is present, but PyTorch {torch.__version__} can't use it; set PYTHON to a python3 whose PyTorch has CUDA", file=sys.stderr)
        return 1
    torch.set_grad_enabled(False)
    major, minor = torch.cuda.get_device_capability()
    print(f"device: {torch.cuda.get_device_name()}, sm_{major}{minor}, PyTorch {torch.__version__}")
    for case in cases:
        print(f"{case['file']}: right, largest relative error {check(torch, options.folder, case):.1e}", flush=True)
    # A model that fails does not keep attention, which is right, from being timed.
    wrong = [model["file"] for model in models if not check_model(options.folder, model, 10 * major + minor)]
    check_graph(torch, options.folder, cases[0])
    print("a captured CUDA graph gives the same result")
    timer, rows, left = Timer(torch), [], 0
    for shape in TIMED:
        for case in cases:
            for entry in ("causal", "full"):
                if time.monotonic() - begin > options.seconds:
                    left += 1
                    continue
                rows.append(measure(torch, timer, Attention(torch, options.folder, case, entry, shape)))
                show(rows[-1])
    if left:
        print(f"device: {left} measurements were left out after {options.seconds:.0f} s")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(dict(device=torch.cuda.get_device_name(), torch=torch.__version__, rows=rows), indent=1))
    if wrong:
        print(f"device: not right or not run: {', '.join(wrong)}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
