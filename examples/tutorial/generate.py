#!/usr/bin/env python3
"""Calls a compiled decoder from Python: arrays of NumPy, or tensors of PyTorch, cross the border as DLPack, without a copy.

    python3 generate.py MODULE.so CHECKPOINT [numpy | torch]
"""
import ctypes
import json
import pathlib
import sys


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("dtype_code", ctypes.c_uint8), ("dtype_bits", ctypes.c_uint8), ("dtype_lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Context(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint64), ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_uint64),
                ("num_threads", ctypes.c_int32), ("device", ctypes.c_int32), ("parallel_for", ctypes.c_void_p),
                ("parallel_for_user", ctypes.c_void_p), ("stream", ctypes.c_void_p), ("target", ctypes.c_char_p),
                ("message", ctypes.c_char * 1024)]


pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Borrowed:
    """The DLTensor that an array lends; the array's memory lives as long as this object."""

    def __init__(self, array, is_bf16=False):
        self.capsule = array.__dlpack__()
        # A DLManagedTensor begins with its DLTensor.
        self.tensor = DLTensor.from_buffer_copy(DLTensor.from_address(pointer_of(self.capsule, b"dltensor")))
        if is_bf16:  # NumPy has no such type: its bits come as uint16
            self.tensor.dtype_code = 4


def check(status, context):
    if status:
        raise RuntimeError(context.message.decode())


class Entry:
    def __init__(self, module, description, memory):
        self.description, self.memory = description, memory
        self.function = getattr(module, description["name"])
        self.workspace = getattr(module, description["name"] + "_workspace")

    def __call__(self, tensors):
        lent = [tensors[argument["name"]] for argument in self.description["args"]]
        count = len(lent)
        args = (ctypes.POINTER(DLTensor) * count)(*(ctypes.pointer(each.tensor) for each in lent))
        context, size = Context(struct_size=ctypes.sizeof(Context)), ctypes.c_uint64()
        check(self.workspace(ctypes.byref(context), args, count, ctypes.byref(size)), context)
        scratch = self.memory(size.value + 64)
        address = Borrowed(scratch).tensor.data
        context.workspace, context.workspace_bytes = (address + 63) // 64 * 64, size.value
        check(self.function(ctypes.byref(context), args, count), context)


def read_weights(path, library):
    """The tensors of a .safetensors file as lent arrays, by name."""
    data = bytearray(pathlib.Path(path).read_bytes())
    length = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        is_bf16 = entry["dtype"] == "BF16"
        if library.__name__ == "torch":
            kind = {"BF16": library.bfloat16, "F16": library.float16, "F32": library.float32}[entry["dtype"]]
            array = library.frombuffer(data, dtype=kind, offset=8 + length + begin, count=(end - begin) // kind.itemsize)
            weights[name] = Borrowed(array.reshape(entry["shape"]))
        else:
            kind = {"BF16": "uint16", "F16": "float16", "F32": "float32"}[entry["dtype"]]
            array = library.frombuffer(data, dtype=kind, offset=8 + length + begin, count=(end - begin) // library.dtype(kind).itemsize)
            weights[name] = Borrowed(array.reshape(entry["shape"]), is_bf16)
    return weights


def main(path, checkpoint, name="numpy"):
    library = __import__(name)
    module = ctypes.CDLL(path)
    module.heddle_module_description.restype = ctypes.c_char_p
    description = json.loads(module.heddle_module_description())
    entries = {entry["name"]: Entry(module, entry, lambda size: library.empty(size, dtype=library.uint8)) for entry in description["entries"]}

    prompt, capacity, vocabulary = [150, 84, 141, 71], 16, description["model"]["vocab_size"]
    tensors = read_weights(pathlib.Path(checkpoint) / "model.safetensors", library)
    for argument in entries["prefill"].description["args"]:
        if argument["role"] == "cache":  # [B, C, heads, dim]
            tensors[argument["name"]] = Borrowed(library.empty((1, capacity, *argument["shape"][2:]), dtype=getattr(library, "float32")))

    def run(entry, tokens, position):
        """Logits of the last of `tokens`, the first of which stands at `position`."""
        logits = library.empty((1, len(tokens), vocabulary), dtype=library.float32)
        own = {"tokens": library.asarray([tokens], dtype=library.int64), "start": library.asarray([position], dtype=library.int32), "logits": logits}
        entries[entry]({**tensors, **{name: Borrowed(array) for name, array in own.items()}})
        return logits[0, -1]

    row, chosen = run("prefill", prompt, 0), []
    for position in range(len(prompt), len(prompt) + 4):
        chosen.append(int(row.argmax()))
        row = run("decode", chosen[-1:], position)
    print(f"Python, {name}:", *chosen)


if __name__ == "__main__":
    main(*sys.argv[1:])
