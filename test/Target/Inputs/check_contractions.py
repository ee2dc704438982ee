"""Checks the assembly of contractions: check_contractions.py FILE.s REGISTER ACCUMULATORS

A contraction's tasks are the functions kernel_*contract*_task*; those with an FMA do the sums, the others pack. In each that does sums:
  - a loop of one block has FMAs on whole vectors (REGISTER: zmm or ymm), and none of its instructions touches the stack;
  - FMAs of scalars are in loops of their own, over what is left of a vector: never beside a vector FMA, and never without one elsewhere.
Some loop must keep ACCUMULATORS sums in registers. Prints a line per task and exits with 1 at the first failure.
"""

import re
import sys


def functions(path):
    """Maps the name of each function to its blocks, as (label, instructions)."""
    result, blocks = {}, None
    for line in open(path):
        line = line.split("#")[0].rstrip()
        if match := re.match(r'"?([\w.$]+)"?:$', line):
            label = match[1]
            if label.startswith(".LBB"):
                blocks.append((label, []))
            elif not label.startswith("."):
                blocks = result.setdefault(label, [(label, [])])
        elif line.startswith("\t") and not line.startswith("\t.") and blocks:
            blocks[-1][1].append(line.strip())
    return result


def loops(blocks):
    """The blocks that jump back to themselves."""
    return [code for label, code in blocks if any(re.match(rf"j\w+\s+{re.escape(label)}$", op) for op in code)]


def fail(name, reason, code=()):
    sys.exit("\n".join([f"{name}: {reason}", *("    " + op for op in code)]))


def main():
    path, register, wanted = sys.argv[1], sys.argv[2], int(sys.argv[3])
    is_fma = re.compile(r"vfn?m(add|sub)\d+[ps]s\b").match
    is_vector = re.compile(rf"vfn?m(add|sub)\d+ps\b.*%{register}\d+$").match
    tasks = {name: blocks for name, blocks in functions(path).items() if re.match(r"kernel_.*contract.*_task", name)}
    if not tasks:
        fail(path, "no task of a contraction")
    sums = most = 0
    for name, blocks in tasks.items():
        if not any(is_fma(op) for _, code in blocks for op in code):
            print(f"{name}: packs")
            continue
        sums += 1
        framed = any(op.split() == ["movq", "%rsp,", "%rbp"] for _, code in blocks for op in code)
        on_stack = re.compile(r"\(%rsp|\(%rbp\)" if framed else r"\(%rsp").search
        largest = 0
        for code in loops(blocks):
            fmas = [op for op in code if is_fma(op)]
            vectors = [op for op in fmas if is_vector(op)]
            if vectors and len(vectors) != len(fmas):
                fail(name, "a loop mixes vector and scalar FMAs", code)
            if vectors and any(on_stack(op) for op in code):
                fail(name, "a loop of FMAs uses the stack", code)
            largest = max(largest, len(vectors))
        if not largest:
            fail(name, f"no loop has an FMA on %{register}")
        most = max(most, largest)
        print(f"{name}: {largest} FMAs in a loop")
    if not sums:
        fail(path, "no task of a contraction has an FMA")
    if most < wanted:
        fail(path, f"at most {most} accumulators in a loop, expected {wanted}")
    print(f"{sums} tasks with sums")


main()
