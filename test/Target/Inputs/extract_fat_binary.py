"""extract_fat_binary.py MODULE FILE: writes the first fat binary that a module holds."""
import struct
import sys

data = open(sys.argv[1], "rb").read()
start = data.index(struct.pack("<IH", 0xBA55ED50, 1))
_, _, header, size = struct.unpack_from("<IHHQ", data, start)
open(sys.argv[2], "wb").write(data[start:start + header + size])
