import dataclasses
import datetime
import gc
import json
import re
import subprocess
import sys

import torch

from . import attention, block, decode, memory, projections
from .machine import chip
from .onnx_model import VERSION
from .options import parse_options
from .paths import ROOT
from .table import memory_table, rows_table
from .timing import disturbed, measure

ROWS = [*attention.ROWS, *projections.ROWS, *projections.ONE_ROW, *decode.ROWS, *decode.PAGED, *block.ROWS, *attention.WINDOWS]
MEMORY = "memory of causal attention"


def commit():
    return subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()


def run_row(row, options):
    """The row's result; measured again, up to three times, where something else ran meanwhile."""
    threads = row.threads or options.threads
    torch.set_num_threads(threads)
    try:
        work = row.make(threads)
    except subprocess.CalledProcessError:
        print(f"{row.name}: does not compile", flush=True)
        return None
    for _ in range(3):
        result = measure(work, threads, options.calls)
        result["disturbed"] = disturbed(result)
        if not result["disturbed"]:
            break
    result.update(commit=commit(), group=row.group, name=row.name, dtype=row.dtype, flops=row.flops,
                  goal={key: value for key, value in dataclasses.asdict(row.goal).items() if value is not None})
    peers = ", ".join(f"{name} {peer['ms']:.2f} ({peer['form']})" for name, peer in result["peers"].items())
    print(f"{row.name}: Heddle {result['heddle_ms']:.2f} ms; {peers}", flush=True)
    return result


def heading(run):
    peaks = [peak for result in run["rows"] for peak in result["fma_peak"]]
    spread = f"FMA peak {min(peaks):.0f} to {max(peaks):.0f} GFLOP/s, " if peaks else ""
    commits = " and ".join(dict.fromkeys(result["commit"] for result in run["rows"]))
    return (f"{run['chip']}, {run['threads']} threads, {run['date']}, commit {commits}, PyTorch {run['torch']}, "
            f"ONNX Runtime {run['onnxruntime']}, {spread}medians of {run['calls']}")


def show(run):
    print("\n" + heading(run) + "\n")
    if run["rows"]:
        print(rows_table(run["rows"]))
    if run["memory"]:
        print("\nMemory of one call of causal attention in f32, 32 heads over 8 of 128:\n\n" + memory_table(run["memory"]))


def merge(old, new):
    """`old` with the rows of `new` in place of its own of the same names, in the order of all rows."""
    rows = {result["name"]: result for result in (*old["rows"], *new["rows"])}
    order = [row.name for row in ROWS]
    return {**new, "rows": sorted(rows.values(), key=lambda result: order.index(result["name"])), "memory": new["memory"] or old["memory"]}


def main():
    options = parse_options()
    if options.show:
        return show(json.loads(options.show.read_text()))
    if options.list:
        return print("\n".join([*(row.name for row in ROWS), MEMORY]))
    if options.quick:
        options.calls = min(options.calls, 3)
    torch.set_grad_enabled(False)

    chosen = [row for row in ROWS if re.search(options.rows, row.name) and not (options.quick and row.large)]
    with_memory = re.search(options.rows, MEMORY)
    if not chosen and not with_memory:
        parser.error(f"--rows: no row has a match of '{options.rows}'; see --list")
    results = []
    for row in chosen:
        result = run_row(row, options)
        results += [result] if result else []
        gc.collect()
    run = dict(chip=chip(), threads=options.threads, calls=options.calls, date=datetime.date.today().isoformat(),
               torch=torch.__version__, onnxruntime=VERSION, rows=results,
               memory=memory.measure(options.threads, memory.LENGTHS[:2] if options.quick else memory.LENGTHS) if with_memory else [])
    if options.json and options.add and options.json.exists():
        run = merge(json.loads(options.json.read_text()), run)
    show(run)
    if options.json:
        options.json.write_text(json.dumps(run, indent=1))
    if len(results) < len(chosen):
        sys.exit("benchmarks: not every row could be compiled")


if __name__ == "__main__":
    main()
