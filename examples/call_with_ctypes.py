#!/usr/bin/env python3
"""Calls a compiled module with nothing but the standard library.

    heddle-compile examples/standalone/gate.mlir -o libgate.so
    python3 examples/call_with_ctypes.py ./libgate.so
"""

import ctypes
import json
import math
import sys


class DLTensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype_code", ctypes.c_uint8),
        ("dtype_bits", ctypes.c_uint8),
        ("dtype_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Context(ctypes.Structure):
    """heddle_context of heddle_runtime.h."""

    _fields_ = [
        ("struct_size", ctypes.c_uint64),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_uint64),
        ("num_threads", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("parallel_for", ctypes.c_void_p),
        ("parallel_for_user", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("target", ctypes.c_char_p),
        ("message", ctypes.c_char * 1024),
    ]


def matrix(values, rows, columns):
    """A contiguous float matrix; the objects it points to stay alive with it."""
    memory = (ctypes.c_float * len(values))(*values)
    shape = (ctypes.c_int64 * 2)(rows, columns)
    cpu, floating = 1, 2
    tensor = DLTensor(ctypes.addressof(memory), cpu, 0, 2, floating, 32, 1, shape, None, 0)
    tensor.memory, tensor.extents = memory, shape
    return tensor


def check(status, context):
    if status:
        raise RuntimeError(context.message.decode())


def main(path):
    module = ctypes.CDLL(path)
    module.heddle_module_description.restype = ctypes.c_char_p
    description = json.loads(module.heddle_module_description())
    print("entries:", ", ".join(entry["name"] for entry in description["entries"]))

    rows, columns = 2, 3
    gate = [0.5 * i - 1 for i in range(rows * columns)]
    up = [2.0 - i for i in range(rows * columns)]
    tensors = [matrix(gate, rows, columns), matrix(up, rows, columns), matrix([0.0] * len(up), rows, columns)]
    args = (ctypes.POINTER(DLTensor) * 3)(*map(ctypes.pointer, tensors))

    context = Context(struct_size=ctypes.sizeof(Context))
    size = ctypes.c_uint64()
    check(module.gate_workspace(ctypes.byref(context), args, 3, ctypes.byref(size)), context)
    memory = ctypes.create_string_buffer(size.value + 64)
    context.workspace = (ctypes.addressof(memory) + 63) // 64 * 64
    context.workspace_bytes = size.value
    check(module.gate(ctypes.byref(context), args, 3), context)

    expected = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
    error = max(abs(a - b) for a, b in zip(tensors[2].memory, expected))
    print(f"gate: {rows} x {columns}, largest error {error:.2g}")
    return 0 if error < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
