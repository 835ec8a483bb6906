#!/usr/bin/env python3
"""Predicts how a training step scales with the cores of a processor, from a report of a run on a few of them, best one:

  ptrain run CONFIG -o threads=1 -o output.per_op=true --out runs/one
  scripts/predict_threads.py runs/one/report.json --memory 400 [--cores 1 2 4 8 16 32 64 128] [--barrier 1] [--markdown]

An op of a run on n cores takes n/c of its time on c, but no less than its tensors, each once, take at the memory's GB/s
(--memory: of all channels, which the cores share), unless it was quicker than that and so had them in a cache. It ends
with a barrier of --barrier microseconds times log2 c. What a step takes outside its ops stays as it is. Larger caches of
more cores are not in the model, nor ops that are too small to be divided. Prints milliseconds a step, how many times as
fast that is as one core, and what the time goes into.
"""
import argparse
import json
import math
import pathlib
import sys


def predict(report, cores, memory, barrier):
    """Milliseconds of a step on so many cores, by what they go into; `memory` in GB/s, `barrier` in microseconds."""
    parts = {"arithmetic": 0.0, "memory": 0.0, "barriers": 0.0}
    measured = 0.0
    for kernel in report["kernels"]:
        if not kernel["calls"]:
            continue
        own = kernel["milliseconds"] / kernel["calls"]
        measured += own
        divided = own * report["environment"]["threads"] / cores
        moving = kernel["bytes"] / memory * 1e-6
        if divided < moving < 1.1 * own:
            parts["memory"] += moving
        else:
            parts["arithmetic"] += divided
        parts["barriers"] += barrier * 1e-3 * math.log2(cores)
    parts["outside ops"] = max(0.0, report["latency_ms"]["step"]["mean"] - measured)
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--memory", type=float, required=True)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64, 128])
    parser.add_argument("--barrier", type=float, default=1)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    report = json.loads(options.report.read_text())
    if not report["kernels"]:
        sys.exit(f"{options.report}: has no per-op times; run with -o output.per_op=true")
    one = sum(predict(report, 1, math.inf, 0).values())
    rows = [("cores", "ms a step", "speed-up", "arithmetic", "memory", "barriers", "outside ops")]
    for cores in options.cores:
        parts = predict(report, cores, options.memory, options.barrier)
        step = sum(parts.values())
        rows.append((str(cores), f"{step:.1f}", f"{one / step:.2f}", *(f"{part / step:.0%}" for part in parts.values())))
    if options.markdown:
        rows.insert(1, ("---:",) * len(rows[0]))
        print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    else:
        print("\n".join("  ".join(cell.rjust(11) for cell in row) for row in rows))


if __name__ == "__main__":
    main()
