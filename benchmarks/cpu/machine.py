"""What the machine gives: its chip, its FMA peak, a plain read of buffers, and whether others use it."""
import ctypes
import os
import platform
import subprocess
import time

from .paths import BENCH


def _cpuinfo(key):
    for line in open("/proc/cpuinfo"):
        if line.startswith(key):
            return line.split(":", 1)[1].strip()
    return ""


def chip():
    return _cpuinfo("model name") or platform.processor()


def has_matrix_tiles():
    return "amx_bf16" in _cpuinfo("flags").split()


def fma_peak(threads):
    """f32 multiply-adds on registers, in GFLOP/s."""
    return float(subprocess.run([BENCH / "fma_peak", str(threads)], check=True, capture_output=True, text=True).stdout)


class PlainRead:
    """Reads the memory of contiguous tensors; a call returns the seconds of one round."""

    _function = None

    def __init__(self, tensors, threads):
        if PlainRead._function is None:
            PlainRead._function = ctypes.CDLL(str(BENCH / "plain_read.so")).plain_read
            PlainRead._function.restype = ctypes.c_double
        self._keep, self._threads = tensors, threads
        self._buffers = (ctypes.c_void_p * len(tensors))(*(t.data_ptr() for t in tensors))
        self._bytes = (ctypes.c_uint64 * len(tensors))(*(t.numel() * t.element_size() for t in tensors))
        self.bytes = sum(self._bytes)
        if any(address % 64 for address in self._buffers):
            raise ValueError("a buffer is not aligned to 64 bytes")

    def __call__(self, rounds=1):
        seconds = PlainRead._function(self._buffers, self._bytes, len(self._bytes), self._threads, rounds)
        if seconds < 0:
            raise RuntimeError(f"a plain read with {self._threads} threads failed")
        return seconds


class OtherLoad:
    """Processor time that other processes and the host take, in parts of one core, since this was made."""

    def __init__(self):
        self._begin = self._sample()

    @staticmethod
    def _sample():
        fields = [int(field) for field in open("/proc/stat").readline().split()[1:]]
        user, nice, system, _, _, interrupts, soft, steal = fields[:8]
        busy = (user + nice + system + interrupts + soft + steal) / os.sysconf("SC_CLK_TCK")
        own = os.times()
        return time.perf_counter(), busy, own.user + own.system + own.children_user + own.children_system

    def share(self):
        wall, busy, own = (b - a for a, b in zip(self._begin, self._sample()))
        # The system counts in steps of 10 ms on each core.
        return max(0.0, busy - own - 0.03) / max(wall, 1e-9)


def await_quiet(limit=2.0):
    """Waits until no thread of this process runs: libraries' threads spin for a while after a call and would take a core from the next one."""
    begin = time.perf_counter()
    quiet = 0
    while quiet < 2:
        used = time.process_time()
        time.sleep(0.002)
        quiet = quiet + 1 if time.process_time() - used < 0.0002 else 0
        if time.perf_counter() - begin > limit:
            raise RuntimeError(f"a thread still runs {limit:.0f} s after a call")
