"""Where the repository and the benchmarks' build folder are."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BENCH = ROOT / "build" / "bench"
