#!/usr/bin/env python3
"""Translates the lines of a file by transformers' MarianMTModel, from the folder of a model that ptrain trained: what `ptrain
infer FOLDER FILE --beams N` is to print. With --against FILE it compares with that output; one line of JSON says how fast it was.
"""
import argparse
import json
import pathlib
import time

import tokenizers
import torch
import transformers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path, help="folder with config.json, model.safetensors and tokenizer.json")
    parser.add_argument("file", type=pathlib.Path, help="a text a line")
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lines", type=int, default=0, help="the first lines alone; 0: all")
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--against", type=pathlib.Path, help="what ptrain wrote: a translation a line")
    options = parser.parse_args()
    tokenizer = tokenizers.Tokenizer.from_file(str(options.model / "tokenizer.json"))
    model = transformers.MarianMTModel.from_pretrained(options.model).eval()
    end = model.config.eos_token_id
    lines = options.file.read_text(encoding="utf-8").splitlines()[:options.lines or None]
    texts, tokens, seconds = [], 0, 0.0
    for first in range(0, len(lines), options.batch):
        rows = [tokenizer.encode(line, add_special_tokens=False).ids + [end] for line in lines[first:first + options.batch]]
        longest = max(map(len, rows))
        ids = torch.tensor([row + [end] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        begin = time.perf_counter()
        with torch.inference_mode():
            answers = model.generate(input_ids=ids, attention_mask=mask, num_beams=options.beams, do_sample=False,
                                     max_new_tokens=options.max_tokens, early_stopping=False, length_penalty=1.0)
        seconds += time.perf_counter() - begin
        for answer in answers.tolist():
            answer = answer[1:]
            answer = answer[:answer.index(end)] if end in answer else answer
            tokens += len(answer)
            texts.append(tokenizer.decode(answer))
    if options.against:
        other = options.against.read_text(encoding="utf-8").splitlines()
        for line, mine, theirs in zip(lines, texts, other):
            if mine.strip() != theirs.strip():
                print(f"{line}\n  transformers: {mine}\n  ptrain:       {theirs}")
        same = sum(mine.strip() == theirs.strip() for mine, theirs in zip(texts, other))
        print(f"{same} of {len(texts)} texts are equal")
    else:
        print("\n".join(texts))
    print(json.dumps({"framework": f"transformers {transformers.__version__}, PyTorch {torch.__version__}", "texts": len(texts),
                      "tokens": tokens, "tokens_per_second": round(tokens / seconds, 1), "threads": torch.get_num_threads()}))


if __name__ == "__main__":
    main()
