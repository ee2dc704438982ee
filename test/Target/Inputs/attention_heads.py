"""attention_heads.py TYPE VARIANT[,VARIANT...] DIM[xVALUES]...

Prints a module with an entry of attention for each variant and head dimension, or pair of those of keys and values: attend_DIM_VALUES, with the
parts of the variant behind. A variant is a list of parts, such as causal+window+sinks; "full" has none. Unknown parts are errors.
"""
import sys

ATTRIBUTES = {"causal": "causal", "window": "window = array<i64: 255, 0>", "global": "window = array<i64: 255, 0>, global_keys = 4 : i64",
              "band": "window = array<i64: 255, 255>", "softcap": "softcap = 30.0 : f64", "lse": "return_lse", "statistics": "return_lse, return_max"}
OPERANDS = {"bias": {"bias": "?x8x?x?xTYPE"}, "mask": {"mask": "?x1x?x?xi1"}, "sinks": {"sinks": "8xTYPE"}, "alibi": {"alibi_slopes": "8xf32"},
            "lengths": {"kv_len": "?xi32"}, "pages": {"kv_len": "?xi32", "block_table": "?x?xi32"}}
# Keys to the right of the query count half.
REGION = """ score(%s, %batch, %head, %query, %key) {
    %right = arith.cmpi sgt, %key, %query : index
    %half = arith.constant 0.5 : f32
    %less = arith.mulf %s, %half : f32
    %score = arith.select %right, %less, %s : f32
    attn.yield %score : f32
  }"""

PARTS = {"full", "score", *ATTRIBUTES, *OPERANDS}

TYPE, VARIANTS, *DIMS = sys.argv[1:]


def entry(parts, key, value):
    rows = "?x16" if "pages" in parts else "?x?"
    query, keys, values, result = (f"tensor<{extents}x{heads}x{dim}x{TYPE}>" for extents, heads, dim in
                                   (("?x?", 8, key), (rows, 2, key), (rows, 2, value), ("?x?", 8, value)))
    dims = "" if "pages" in parts else f' {{heddle.dims = ["B", "S", 2, {key}]}}'
    operands = {name: f"tensor<{kind.replace('TYPE', TYPE)}>" for part in parts for name, kind in OPERANDS.get(part, {}).items()}
    clauses = "".join(f" {name}(%{name} : {kind})" for name, kind in operands.items())
    attributes = ", ".join(ATTRIBUTES[part] for part in parts if part in ATTRIBUTES)
    results = [result] + ["tensor<?x8x?xf32>"] * attributes.count("return_")
    values_of = ", ".join(f"%r{i}" for i in range(len(results)))
    kinds = ", ".join(results)
    name = "_".join(["attend", key, value, *(part for part in parts if part not in ("causal", "full"))])
    return f"""func.func @{name}(%q: {query} {{heddle.dims = ["B", "L", 8, {key}]}}, %k: {keys}{dims},
    %v: {values}{"".join(f", %{each}: {kind}" for each, kind in operands.items())}) -> ({kinds}) {{
  {values_of} = attn.attention %q, %k, %v{clauses} {{{attributes}}} : ({query}, {keys}, {values}) -> {kinds if len(results) == 1 else f"({kinds})"}{REGION if "score" in parts else ""}
  return {values_of} : {kinds}
}}"""


for variant in VARIANTS.split(","):
    if unknown := [part for part in variant.split("+") if part not in PARTS]:
        sys.exit(f"attention_heads: variant '{variant}' has unknown parts: {', '.join(unknown)}; expected some of {', '.join(sorted(PARTS))}")
    for each in DIMS:
        print(entry(variant.split("+"), *(each.split("x") * 2)[:2]))
