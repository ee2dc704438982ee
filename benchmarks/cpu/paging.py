"""Makes a module for caches in pages out of the one for caches in one piece.

attn.attention has no page table yet, but its kernels are ready for one: with views of keys and values gathered through a table all else stays
as it is, which test/unit/Integration/PagedDecodeTest.cpp checks. So this takes the kernels that attn-to-tile builds, and exchanges the views.
"""
import re
import subprocess

from .paths import BENCH, ROOT

TABLES = "memref<?x?xi32, strided<[?, 1], offset: ?>>"


def _replace(pattern, replacement, text, count):
    text, found = re.subn(pattern, replacement, text)
    if found != count:
        raise RuntimeError(f"paging: found '{pattern}' {found} times in the kernels, expected {count}")
    return text


def paged_source(name, source):
    """`source` has an entry (q, k, v, lengths) -> o. Those of k and v become [pages, page, heads, dim], and a last argument is `tables`."""
    contiguous, lowered = BENCH / f"{name}.contiguous.mlir", BENCH / f"{name}.kernels.mlir"
    contiguous.write_text(source)
    subprocess.run([ROOT / "build/bin/heddle-compile", contiguous, "--emit=linalg", "-o", lowered], check=True)
    text = lowered.read_text()

    # The kernel: both views, once for whole blocks and once for the last ones.
    array = r"memref<\?x\?x\?x\?x(\w+), strided<\[\?, \?, \?, 1\], offset: \?>>"
    text = _replace(rf"(%subview\w*) = memref\.subview (%arg[12])\[%1, 0, (%\w+), 0\] \[1, (%\w+), 1, \d+\] \[1, 1, 1, 1\] : ({array}) to .*\n"
                    r"( *%\w+) = tile\.view \1\[:, :\] : .*",
                    r"\7 = tile.gather_view \2[table %table, page, \3, :] rows(\4) : \5, !tile.view<?xi32> -> !tile.view<?x?x\6>", text, 4)
    text = _replace(r"!tile\.view<\?x\d+x(\w+)>", r"!tile.view<?x?x\1>", text, 4)
    text = _replace(r"(@decode_attention\(.*?%arg3: memref<\?xi32, strided<\[1\], offset: \?>>)", rf"\1, %tables: {TABLES}", text, 1)
    text = _replace(rf"(    %3 = memref\.load %arg3\[%1\])", rf"    %table = tile.view %tables[%1, :] : {TABLES} -> !tile.view<?xi32>\n\1", text, 1)

    # The entry: keys there are as many as the tables have places.
    text = _replace(r'\["d0", "d1", (\d+), (\d+)\]', r'["pages", "page", \1, \2]', text, 2)
    text = _replace(r'(%arg3: tensor<\?xi32> \{[^}]*\})\)', r'\1, %tables: tensor<?x?xi32> {heddle.dims = ["d0", "entries"], heddle.name = "tables"})', text, 1)
    text = _replace(r"%dim_0 = (tensor\.dim %arg1, %c1 : .*)",
                    r"%page = \1\n    %entries = tensor.dim %tables, %c1 : tensor<?x?xi32>\n    %dim_0 = arith.muli %page, %entries : index", text, 1)
    text = _replace(r"ins\(%arg0, %arg1, %arg2, %arg3 : (.*?), tensor<\?xi32>\)", r"ins(%arg0, %arg1, %arg2, %arg3, %tables : \1, tensor<?xi32>, tensor<?x?xi32>)", text, 1)
    return text
