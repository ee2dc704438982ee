#!/usr/bin/env python3
"""Makes the folders of this directory that its README lists as made here: small random checkpoints and what transformers computes for them.

    generate.py OUT [NAME...]     needs torch and transformers (5.24 made what is stored)
    generate.py --margins N NAME  prints the seeds below N whose tokens are furthest from another choice of experts

Weights are drawn from a fixed seed and representable in bfloat16. Logits are those of float32 and eager attention: of the prompt in one
call, then of 8 greedy tokens, each fed with the cache.
"""
import argparse
import json
import os

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

STEPS = 8
SMALL = dict(vocab_size=97, hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=512)
PLAIN = dict(rope_type="default", rope_theta=10000.0)
# name: (seed, length of the prompt, type of the stored weights, config)
CASES = {
    "qwen3_moe": (85, 10, "bfloat16", dict(
        SMALL, model_type="qwen3_moe", head_dim=16, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=24,
        norm_topk_prob=True, rope_parameters=PLAIN)),
    "gpt_oss": (100, 22, "bfloat16", dict(
        SMALL, model_type="gpt_oss", head_dim=16, num_local_experts=4, num_experts_per_tok=2, intermediate_size=32, sliding_window=6,
        rope_parameters=dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=16, rope_theta=150000.0,
                             beta_fast=32.0, beta_slow=1.0, truncate=False))),
    "phi3_longrope": (0, 28, "float32", dict(
        SMALL, model_type="phi3", original_max_position_embeddings=32, partial_rotary_factor=0.5,
        rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.5,
                             short_factor=[1.0, 1.1, 1.2], long_factor=[2.0, 3.0, 4.5],
                             original_max_position_embeddings=32))),
    "deepseek_v3": (194, 10, "bfloat16", dict(
        SMALL, model_type="deepseek_v3", num_key_value_heads=4, q_lora_rank=None, kv_lora_rank=24, qk_nope_head_dim=16,
        qk_rope_head_dim=8, v_head_dim=12, n_routed_experts=8, num_experts_per_tok=2, n_group=2, topk_group=1,
        n_shared_experts=1, moe_intermediate_size=24, first_k_dense_replace=1, rope_parameters=PLAIN)),
}


def make_model(name, seed):
    config = dict(CASES[name][3])
    config = AutoConfig.for_model(config.pop("model_type"), **config, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter_name, parameter in sorted(model.named_parameters()):
            values = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 1:  # norms, biases, sinks
                values = 0.2 * values + float("norm" in parameter_name)
            elif "embed" in parameter_name:
                values = 0.5 * values
            else:  # queries and keys make attention far from uniform
                values = values * (1.6 if "q_" in parameter_name or "k_" in parameter_name else 1) / parameter.shape[-1] ** 0.5
            parameter.copy_(values.to(torch.bfloat16).float())
    model.tie_weights()
    tokens = torch.randint(0, config.vocab_size, (2, CASES[name][1]), generator=generator)
    return model, tokens


def run(model, tokens):
    """The tokens with the greedy ones behind them, and the logits of prompt and steps."""
    with torch.no_grad():
        out = model(tokens, use_cache=True)
        prefill, decoded = out.logits, []
        for _ in range(STEPS):
            chosen = out.logits[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, chosen], 1)
            out = model(chosen, past_key_values=out.past_key_values, use_cache=True)
            decoded.append(out.logits[:, -1])
    return tokens, prefill, torch.stack(decoded, 1)


def router_margin(name, seed):
    """The smallest distance of a chosen expert's score, or group's, from the best one that is not chosen."""
    model, tokens = make_model(name, seed)
    groups = getattr(model.config, "n_group", 1)
    margins = []

    def add(scores, count):
        best = scores.topk(count + 1, -1).values
        margins.append(float((best[:, count - 1] - best[:, count]).min()))

    def note(module, inputs, output):
        scores = torch.nn.functional.linear(inputs[0].reshape(-1, inputs[0].shape[-1]), module.weight, getattr(module, "bias", None))
        if groups > 1:
            scores = scores.sigmoid().unflatten(-1, (groups, -1))
            sums = scores.topk(2, -1).values.sum(-1)
            add(sums, model.config.topk_group)
            chosen = torch.zeros_like(sums).scatter(-1, sums.topk(model.config.topk_group, -1).indices, 1)
            scores = (scores * chosen.unsqueeze(-1)).flatten(1)
        add(scores, model.config.num_experts_per_tok)

    for module_name, module in model.named_modules():
        if module_name.endswith(("mlp.gate", "mlp.router")) and hasattr(module, "weight"):
            module.register_forward_hook(note)
    run(model, tokens)
    return min(margins)


def write(name, folder):
    seed, length, stored, _ = CASES[name]
    model, tokens = make_model(name, seed)
    tokens, prefill, decoded = run(model, tokens)
    model.to(getattr(torch, stored)).save_pretrained(folder)
    extra = os.path.join(folder, "generation_config.json")
    if os.path.exists(extra):
        os.remove(extra)
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    with open(path, "w") as file:
        json.dump(config, file, indent=2, sort_keys=True)
        file.write("\n")
    save_file(dict(tokens=tokens.contiguous(), prompt_length=torch.tensor([length]), logits_prefill=prefill.contiguous(),
                   logits_decode=decoded.contiguous()), os.path.join(folder, "expected.safetensors"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--margins", type=int)
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.margins:
        for name in options.arguments:
            best = sorted(((router_margin(name, seed), seed) for seed in range(options.margins)), reverse=True)
            print(name, best[:4])
        return
    out, *names = options.arguments
    for name in names or CASES:
        write(name, os.path.join(out, name))


if __name__ == "__main__":
    main()
