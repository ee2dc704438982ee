"""Times the sides of a row: they alternate call by call, each alone on the machine and warm."""
import statistics
import time

from .machine import OtherLoad, PlainRead, await_quiet, fma_peak

# A timed piece lasts at least this long: shorter calls are repeated in it.
PIECE = 2e-3
# A call as long as this needs none before it to be warm.
LONG = 0.1


class Side:
    """One party: calls its function in pieces of some calls and collects the time of a call, in seconds. `result` is what the first call
    returned."""

    def __init__(self, call):
        self._call, self.times = call, []
        begin = time.perf_counter()
        self.result = call()
        self.length = time.perf_counter() - begin
        if self.length < 2 * LONG:
            self.length = min(self.once() for _ in range(2))
        self.calls = max(1, round(PIECE / self.length)) if self.length < PIECE else 1

    def once(self, calls=1):
        begin = time.perf_counter()
        for _ in range(calls):
            self._call()
        return (time.perf_counter() - begin) / calls

    def warm(self):
        if self.length < LONG:
            self.once(self.calls)

    def measure(self):
        self.times.append(self.once(self.calls))

    @property
    def median(self):
        return statistics.median(self.times)


def relative_error(output, expected):
    output, expected = output.flatten().double(), expected.flatten().double()
    return ((output - expected).norm() / expected.norm()).item()


def _fastest_forms(work):
    """The fastest form of each peer as (name, side), after comparing the results of all with Heddle's, which are there."""
    chosen, errors, absent = {}, {}, {}
    for peer, forms in work.peers.items():
        if isinstance(forms, str):
            absent[peer] = forms
            continue
        sides = {}
        for name, call in forms.items():
            await_quiet()
            sides[name] = Side(call)
            error = relative_error(work.output, sides[name].result)
            errors[peer] = max(errors.get(peer, 0.0), error)
            if not error < work.limit:
                raise SystemExit(f"benchmarks: outputs differ from those of {peer} ({name}) by {error:.2e}, expected less than {work.limit:.0e}")
            sides[name].result = None
        name = min(sides, key=lambda name: sides[name].length)
        chosen[peer] = (name, sides[name])
    return chosen, errors, absent


def measure(work, threads, calls):
    """Medians in ms and what belongs to them, as a dictionary."""
    ours = Side(work.heddle)
    chosen, errors, absent = _fastest_forms(work)
    read = PlainRead(work.reads, threads) if work.reads else None
    reads = []

    peak_before, load = fma_peak(threads), OtherLoad()
    for _ in range(calls):
        await_quiet()
        ours.warm()
        if read:
            read(ours.calls)
            reads.append(read(ours.calls))
        ours.measure()
        for _, side in chosen.values():
            await_quiet()
            side.warm()
            side.measure()
    share, peak_after = load.share(), fma_peak(threads)

    result = dict(threads=threads, calls=calls, fma_peak=[peak_before, peak_after], other_load=share,
                  heddle_ms=1e3 * ours.median, heddle_range=[1e3 * min(ours.times), 1e3 * max(ours.times)],
                  peers={peer: dict(ms=1e3 * side.median, form=name, error=errors[peer]) for peer, (name, side) in chosen.items()},
                  absent=absent, workspace=getattr(work.heddle, "workspace_bytes", None))
    if read:
        result.update(read_ms=1e3 * statistics.median(reads), read_bytes=read.bytes)
    return result


def disturbed(result):
    """Whether something else ran meanwhile: the peak moved, or others used a twentieth of a core."""
    before, after = result["fma_peak"]
    return abs(before - after) > 0.05 * max(before, after) or result["other_load"] > 0.05
