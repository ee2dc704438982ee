"""check_occupancy.py REPORT [PLAN]

Compares the code of kernels, as heddle-compile --print-kernels=json reports it, with a plan: the lines of the file PLAN of the form

  # PLAN: ENTRY CHIP[,CHIP...] TILE THREADS CTAS

The kernel of ENTRY computes blocks of TILE (as 128x64) with THREADS, and an SM of each CHIP holds at least CTAS of its CTAs. No kernel may spill, use
a stack, or have a warning. Entries and chips without a plan are failures, too. With "-" for PLAN, prints the plan that the report meets.
"""
import json
import sys


def measured(report):
    for target in report:
        names = {kernel["name"]: entry["name"] for entry in target["entries"] for kernel in entry["kernels"]}
        for code in target["code"]:
            yield names[code["name"]], code["chip"], code


def read_plan(path):
    plan = {}
    for line in open(path):
        if line.startswith("# PLAN:"):
            entry, chips, *figures = line.split()[2:]
            plan.update({(entry, chip): figures for chip in chips.split(",")})
    return plan


def shape(code):
    return ["x".join(map(str, code["tile"])) if isinstance(code["tile"], list) else code["tile"], str(code["threads"])]


report, plan_file = json.load(open(sys.argv[1])), (sys.argv[2:] or [None])[0]
if plan_file == "-":
    for entry, chip, code in measured(report):
        print("# PLAN:", entry, chip, *shape(code), code["ctas_per_sm"], " registers", code["registers"], "shared", code["shared_bytes"])
    sys.exit()
plan, failures, seen = read_plan(plan_file) if plan_file else {}, [], set()
for entry, chip, code in measured(report):
    seen.add((entry, chip))
    tile, threads, ctas = plan.get((entry, chip), ("no", "plan", "0")) if plan_file else (*shape(code), "1")
    if [tile, threads] != shape(code):
        failures.append(f"{entry} on {chip}: expected {tile} of {threads} threads, got {' of '.join(shape(code))}")
    if code["ctas_per_sm"] < int(ctas):
        failures.append(f"{entry} on {chip}: {code['registers']} registers and {code['shared_bytes']} bytes of shared memory leave room for "
                        f"{code['ctas_per_sm']} CTAs, {ctas} were planned")
    for name in ("spill_store_bytes", "spill_load_bytes", "stack_bytes", "warnings"):
        if code[name]:
            failures.append(f"{entry} on {chip}: {name} is {code[name]}")
chips = {chip for _, chip in seen}
failures += [f"{entry} on {chip}: was not compiled" for entry, chip in sorted(plan.keys() - seen) if chip in chips]
print("\n".join(failures) or f"{len(seen)} kernels as planned")
sys.exit(bool(failures))
