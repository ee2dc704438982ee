"""How much memory one call of causal attention takes beside its tensors, measured in a process of its own for each side.

    python -m cpu.memory SIDE LENGTH      # prints MiB by which the process grew at the peak of its first call, and the workspace
"""
import json
import subprocess
import sys

DTYPE, DIM, LENGTHS = "f32", 128, (1024, 2048, 4096, 8192)
SIDES = ("Heddle", "PyTorch", "ONNX Runtime")


def _status(key):
    for line in open("/proc/self/status"):
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {key}")


def _grow(call):
    """Bytes by which the resident memory is larger at its highest point during the call than before it."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # forget the highest point so far
    before = _status("VmRSS")
    call()
    return _status("VmHWM") - before


def measure_here(side, length, threads):
    import torch

    from . import attention
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)

    def prepare(length):
        q, k, v, o, heddle = attention.bind(DTYPE, DIM, length, threads)
        o.zero_()
        workspace, tensors = heddle.workspace_bytes, sum(t.numel() * t.element_size() for t in (q, k, v, o))
        call = {"Heddle": lambda: heddle, "PyTorch": lambda: attention.torch_attention(q, k, v)["sdpa"],
                "ONNX Runtime": lambda: attention.grouped_query_attention(q, k, v, threads)}[side]()
        return call, workspace, tensors

    # Threads and code first, with few tokens.
    prepare(64)[0]()
    call, workspace, tensors = prepare(length)
    grown = _grow(call)
    # What a library returns and ONNX Runtime's own copies of keys and values are results, not scratch memory.
    results = {"Heddle": 0, "PyTorch": length * attention.HEADS * DIM * 4,
               "ONNX Runtime": length * (attention.HEADS + 2 * attention.KV_HEADS) * DIM * 4}[side]
    return dict(grown=grown, results=results, workspace=workspace, tensors=tensors)


def measure(threads, lengths=LENGTHS):
    """For each length the sizes of tensors and workspace and, for each side, by how much a call grows the process beyond its results."""
    table = []
    for length in lengths:
        row = dict(length=length, scratch={})
        for side in SIDES:
            command = [sys.executable, "-m", "cpu.memory", side, str(length), str(threads)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            row.update(workspace=found["workspace"], tensors=found["tensors"])
            row["scratch"][side] = max(0, found["grown"] - found["results"])
        table.append(row)
    return table


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
