"""Compares the module of own-kernel with its formula, in double precision and the standard library alone.

    python3 examples/own_kernel/check.py build/bin/heddle-run MODULE.so [TARGET...]
"""
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

BATCH, LENGTH, KEYS, HEADS, DIM = 1, 70, 130, 2, 64
SCALE, OFFSET = 0.125, -4.0


def write(path, shape, values):
    header = f"{{'descr': '<f2', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}e", *values))


def read(path):
    data = path.read_bytes()
    body = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return struct.unpack(f"<{len(body) // 2}e", body)


def formula(q, k, v):
    out = []
    row = lambda tensor, at, head: tensor[(at * HEADS + head) * DIM:][:DIM]
    for query in range(LENGTH):
        for head in range(HEADS):
            acc = [0.0] * DIM
            for key in range(KEYS - LENGTH + query + 1):
                s = sum(a * b for a, b in zip(row(q, query, head), row(k, key, head)))
                weight = 1 / (1 + math.exp(-SCALE * s - OFFSET))
                acc = [a + weight * x for a, x in zip(acc, row(v, key, head))]
            out += acc
    return out


def main(heddle_run, module, *targets):
    random.seed(1)
    folder = pathlib.Path(tempfile.mkdtemp())
    tensors, command = {}, [heddle_run, module]
    for name, rows in (("q", LENGTH), ("k", KEYS), ("v", KEYS)):
        write(folder / f"{name}.npy", (BATCH, rows, HEADS, DIM), [random.gauss(0, 1) for _ in range(BATCH * rows * HEADS * DIM)])
        tensors[name] = read(folder / f"{name}.npy")
        command += ["--input", f"{name}={folder / name}.npy"]
    expected = formula(**tensors)
    for target in targets or ("cpu", "sim-sm_80"):
        subprocess.run(command + ["--target", target, "--output", f"o={folder / 'o.npy'}"], check=True)
        error = math.dist(read(folder / "o.npy"), expected) / math.hypot(*expected)
        print(f"{target}: relative error {error:.1e}: {'ok' if error < 1e-3 else 'WRONG'}")
        if not error < 1e-3:
            sys.exit(1)


main(*sys.argv[1:])
