#!/usr/bin/env python3
"""Writes tests/golden/blocks.gguf, tensors of every type that can be read, and blocks.safetensors, what the package gguf
makes of them, with the rows of queries and keys in transformers' order.

    python3 -m pip install gguf numpy
    python3 tests/golden/make_gguf_golden.py
"""
import pathlib

import gguf
import numpy as np

import safetensors_file

FOLDER = pathlib.Path(__file__).parent
WIDTH = 256
QUANTIZED = {"Q4_0": 18, "Q4_1": 20, "Q8_0": 34, "Q4_K": 144, "Q5_K": 176, "Q6_K": 210}
HEADS, KEY_HEADS, DEPTH = 4, 2, 8


def random_blocks(random, name, rows):
    """Any bytes are blocks, but for scales that are no finite numbers."""
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    assert size == QUANTIZED[name]
    blocks = random.integers(0, 256, (rows * WIDTH // elements, size), dtype=np.uint8)
    scales = {"Q4_0": [0], "Q8_0": [0], "Q6_K": [208]}.get(name, [0, 2])
    for at in scales:
        half = (random.standard_normal(len(blocks)) * 0.01).astype(np.float16)
        blocks[:, at:at + 2] = half.view(np.uint8).reshape(-1, 2)
    return blocks.reshape(rows, -1)


def interleave(weight, heads):
    """As llama.cpp's conversion of transformers' weights does."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def main():
    random = np.random.default_rng(5)
    writer = gguf.GGUFWriter(FOLDER / "blocks.gguf", "llama")
    writer.add_block_count(1)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_rope_freq_base(1e5)
    writer.add_token_list(["<s>", "a", "\u0120b"])
    expected = {}

    def add(name, values, kind, dequantized, other_name=None):
        writer.add_tensor(name, values, raw_dtype=kind)
        floats = np.ascontiguousarray(dequantized, dtype="<f4")
        expected[other_name or name] = "F32", floats.shape, floats.tobytes()

    for name in QUANTIZED:
        kind = gguf.GGMLQuantizationType[name]
        blocks = random_blocks(random, name, 3)
        add(name.lower(), blocks, kind, gguf.dequantize(blocks, kind))
    for name in ("F32", "F16", "BF16"):
        kind = gguf.GGMLQuantizationType[name]
        values = gguf.quantize(random.standard_normal((2, 3, 5)).astype(np.float32), kind)
        add(name.lower(), values, kind, gguf.dequantize(values, kind))
    for part, heads, other in (("attn_q", HEADS, "q_proj"), ("attn_k", KEY_HEADS, "k_proj")):
        values = random.standard_normal((heads * DEPTH, 3)).astype(np.float32)
        add(f"blk.0.{part}.weight", interleave(values, heads), gguf.GGMLQuantizationType.F32, values,
            f"model.layers.0.self_attn.{other}.weight")
    add("token_embd.weight", values[:3], gguf.GGMLQuantizationType.F32, values[:3], "model.embed_tokens.weight")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    safetensors_file.write(FOLDER / "blocks.safetensors", expected, {"made_with": "gguf"})


if __name__ == "__main__":
    main()
