"""check_main_loop.py SASS [--kernel NAME] [--most FIGURE=LIMIT]...

Prints what one trip through the main loop of each kernel costs, of what heddle-compile --emit=sass wrote, and fails if a figure is over its
limit. The main loop is, of the loops that do at least half the work of the largest, the one with the fewest other instructions per product
of 16 x 8 x 16: the unmasked one. Figures:

  non_mma_per_product   instructions that are not matrix instructions, per 2048 multiply-adds of the warp
  moves, spills         register moves; loads and stores of local memory
  overhead              all but matrix, f32, exp2, convert and ldmatrix instructions
  registers             of the kernel
  masked                instructions of the dearest other loop, over those of the main loop
  skipped_per_product, skipped_moves, skipped_overhead
                        of a trip that leaves out what it may, the rescaling of the accumulator; moves and overhead are those of the dearer trip
"""
import argparse
import sys

import sass


def summarize(kernel):
    loops = sass.measure_loops(kernel)
    if not loops:
        return None
    largest = max(loop["products"] for loop in loops)
    main = min((loop for loop in loops if loop["products"] * 2 >= largest), key=lambda loop: loop["non_mma_per_product"])
    others = [loop["instructions"] for loop in loops if loop is not main and loop["products"] == main["products"]]
    skipped = main["skipped"]
    return {**main, "registers": kernel.registers, "masked": max(others, default=0) / main["instructions"],
            "skipped_per_product": skipped["non_mma_per_product"], "skipped_moves": skipped["moves"], "skipped_overhead": skipped["overhead"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--kernel")
    parser.add_argument("--most", action="append", default=[], metavar="FIGURE=LIMIT")
    arguments = parser.parse_args()
    limits = {name: float(limit) for name, limit in (each.split("=") for each in arguments.most)}
    failed, found = False, 0
    for kernel in sass.read_kernels(open(arguments.file).read()):
        if arguments.kernel not in (None, kernel.name):
            continue
        figures = summarize(kernel)
        if figures is None:
            print(f"{kernel.name} {kernel.chip}: no loop with matrix instructions")
            failed |= bool(limits)
            continue
        found += 1
        print(f"{kernel.name} {kernel.chip}: {figures['instructions']} instructions, {figures['products']:g} products, "
              f"{figures['non_mma_per_product']:.2f} others per product, {figures['moves']} moves, {figures['overhead']} overhead, "
              f"{figures['spills']} spills, {figures['registers']} registers, masked {figures['masked']:.2f}")
        skipped = figures["skipped"]
        if skipped["instructions"] < figures["instructions"]:
            print(f"  skipped: {skipped['instructions']} instructions, {skipped['non_mma_per_product']:.2f} others per product, "
                  f"{skipped['moves']} moves, {skipped['overhead']} overhead")
        print("  " + ", ".join(f"{count} {group}" for group, count in sorted(figures["groups"].items())))
        for name, limit in limits.items():
            if figures[name] > limit:
                print(f"  {name} is {figures[name]:.4g}, at most {limit:g} was expected")
                failed = True
    if not found:
        print("no kernel with a main loop" + (f" is named '{arguments.kernel}'" if arguments.kernel else ""))
        failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
