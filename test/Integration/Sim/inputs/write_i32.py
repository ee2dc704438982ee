"""Writes integers to a .npy file: write_i32.py FILE VALUE ..."""
import struct
import sys

values = [int(text) for text in sys.argv[2:]]
header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(values)},), }}".encode()
header += b" " * (-(len(header) + 11) % 64) + b"\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}i", *values))
