#!/usr/bin/env python3
"""Writes click logs of planted odds, whose words are spread by Zipf's law: FOLDER/train.txt and FOLDER/dev.txt.

Usage: click_log.py FOLDER [--rows 100000000] [--dev-rows 1000000] [--form slots] [--slots 8] [--words 10000000]
                    [--exponent 1.1] [--seed 1]
--form slots is read by data.source slots with data.slots of that many and data.bag_size 1, criteo by data.source criteo
(its 13 numbers do not matter, and --slots is 26). Each word has a hidden weight; the logit of a click is -1 plus the
weights of the row's words. Prints the AUC of the true odds over dev.txt, which is the most that any model can reach, the
distinct words that were drawn, and bytes. About 100 MB a second.
"""
import argparse
import json
import pathlib

CRITEO_SLOTS, CRITEO_NUMBERS = 26, 13


def draw_ranks(random, shape, words, exponent):
    """Of Zipf's law over 0 .. words-1, by the inverse of its continuous form."""
    power = 1 - exponent
    spread = (words + 1.0) ** power - 1
    return ((1 + random.random(shape) * spread) ** (1 / power)).astype(numpy.int64) - 1


def mix(values):
    """splitmix64's last step."""
    values = values.astype(numpy.uint64)
    values = (values ^ values >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    return values ^ values >> numpy.uint64(31)


def hidden_weights(ranks, slots):
    """[rows, slots], of mean 0; the weights of a row's words have a standard deviation of 1.5 in all."""
    columns = numpy.arange(slots, dtype=numpy.int64) << 40
    uniform = (mix(ranks + columns) >> numpy.uint64(40)).astype(numpy.float64) / 2**24
    return (uniform - 0.5) * numpy.sqrt(12 / slots) * 1.5


def hexadecimal(ranks):
    """Eight digits of each rank; no two ranks have the same."""
    words = (ranks.astype(numpy.uint64) * numpy.uint64(2654435761) & numpy.uint64(0xFFFFFFFF)).astype(">u4")
    digits = numpy.frombuffer(b"0123456789abcdef", numpy.uint8)
    octets = words.view(numpy.uint8).reshape(*ranks.shape, 4)
    return numpy.stack([digits[octets >> 4], digits[octets & 15]], -1).reshape(*ranks.shape, 8)


def slots_lines(labels, words):
    """"LABEL 1:WORD 2:WORD ..." as rows of characters."""
    rows, slots, _ = words.shape
    fields = [numpy.where(labels, ord("1"), ord("0")).astype(numpy.uint8)[:, None]]
    for slot in range(slots):
        name = numpy.frombuffer(f" {slot + 1}:".encode(), numpy.uint8)
        fields += [numpy.broadcast_to(name, (rows, len(name))), words[:, slot]]
    return fields


def criteo_lines(labels, words):
    rows = len(words)
    tab = numpy.full((rows, 1), ord("\t"), numpy.uint8)
    fields = [numpy.where(labels, ord("1"), ord("0")).astype(numpy.uint8)[:, None]]
    for number in range(CRITEO_NUMBERS):
        fields += [tab, numpy.full((rows, 1), ord("0") + number % 10, numpy.uint8)]
    for slot in range(CRITEO_SLOTS):
        fields += [tab, words[:, slot]]
    return fields


def area_under_curve(scores, labels):
    order = numpy.argsort(scores, kind="stable")
    ranks = numpy.empty(len(scores))
    ranks[order] = numpy.arange(1, len(scores) + 1)
    clicks = int(labels.sum())
    return (ranks[labels].sum() - clicks * (clicks + 1) / 2) / (clicks * (len(labels) - clicks))


def write(path, rows, seed, args, seen=None):
    """Marks drawn words in `seen`; without it, returns the logits and the clicks of all rows."""
    random = numpy.random.default_rng([args.seed, seed])
    lines = criteo_lines if args.form == "criteo" else slots_lines
    odds, clicks = [], []
    with open(path, "wb") as file:
        for begin in range(0, rows, 100_000):
            count = min(100_000, rows - begin)
            ranks = draw_ranks(random, (count, args.slots), args.words, args.exponent)
            logits = hidden_weights(ranks, args.slots).sum(1) - 1
            labels = random.random(count) < 1 / (1 + numpy.exp(-logits))
            fields = lines(labels, hexadecimal(ranks))
            fields.append(numpy.full((count, 1), ord("\n"), numpy.uint8))
            file.write(numpy.concatenate(fields, 1).tobytes())
            if seen is None:
                odds.append(logits.astype(numpy.float32))
                clicks.append(labels)
            else:
                for slot in range(args.slots):
                    seen[slot][ranks[:, slot]] = True
    return None if seen is not None else (numpy.concatenate(odds), numpy.concatenate(clicks))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--dev-rows", type=int, default=1_000_000)
    parser.add_argument("--form", choices=["slots", "criteo"], default="slots")
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--words", type=int, default=10_000_000, help="of each slot")
    parser.add_argument("--exponent", type=float, default=1.1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    global numpy  # --help needs none
    import numpy
    if args.form == "criteo":
        args.slots = CRITEO_SLOTS
    args.folder.mkdir(parents=True, exist_ok=True)
    seen = numpy.zeros((args.slots, args.words), bool)
    write(args.folder / "train.txt", args.rows, 0, args, seen)
    odds, clicks = write(args.folder / "dev.txt", args.dev_rows, 1, args)
    print(json.dumps({"rows": args.rows, "bytes": (args.folder / "train.txt").stat().st_size, "distinct_words": int(seen.sum()),
                      "clicks": round(float(clicks.mean()), 4), "best_auc": round(area_under_curve(odds, clicks), 5)}))


if __name__ == "__main__":
    main()
