"""Writes model.safetensors with zeros: write_checkpoint.py FOLDER < lines of "name dtype extent...".

A "#" starts a comment. A line "repeat N" repeats the lines up to "end" with {i} replaced by 0 .. N-1.
"""
import json
import struct
import sys

SIZES = {"F32": 4, "F16": 2, "BF16": 2, "I8": 1, "I64": 8}


def expand(lines):
    result, block, count = [], None, 0
    for line in (line.split("#")[0].split() for line in lines):
        if line[:1] == ["repeat"]:
            block, count = [], int(line[1])
        elif line == ["end"]:
            result += [[word.replace("{i}", str(i)) for word in entry] for i in range(count) for entry in block]
            block = None
        elif line:
            (result if block is None else block).append(line)
    return result


header, offset = {}, 0
for name, dtype, *shape in expand(sys.stdin):
    shape = [int(extent) for extent in shape]
    size = SIZES[dtype]
    for extent in shape:
        size *= extent
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
    offset += size
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1] + "/model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + bytes(offset))
