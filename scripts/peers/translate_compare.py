#!/usr/bin/env python3
"""Translates a file with a model that ptrain trained, in ptrain, CTranslate2 and transformers, interleaved, and prints the
ratios of tokens/s, and how many texts are ptrain's.

    scripts/peers/translate_compare.py runs/multi30k data/multi30k/test_2016_flickr.en --out results/MACHINE/translate.json

In fp32, one text at a time and in batches, by each number of beams. A case is a suite of commands for `ptrain bench`: fresh
processes, in rounds of all. Seconds are those of translating, without opening the model. Figures are medians over rounds.
"""
import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from compare import ROOT, describe_machine, join
from decode_compare import measure, print_ratios

# Script and most threads of each. One thread beside all of them: on some virtual machines two of CTranslate2's are ten times
# slower than one.
PEERS = {"CTranslate2": ("ctranslate2_peer.py", None), "CTranslate2-1-thread": ("ctranslate2_peer.py", 1),
         "transformers": ("marian_peer.py", None)}


def make_commands(options, beams, batch):
    """The command of each contestant; a peer's compares its texts if a file of ptrain's is added."""
    peer = [options.file, "--beams", beams, "--batch", batch, "--threads"]
    return {
        "ptrain": ["env", f"OMP_NUM_THREADS={options.threads}", options.ptrain, "infer", options.model, options.file,
                   "--beams", beams, "--batch", batch, "--amp", "O0"],
        **{name: [options.python, ROOT / "scripts/peers" / script, options.model, *peer, most_threads or options.threads]
           for name, (script, most_threads) in PEERS.items() if name not in options.without}}


def run(command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout


def count_equal(commands, folder):
    """How many of the peers' texts are ptrain's."""
    written = folder / "ptrain.txt"
    written.write_text(run(commands["ptrain"]), encoding="utf-8")
    counts = {}
    for name, command in commands.items():
        if name != "ptrain":
            done = subprocess.run([str(part) for part in (*command, "--against", written)], capture_output=True, text=True,
                                  check=False)
            report = json.loads(done.stdout.splitlines()[-1])
            counts[name] = [report["equal_texts"], report["texts"]]
    return counts


def make_cases(commands):
    metrics = {"ptrain": r"([0-9.]+) tokens/s"}
    return [{"name": name, "command": join(command), "metric": metrics.get(name, "json:tokens_per_second"), "unit": "tokens/s"}
            for name, command in commands.items()]


def parse_options():
    venv = pathlib.Path(os.environ.get("PTRAIN_PEERS_VENV", ROOT / ".deps/peers"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, help="a translator's folder")
    parser.add_argument("file", type=pathlib.Path, help="a text a line")
    parser.add_argument("--ptrain", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain", help="the binary")
    parser.add_argument("--python", type=pathlib.Path, default=venv / "bin/python", help="of the environment that setup.sh makes")
    parser.add_argument("--without", nargs="*", choices=list(PEERS), default=[])
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for the results")
    options = parser.parse_args()
    options.model, options.file, options.ptrain, options.python = (
        path.absolute() for path in (options.model, options.file, options.ptrain, options.python))
    options.device, options.preload = "cpu", ""
    return options


def main():
    options = parse_options()
    results = {"machine": describe_machine(options), "cases": []}
    with tempfile.TemporaryDirectory() as folder:
        for beams, batch in itertools.product(options.beams, options.batches):
            commands = make_commands(options, beams, batch)
            counts = count_equal(commands, pathlib.Path(folder))
            name = f"beams-{beams}-batch-{batch}"
            runs = measure(options, name, make_cases(commands), pathlib.Path(folder) / name)
            results["cases"].append({"model": options.model.name, "scenario": f"beams {beams}, batch {batch}",
                                     "tokens_per_second": runs, "equal_texts": counts})
            if options.out:
                options.out.write_text(json.dumps(results, indent=1) + "\n")
    failed = print_ratios(results["cases"])
    for case in results["cases"]:
        print(f"{case['scenario']}: " + ", ".join(f"{equal} of {texts} of {name}'s texts are ptrain's"
                                                  for name, (equal, texts) in case["equal_texts"].items()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
