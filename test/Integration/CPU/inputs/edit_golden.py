"""Copies a golden file with changes: edit_golden.py SOURCE TARGET [change...]

  set TENSOR INDEX VALUE   sets element INDEX of a float32 tensor
  drop TENSOR              leaves a tensor out
  rename TENSOR NAME       gives a tensor another name
  attribute CASE KEY JSON  sets an attribute of a case
  metadata KEY TEXT        sets a metadata value
"""

import json
import struct
import sys


def main(source, target, *words):
    with open(source, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["dtype"], entry["shape"], bytearray(data[begin:end]))

    words = list(words)
    while words:
        verb = words.pop(0)
        if verb == "set":
            name, index, value = (words.pop(0) for _ in range(3))
            struct.pack_into("<f", tensors[name][2], 4 * int(index), float(value))
        elif verb == "drop":
            del tensors[words.pop(0)]
        elif verb == "rename":
            old, new = words.pop(0), words.pop(0)
            tensors[new] = tensors.pop(old)
        elif verb == "attribute":
            case, key, value = (words.pop(0) for _ in range(3))
            cases = json.loads(metadata["cases"])
            cases[case][key] = json.loads(value)
            metadata["cases"] = json.dumps(cases)
        elif verb == "metadata":
            key = words.pop(0)
            metadata[key] = words.pop(0)
        else:
            sys.exit(f"unknown change {verb}")

    header, body = {"__metadata__": metadata}, bytearray()
    # Wide elements first, so that each tensor is aligned.
    for name, (dtype, shape, content) in sorted(tensors.items(), key=lambda item: item[1][0] == "BOOL"):
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


main(*sys.argv[1:])
