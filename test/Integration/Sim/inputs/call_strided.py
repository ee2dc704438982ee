"""Calls an entry on zeros with any strides, and prints what it answers.

    call_strided.py MODULE ENTRY TARGET NAME=EXTENT,...[@STRIDE,...[+BYTES]][:DEVICE] ...

BYTES: where the data begins after an address that is a multiple of 64. DEVICE: CUDA device that the tensor is said to be on.
"""
import ctypes
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "benchmarks"))
from heddle_module import CPU, CUDA, _Context, _Tensor, Module, dl_tensor  # noqa: E402


def parse(text):
    name, shape, strides, offset, device = re.fullmatch(r"(\w+)=([\d,]+)(?:@([\d,]+))?(?:\+(\d+))?(?::(\d+))?", text).groups()
    shape = [int(n) for n in shape.split(",")]
    contiguous = [1] * len(shape)
    for i in reversed(range(len(shape) - 1)):
        contiguous[i] = contiguous[i + 1] * shape[i + 1]
    strides = [int(n) for n in strides.split(",")] if strides else contiguous
    return name, (shape, strides, int(offset or 0), (CPU, 0) if device is None else (CUDA, int(device)))


path, entry, target = sys.argv[1:4]
given = dict(map(parse, sys.argv[4:]))
module = Module(path)
described = next(e for e in module.description["entries"] if e["name"] == entry)
tensors, keep = [], []
for argument in described["args"]:
    shape, strides, offset, device = given[argument["name"]]
    size = sum((extent - 1) * stride for extent, stride in zip(shape, strides)) + 1
    memory = ctypes.create_string_buffer(8 * size + 128)
    keep.append(memory)
    address = (ctypes.addressof(memory) + 63) // 64 * 64 + offset
    tensors.append(dl_tensor(address, device, argument["dtype"], shape, strides))
arguments = (ctypes.POINTER(_Tensor) * len(tensors))(*map(ctypes.pointer, tensors))
context = _Context(struct_size=ctypes.sizeof(_Context), target=target.encode() if target != "-" else None)
size = ctypes.c_uint64()
status = getattr(module.library, entry + "_workspace")(ctypes.byref(context), arguments, len(tensors), ctypes.byref(size))
if status == 0:
    workspace = ctypes.create_string_buffer(size.value + 64)
    context.workspace = (ctypes.addressof(workspace) + 63) // 64 * 64
    context.workspace_bytes = size.value
    status = getattr(module.library, entry)(ctypes.byref(context), arguments, len(tensors))
print("status", status, context.message.decode())
