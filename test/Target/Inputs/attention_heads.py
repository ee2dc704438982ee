"""attention_heads.py TYPE ATTRIBUTES DIM[xVALUES]...

Prints a module with an entry of attention for each head dimension, or pair of those of keys and values: attend_DIM_VALUES.
"""
import sys

TYPE, ATTRIBUTES, *DIMS = sys.argv[1:]
for each in DIMS:
    key, value = (each.split("x") * 2)[:2]
    tensors = [f"tensor<?x?x{heads}x{dim}x{TYPE}>" for heads, dim in ((8, key), (2, key), (2, value), (8, value))]
    query, keys, values, result = tensors
    print(f"""func.func @attend_{key}_{value}(%q: {query} {{heddle.dims = ["B", "L", 8, {key}]}}, %k: {keys} {{heddle.dims = ["B", "S", 2, {key}]}},
    %v: {values}) -> {result} {{
  %o = attn.attention %q, %k, %v {{{ATTRIBUTES}}} : ({query}, {keys}, {values}) -> {result}
  return %o : {result}
}}""")
