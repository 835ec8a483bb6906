"""What the peers that translate the lines of a file share: their options, the lines' tokens, the comparison with what ptrain
wrote, and one line of JSON that says how fast it was."""
import argparse
import json
import os
import pathlib
import time

import tokenizers


def parse_options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("model", type=pathlib.Path, help="folder with config.json, model.safetensors and tokenizer.json")
    parser.add_argument("file", type=pathlib.Path, help="a text a line")
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lines", type=int, default=0, help="the first lines alone; 0: all")
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--against", type=pathlib.Path, help="what ptrain wrote: a translation a line")
    return parser.parse_args()


def translate_lines(options, end, framework, translate):
    """Translates the file by `translate`, which takes texts' tokens, each with the token `end`, and returns those of their
    translations, without it; a blank line's is blank, as ptrain's is. Returns 1 if texts differ from those of
    options.against."""
    tokenizer = tokenizers.Tokenizer.from_file(str(options.model / "tokenizer.json"))
    with options.file.open(encoding="utf-8") as file:
        lines = [line.rstrip("\r\n") for line in file][:options.lines or None]
    rows = [tokenizer.encode(line, add_special_tokens=False).ids + [end] for line in lines]
    asked = [i for i, line in enumerate(lines) if line.strip(" \t")]
    texts, tokens, seconds = [""] * len(lines), 0, 0.0
    for first in range(0, len(asked), options.batch):
        batch = asked[first:first + options.batch]
        begin = time.perf_counter()
        answers = translate([rows[i] for i in batch])
        seconds += time.perf_counter() - begin
        tokens += sum(map(len, answers))
        for i, answer in zip(batch, answers):
            texts[i] = tokenizer.decode(answer)
    equal = compare(options.against, lines, texts) if options.against else None
    if equal is None:
        print("\n".join(texts))
    print(json.dumps({"framework": framework, "texts": len(texts), "tokens": tokens, "equal_texts": equal,
                      "tokens_per_second": round(tokens / seconds, 1), "threads": options.threads}))
    return int(equal is not None and equal < len(texts))


def compare(path, lines, texts):
    """The number of texts that are those of the file; prints the others."""
    with path.open(encoding="utf-8") as file:
        others = [line.rstrip("\n") for line in file]
    if len(others) != len(texts):
        raise SystemExit(f"{path}: has {len(others)} lines, expected {len(texts)}")
    for line, mine, theirs in zip(lines, texts, others):
        if mine != theirs:
            print(f"{line}\n  this:   {mine}\n  ptrain: {theirs}")
    return sum(mine == theirs for mine, theirs in zip(texts, others))
