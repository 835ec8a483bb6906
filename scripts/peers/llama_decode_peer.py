#!/usr/bin/env python3
"""How fast transformers reads and writes texts with a language model in GGUF; prints one line of JSON in llama-bench's terms.

The weights are dequantized, as transformers does it. Prefill reads --tokens random tokens at once, decode writes as many, token
by token, each the likeliest after the last.
"""
import argparse
import json
import pathlib
import statistics
import time

import torch
import transformers


def read_tokens(model, ids):
    return model(input_ids=ids, use_cache=True, logits_to_keep=1)


def write_tokens(model, first, count):
    cache, token = None, first
    for _ in range(count):
        answer = model(input_ids=token, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache, token = answer.past_key_values, answer.logits[:, -1:].argmax(-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path, help="GGUF file")
    parser.add_argument("--scenario", choices=["prefill", "decode"], default="decode")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--threads", type=int, default=0, help="0: all cores this process may use")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        options.model.parent, gguf_file=options.model.name, dtype={"fp32": torch.float32, "bf16": torch.bfloat16}[options.dtype]).eval()
    ids = torch.randint(model.config.vocab_size, (1, options.tokens))
    rates = []
    with torch.inference_mode():
        for repeat in range(options.repeats + 1):  # the first warms up
            begin = time.perf_counter()
            if options.scenario == "prefill":
                read_tokens(model, ids)
            else:
                write_tokens(model, ids[:, :1], options.tokens)
            if repeat > 0:
                rates.append(options.tokens / (time.perf_counter() - begin))
    print(json.dumps({"framework": f"transformers {transformers.__version__}, PyTorch {torch.__version__}", "dtype": options.dtype,
                      "tokens_per_second": statistics.mean(rates), "threads": torch.get_num_threads()}))


if __name__ == "__main__":
    main()
