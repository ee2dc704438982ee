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
                ("num_threads", ctypes.c_int32), ("device", ctypes.c_int32), ("parallel_for", ctypes.c_void_p),
                ("parallel_for_user", ctypes.c_void_p), ("stream", ctypes.c_void_p),
                ("target", ctypes.c_char_p), ("message", ctypes.c_char * 1024)]


# DLPack's type codes: int 0, float 2, bfloat 4, bool 6. Its devices: CPU 1, CUDA 2.
_TYPES = {"f32": (2, 32), "f16": (2, 16), "bf16": (4, 16), "f64": (2, 64), "i64": (0, 64), "i32": (0, 32), "bool": (6, 8)}
CPU, CUDA = 1, 2


def dl_tensor(address, device, dtype, shape, strides):
    """A DLTensor; `device` is a pair of DLPack's type and the number."""
    code, bits = _TYPES[dtype]
    extents = ctypes.c_int64 * len(shape)
    tensor = _Tensor(address, _Device(*device), len(shape), _DataType(code, bits, 1), extents(*shape), extents(*strides), 0)
    tensor.keep = (tensor.shape, tensor.strides)
    return tensor


class Refused(RuntimeError):
    """A call that the module refused; `status` is its heddle_status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Call:
    """One entry with its arguments bound by name; calling it runs the entry."""

    def __init__(self, module, entry, tensors, threads=0):
        import torch
        described = next(e for e in module.description["entries"] if e["name"] == entry)
        self._keep, pointers = [], []
        device = torch.device("cpu")
        for argument in described["args"]:
            tensor = tensors[argument["name"]]
            device = tensor.device
            place = (CUDA, device.index) if device.type == "cuda" else (CPU, 0)
            dl = dl_tensor(tensor.data_ptr(), place, argument["dtype"], tensor.shape, tensor.stride())
            self._keep += [tensor, dl]
            pointers.append(ctypes.pointer(dl))
        self._arguments = (ctypes.POINTER(_Tensor) * len(pointers))(*pointers)
        self._context = _Context(struct_size=ctypes.sizeof(_Context), num_threads=threads)
        if device.type == "cuda":
            self._context.stream = torch.cuda.current_stream(device).cuda_stream
        self._function = getattr(module.library, entry)
        self.workspace_bytes = module.workspace(entry, self._context, self._arguments)
        self._workspace = torch.empty(self.workspace_bytes + 64, dtype=torch.uint8, device=device)
        self._context.workspace = (self._workspace.data_ptr() + 63) // 64 * 64
        self._context.workspace_bytes = self.workspace_bytes

    def use_stream(self, stream):
        """Later calls go to this stream of PyTorch's."""
        self._context.stream = stream.cuda_stream

    def __call__(self):
        status = self._function(ctypes.byref(self._context), self._arguments, len(self._arguments))
        if status:
            raise Refused(status, self._context.message.decode())


class Module:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.heddle_module_description.restype = ctypes.c_char_p
        self.description = json.loads(self.library.heddle_module_description())

    def bind(self, entry, tensors, threads=0):
        return Call(self, entry, tensors, threads)

    def workspace(self, entry, context, arguments):
        """Bytes that a call needs; `arguments` is an array of pointers to DLTensors."""
        size = ctypes.c_uint64()
        status = getattr(self.library, entry + "_workspace")(ctypes.byref(context), arguments, len(arguments), ctypes.byref(size))
        if status:
            raise Refused(status, context.message.decode())
        return size.value

    def refusal(self, entry, device, extent=16):
        """What the module says to a call whose tensors would be on `device`, all symbols being `extent`; None if it takes them."""
        described = next(e for e in self.description["entries"] if e["name"] == entry)
        tensors = []
        for argument in described["args"]:
            shape = [extent if isinstance(dim, str) else dim for dim in argument["shape"]]
            strides = [1] * len(shape)
            for i in reversed(range(len(shape) - 1)):
                strides[i] = strides[i + 1] * shape[i + 1]
            tensors.append(dl_tensor(None, device, argument["dtype"], shape, strides))
        arguments = (ctypes.POINTER(_Tensor) * len(tensors))(*map(ctypes.pointer, tensors))
        try:
            self.workspace(entry, _Context(struct_size=ctypes.sizeof(_Context)), arguments)
        except Refused as refused:
            return refused
        return None
