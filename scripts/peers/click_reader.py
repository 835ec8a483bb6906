#!/usr/bin/env python3
"""ptrain's reader of click logs against pandas and polars, one thread each, interleaved.

Usage: click_reader.py READER_BENCH LOG [--rows 300000] [--rounds 4] [--seconds 3] [--out FILE.json]
READER_BENCH is the program of that name in the build folder (ninja reader_bench); LOG is of Criteo's form (click_log.py
--form criteo), of which --rows lines are read again and again. ptrain scales numbers, hashes words to rows and makes
batches, in order and in random order; pandas and polars only parse numbers and words, in order. Needs pandas and polars.
"""
import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

NAMES = ["label"] + [f"I{i}" for i in range(1, 14)] + [f"C{i}" for i in range(1, 27)]


def read_with_pandas(path):
    import pandas
    kinds = {name: "str" if name[0] == "C" else "float32" for name in NAMES}
    return len(pandas.read_csv(path, sep="\t", header=None, names=NAMES, dtype=kinds, engine="c"))


def read_with_polars(path):
    import polars
    kinds = {name: polars.String if name[0] == "C" else polars.Float32 for name in NAMES}
    return polars.read_csv(path, separator="\t", has_header=False, schema=kinds).height


READERS = {"pandas": read_with_pandas, "polars": read_with_polars}


def time_reader(name, path, seconds):
    reader = READERS[name]
    reader(path)
    begin, rows = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        rows += reader(path)
    print(rows / (time.perf_counter() - begin))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--reader", choices=READERS, help="time this one alone, for the script itself")
    args = parser.parse_args()
    if args.reader:
        return time_reader(args.reader, args.log, args.seconds)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "train.txt"
        with open(args.log, "rb") as log, open(path, "wb") as part:
            part.writelines(itertools.islice(log, args.rows))
        row_bytes = path.stat().st_size / args.rows
        commands = {name: [sys.executable, __file__, "--reader", name, args.program, str(path)] for name in READERS}
        for name, order in {"ptrain": "eval", "ptrain_shuffled": "train"}.items():
            commands[name] = [args.program, "criteo", folder, order, "0"]
        rates = {name: [] for name in commands}
        one_thread = {**os.environ, "POLARS_MAX_THREADS": "1"}
        for _ in range(args.rounds):
            for name, command in commands.items():
                seconds = ["--seconds", str(args.seconds)] if name in READERS else [str(args.seconds)]
                done = subprocess.run(command + seconds, check=True, capture_output=True, env=one_thread)
                rates[name].append(float(done.stdout))
    results = {"unit": "GB/second/thread", "row_bytes": round(row_bytes)}
    results |= {name: round(statistics.median(values) * row_bytes / 1e9, 3) for name, values in rates.items()}
    results["rows_per_second"] = round(statistics.median(rates["ptrain"]))
    results["ratio"] = round(results["ptrain"] / max(results[name] for name in READERS), 2)
    print(json.dumps(results))
    if args.out:
        args.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
