"""check_occupancy.py REPORT PLAN [CHIP...]

Compares the code of kernels, as heddle-compile --print-kernels=json reports it, with a plan: the lines of the file PLAN of the form

  # PLAN: ENTRY CHIP[,CHIP...] TILE THREADS CTAS

The kernel of ENTRY computes blocks of TILE (as 128x64) with THREADS, and an SM of each CHIP holds at least CTAS of its CTAs. No kernel may spill, use
a stack, or have a warning. The report has to have all entries of the plan for each CHIP (default: all chips of the plan), and none without a plan.

With "any" for PLAN, each CHIP has to have a kernel of each entry, of any shape. With "-" for PLAN, prints the plan that the report meets.
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


report, plan_file, chips = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3:]
if plan_file == "-":
    for entry, chip, code in measured(report):
        print("# PLAN:", entry, chip, *shape(code), code["ctas_per_sm"], " registers", code["registers"], "shared", code["shared_bytes"])
    sys.exit()
plan, failures, seen = read_plan(plan_file) if plan_file != "any" else None, [], set()
for entry, chip, code in measured(report):
    seen.add((entry, chip))
    tile, threads, ctas = (*shape(code), "1") if plan is None else plan.get((entry, chip), ("no", "plan", "0"))
    if [tile, threads] != shape(code):
        failures.append(f"{entry} on {chip}: expected {tile} of {threads} threads, got {' of '.join(shape(code))}")
    if code["ctas_per_sm"] < int(ctas):
        failures.append(f"{entry} on {chip}: {code['registers']} registers and {code['shared_bytes']} bytes of shared memory leave room for "
                        f"{code['ctas_per_sm']} CTAs, {ctas} were planned")
    for name in ("spill_store_bytes", "spill_load_bytes", "stack_bytes", "warnings"):
        if code[name]:
            failures.append(f"{entry} on {chip}: {name} is {code[name]}")
if plan is None:
    planned = {(entry["name"], chip) for target in report for entry in target["entries"] for chip in chips}
else:
    planned = plan.keys()
    chips = chips or sorted({chip for _, chip in planned})
    failures += [f"{chip}: has no plan" for chip in chips if chip not in {chip for _, chip in planned}]
failures += [f"{entry} on {chip}: was not compiled" for entry, chip in sorted(planned - seen) if chip in chips]
if not seen:
    failures.append("the report has no kernels")
print("\n".join(failures) or f"{len(seen)} kernels as planned")
sys.exit(bool(failures))
