"""Asks a module's entry @outer for its workspace: query_workspace.py MODULE.so ROWS COLUMNS. Prints what came back."""

import ctypes
import sys


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Context(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint64), ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_uint64),
                ("num_threads", ctypes.c_int32), ("device", ctypes.c_int32), ("parallel_for", ctypes.c_void_p),
                ("parallel_for_user", ctypes.c_void_p), ("stream", ctypes.c_void_p),
                ("target", ctypes.c_char_p), ("message", ctypes.c_char * 1024)]


module = ctypes.CDLL(sys.argv[1])
rows, columns = int(sys.argv[2]), int(sys.argv[3])
tensors = [Tensor(None, 1, 0, 1, 2, 32, 1, (ctypes.c_int64 * 1)(extent), None, 0) for extent in (rows, columns, rows)]
arguments = (ctypes.POINTER(Tensor) * 3)(*map(ctypes.pointer, tensors))
context = Context(struct_size=ctypes.sizeof(Context))
size = ctypes.c_uint64()
print("status", module.outer_workspace(ctypes.byref(context), arguments, 3, ctypes.byref(size)), "bytes", size.value)
print("null status", module.outer_workspace(ctypes.byref(context), arguments, 3, None), context.message.decode())
