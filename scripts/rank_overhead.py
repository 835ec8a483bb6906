#!/usr/bin/env python3
"""Measures the overhead of ranks: processor time per step and rank beyond a single rank's, for thread ranks that share the
machine's cores.

  scripts/rank_overhead.py [--ranks 2 4 8] [--repeats 3] [--out FILE.json]

Trains configs/quick/bert_synthetic.yaml, every rank with the same batch. The time is user and system time of the whole
process in a long run minus that in a short one, which excludes setup; the median of the repeats.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHORT, LONG = 40, 240  # steps


def processor_seconds(options, ranks, steps, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([options.program, "run", ROOT / "configs/quick/bert_synthetic.yaml", "--out", folder,
                    "--fresh", "--progress", "none", "-o", f"dist.ranks={ranks}", "-o", f"threads={ranks}", "-o", "data.batch_size=8",
                    "-o", f"train.steps={steps}", "-o", "eval.every_epochs=0", "-o", "output.save=false"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bin/ptrain")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    times = {ranks: [] for ranks in (1, *options.ranks)}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.repeats):
            for ranks, found in times.items():
                used = processor_seconds(options, ranks, LONG, folder) - processor_seconds(options, ranks, SHORT, folder)
                found.append(1e3 * used / (LONG - SHORT) / ranks)
    alone = statistics.median(times[1])
    print("| ranks | processor ms a step and rank | beyond a lone rank |\n| ---: | ---: | ---: |")
    for ranks, found in times.items():
        print(f"| {ranks} | {statistics.median(found):.3f} | {statistics.median(found) - alone:+.3f} |")
    if options.out:
        options.out.write_text(json.dumps({"processor_ms_per_step_and_rank": times}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
