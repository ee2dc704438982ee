"""Calls an entry of a Heddle module on NumPy arrays and PyTorch tensors, through ctypes and DLPack's struct."""
import ctypes
import json


class _Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _DataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _Context(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint64), ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_uint64),
                ("num_threads", ctypes.c_int32), ("reserved", ctypes.c_int32), ("parallel_for", ctypes.c_void_p),
                ("parallel_for_user", ctypes.c_void_p), ("message", ctypes.c_char * 1024)]


# DLPack's type codes: int 0, float 2, bfloat 4, bool 6.
_TYPES = {"f32": (2, 32), "f16": (2, 16), "bf16": (4, 16), "f64": (2, 64), "i64": (0, 64), "i32": (0, 32), "bool": (6, 8)}


class Call:
    """One entry with its arguments bound by name; calling it runs the entry."""

    def __init__(self, module, entry, tensors, threads):
        import torch
        described = next(e for e in module.description["entries"] if e["name"] == entry)
        self._keep, pointers = [], []
        for argument in described["args"]:
            tensor = tensors[argument["name"]]
            code, bits = _TYPES[argument["dtype"]]
            shape = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
            strides = (ctypes.c_int64 * tensor.dim())(*tensor.stride())
            dl = _Tensor(tensor.data_ptr(), _Device(1, 0), tensor.dim(), _DataType(code, bits, 1), shape, strides, 0)
            self._keep += [tensor, shape, strides, dl]
            pointers.append(ctypes.pointer(dl))
        self._arguments = (ctypes.POINTER(_Tensor) * len(pointers))(*pointers)
        self._context = _Context(struct_size=ctypes.sizeof(_Context), num_threads=threads)
        self._function = getattr(module.library, entry)
        size = ctypes.c_uint64()
        self._check(getattr(module.library, entry + "_workspace")(
            ctypes.byref(self._context), self._arguments, len(pointers), ctypes.byref(size)))
        self._workspace = torch.empty(size.value + 64, dtype=torch.uint8)
        self._context.workspace = (self._workspace.data_ptr() + 63) // 64 * 64
        self._context.workspace_bytes = size.value
        self.workspace_bytes = size.value

    def _check(self, status):
        if status != 0:
            raise RuntimeError(self._context.message.decode())

    def __call__(self):
        self._check(self._function(ctypes.byref(self._context), self._arguments, len(self._arguments)))


class Module:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.heddle_module_description.restype = ctypes.c_char_p
        self.description = json.loads(self.library.heddle_module_description())

    def bind(self, entry, tensors, threads):
        return Call(self, entry, tensors, threads)
