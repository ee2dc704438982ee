"""Options of benchmarks/run. Needs no package, so that they are checked before any is installed."""
import argparse
import os
import pathlib

DESCRIPTION = "Times Heddle on the CPU against PyTorch and ONNX Runtime; see benchmarks/README.md."


def parse_options():
    parser = argparse.ArgumentParser(prog="benchmarks/run", allow_abbrev=False, description=DESCRIPTION)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of all sides (default: processors)")
    parser.add_argument("--calls", type=int, default=9, help="timed calls of each side (default 9)")
    parser.add_argument("--rows", default="", metavar="REGEX", help="only rows whose names have a match; --list names them")
    parser.add_argument("--quick", action="store_true", help="3 calls, and no row that takes seconds a call")
    parser.add_argument("--json", type=pathlib.Path, help="write the results to this file too")
    parser.add_argument("--add", action="store_true", help="keep the other rows that the file of --json has")
    parser.add_argument("--show", type=pathlib.Path, metavar="FILE", help="print the table of a file that --json wrote, measure nothing")
    parser.add_argument("--list", action="store_true", help="print the names of all rows")
    return parser.parse_args()


if __name__ == "__main__":
    parse_options()
