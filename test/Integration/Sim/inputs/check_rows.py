"""Checks the statistics of rows that see no key.

    check_rows.py FOLDER COUNT [MASS ...]

The first COUNT queries see none. MASS: what the sinks of the first heads take of every row; the others take 1 where no key is seen.
"""

import ast
import struct
import sys


def read_f32(path):
    """The shape and the elements of a .npy file of float32."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + size].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    body = data[10 + size :]
    return header["shape"], struct.unpack(f"<{len(body) // 4}f", body)


def main():
    folder, count, masses = sys.argv[1], int(sys.argv[2]), [float(mass) for mass in sys.argv[3:]]
    for name, expected in (("lse", float("-inf")), ("max", float("-inf")), ("mass", 1.0)):
        (_, heads, queries), values = read_f32(f"{folder}/{name}.npy")
        for row, value in enumerate(values):
            head = row // queries % heads
            if name == "mass" and head < len(masses):
                assert value == masses[head], (name, row, value)
                continue
            assert (value == expected) == (row % queries < count), (name, row, value)


main()
