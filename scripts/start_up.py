#!/usr/bin/env python3
"""Seconds from starting the program to the end of its first training step, for a small ResNet and a small BERT, batch 8.

  scripts/start_up.py [--program build/release/bin/ptrain] [--repeats 20] [--out FILE.json]

Every start is a fresh process that trains one step of a config of configs/quick; the step's end is when its progress
line arrives. The first start of each config fills the kernel search's cache and is reported separately ("first").
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONFIGS = ("configs/quick/resnet18_synthetic.yaml", "configs/quick/bert_synthetic.yaml")


def seconds_to_first_step(program, config, folder):
    command = [program, "run", ROOT / config, "--out", folder, "--fresh", "--progress", "plain", "-o", "train.steps=1",
               "-o", "data.batch_size=8", "-o", "train.log_every_steps=1", "-o", "eval.every_epochs=0", "-o",
               "output.save=false"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seconds, lines = None, []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("step 1/") and seconds is None:
            seconds = time.perf_counter() - start
    if process.wait() != 0 or seconds is None:
        sys.exit(f"{config}: no first step: {''.join(lines[-3:]).strip()}")
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bin/ptrain")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        first = {config: seconds_to_first_step(options.program, config, folder) for config in CONFIGS}
        seconds = {config: [] for config in CONFIGS}
        for _ in range(options.repeats):
            for config in CONFIGS:
                seconds[config].append(seconds_to_first_step(options.program, config, folder))
        report = json.loads((pathlib.Path(folder) / "report.json").read_text(encoding="utf-8"))
    for config in CONFIGS:
        results[config] = {"first": round(first[config], 4), "seconds": [round(s, 4) for s in seconds[config]],
                           "median": round(statistics.median(seconds[config]), 4)}
        print(f"{config}: median {results[config]['median']:.3f} s, from {min(seconds[config]):.3f} to "
              f"{max(seconds[config]):.3f}, first {first[config]:.3f}")
    if options.out:
        options.out.write_text(json.dumps({"environment": report["environment"], "starts": results}, indent=1) + "\n",
                               encoding="utf-8")


if __name__ == "__main__":
    main()
