#!/usr/bin/env python3
"""Whether ptrain says of texts what transformers says by the same GGUF file, its weights dequantized: the perplexity of a file
of sentences, and how its first sentences go on when each token is the likeliest, alone and in batches.

    .deps/peers/bin/python scripts/peers/llama_text_peer.py MODEL.gguf --texts SENTENCES.txt

Exit code 1 where a perplexity differs by more than 1e-4 of itself, or a text by a character.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(options, *command):
    return subprocess.run([options.ptrain, *map(str, command)], check=True, stdout=subprocess.PIPE, text=True).stdout


def perplexity_of_ptrain(options, folder):
    settings = {"model.weights": options.model, "data.vocab": options.model, "data.path": options.texts.parent,
                "data.train_file": options.texts.name, "data.dev_file": options.texts.name, "data.max_length": options.length,
                "data.batch_size": 8}
    overrides = [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
    run(options, "eval", ROOT / "configs/zoo/llama.yaml", "--amp", "O0", "--out", folder, "--quiet", *overrides)
    return json.loads((folder / "report.json").read_text())["evaluation"]["metrics"]["perplexity"]["value"]


def perplexity_of_transformers(options, model, tokenizer):
    """The file's tokens, cut into blocks; a rest is left out."""
    lines = options.texts.read_text().splitlines(keepends=True)
    ids = torch.tensor([token for line in lines for token in tokenizer(line, add_special_tokens=False)["input_ids"]])
    blocks = ids[:len(ids) // options.length * options.length].view(-1, options.length)
    total = 0.0
    for batch in blocks.split(8):
        logits = model(input_ids=batch).logits[:, :-1]
        total += torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten(), reduction="sum").item()
    return math.exp(total / (blocks.shape[0] * (options.length - 1)))


def texts_of_ptrain(options, prompts, batch):
    out = run(options, "infer", options.model, *prompts, "--weights", "full", "--temperature", 0, "--tokens", options.tokens,
              "--batch", batch, "--format", "jsonl", "--progress", "none")
    return [json.loads(line)["text"] for line in out.splitlines()]


def texts_of_transformers(options, model, tokenizer, prompts, batch, cache):
    texts = []
    for begin in range(0, len(prompts), batch):
        inputs = tokenizer(prompts[begin:begin + batch], return_tensors="pt", padding=True, add_special_tokens=False)
        ids = model.generate(**inputs, max_new_tokens=options.tokens, do_sample=False, use_cache=cache,
                             pad_token_id=tokenizer.pad_token_id)
        texts += tokenizer.batch_decode(ids[:, inputs["input_ids"].shape[1]:], skip_special_tokens=True)
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path, help="GGUF file")
    parser.add_argument("--texts", type=pathlib.Path, required=True, help="a sentence per line")
    parser.add_argument("--length", type=int, default=128, help="tokens of a block")
    parser.add_argument("--tokens", type=int, default=64, help="new tokens of a text")
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--ptrain", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain")
    options = parser.parse_args()
    options.model, options.texts = options.model.absolute(), options.texts.absolute()
    read = {"pretrained_model_name_or_path": options.model.parent, "gguf_file": options.model.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**read, padding_side="left")
    model = transformers.AutoModelForCausalLM.from_pretrained(**read, dtype=torch.float32).eval()
    model.generation_config = transformers.GenerationConfig(eos_token_id=tokenizer.eos_token_id)
    right = True
    with torch.inference_mode():
        with tempfile.TemporaryDirectory() as folder:
            ours = perplexity_of_ptrain(options, pathlib.Path(folder) / "eval")
        theirs = perplexity_of_transformers(options, model, tokenizer)
        right &= abs(ours / theirs - 1) < 1e-4
        print(f"perplexity: ptrain {ours:.4f}, transformers {theirs:.4f}, relative difference {ours / theirs - 1:.1e}", flush=True)
        prompts = [line for line in options.texts.read_text().splitlines() if line.strip()][:options.prompts]
        for batch in (1, 8):
            ours = texts_of_ptrain(options, prompts, batch)
            for cache in (True, False):
                theirs = texts_of_transformers(options, model, tokenizer, prompts, batch, cache)
                equal = sum(a == b for a, b in zip(ours, theirs))
                right &= equal == len(prompts) == len(ours)
                print(f"batch {batch}, transformers {'with' if cache else 'without'} a cache: {equal} of {len(prompts)} texts are equal",
                      flush=True)
                for a, b in zip(ours, theirs):
                    if a != b:
                        print(f"  ptrain:       {a!r}\n  transformers: {b!r}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
