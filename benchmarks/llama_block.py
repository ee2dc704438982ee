"""The sizes of one block of Llama-3.2-1B, and a checkpoint folder of that size to compile."""
import json
import math
import struct

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, INNER, EPS = 2048, 32, 8, 64, 8192, 1e-5
PREFIX = "model.layers.0."
SHAPES = {
    "input_layernorm.weight": [HIDDEN], "post_attention_layernorm.weight": [HIDDEN],
    "self_attn.q_proj.weight": [HEADS * HEAD_DIM, HIDDEN], "self_attn.k_proj.weight": [KV_HEADS * HEAD_DIM, HIDDEN],
    "self_attn.v_proj.weight": [KV_HEADS * HEAD_DIM, HIDDEN], "self_attn.o_proj.weight": [HIDDEN, HEADS * HEAD_DIM],
    "mlp.gate_proj.weight": [INNER, HIDDEN], "mlp.up_proj.weight": [INNER, HIDDEN], "mlp.down_proj.weight": [HIDDEN, INNER],
}
CONFIG = {
    "model_type": "llama", "hidden_size": HIDDEN, "num_hidden_layers": 1, "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "intermediate_size": INNER, "vocab_size": 16,
    "rms_norm_eps": EPS, "rope_theta": 500000.0, "max_position_embeddings": 131072, "tie_word_embeddings": True,
}


def write_checkpoint(folder, dtype):
    """config.json and a file with the right shapes and a hole for data: compiling reads no weight. `dtype` is f32 or bf16."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    tensors = {"model.embed_tokens.weight": [16, HIDDEN], "model.norm.weight": [HIDDEN]}
    tensors.update({PREFIX + name: shape for name, shape in SHAPES.items()})
    header, at = {}, 0
    for name, shape in tensors.items():
        size = {"f32": 4, "bf16": 2}[dtype] * math.prod(shape)
        header[name] = {"dtype": dtype.upper(), "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)
