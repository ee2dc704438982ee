"""Calls an entry (x [8, 128] -> y [1, 128], f32) of two modules with simulated kernels in turn, asks for their reports, unloads both.

    two_modules.py MODULE MODULE ENTRY
"""
import _ctypes
import ctypes
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "benchmarks"))
from heddle_module import CPU, _Context, _Tensor, Module, dl_tensor  # noqa: E402

libraries = [Module(path).library for path in sys.argv[1:3]]
memory = [(ctypes.c_float * 1024)(), (ctypes.c_float * 128)()]
tensors = [
    dl_tensor(ctypes.addressof(memory[0]), (CPU, 0), "f32", [8, 128], [128, 1]),
    dl_tensor(ctypes.addressof(memory[1]), (CPU, 0), "f32", [1, 128], [128, 1]),
]
arguments = (ctypes.POINTER(_Tensor) * 2)(*map(ctypes.pointer, tensors))
statuses = []
for library in (libraries[0], libraries[1], libraries[0]):
    context = _Context(struct_size=ctypes.sizeof(_Context), num_threads=2)
    statuses.append(getattr(library, sys.argv[3])(ctypes.byref(context), arguments, 2))
print("status", *statuses)

launches = []
for library in libraries:
    report = library.heddle_module_simulation_report
    report.restype = ctypes.c_void_p
    text = report()
    launches.append(json.loads(ctypes.string_at(text))["kernels"][0]["launches"])
    ctypes.CDLL(None).free(ctypes.c_void_p(text))
print("launches", *launches)
for library in libraries:
    _ctypes.dlclose(library._handle)
print("unloaded")
