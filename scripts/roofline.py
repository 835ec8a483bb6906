#!/usr/bin/env python3
"""Distance of each op of a run from the roofline: per op its time, rate and bound, from a report made with
`ptrain run CONFIG -o output.per_op=true`. The bound of a call is the larger of its arithmetic over the peak that the
report measured (utilization.peak_flops) and its tensors, each once, over the memory bandwidth measured here.

  scripts/roofline.py runs/resnet50/report.json [--bandwidth GB/S] [--markdown]
"""
import argparse
import collections
import json
import os
import threading
import time


def measured_bandwidth(threads):
    """Bytes per second of copying arrays larger than any cache, reads and writes counted, best of five."""
    import numpy

    source = [numpy.ones(32 << 20, dtype=numpy.float32) for _ in range(threads)]
    target = [numpy.zeros_like(a) for a in source]
    best = 0.0
    for _ in range(5):
        workers = [threading.Thread(target=numpy.copyto, args=pair) for pair in zip(target, source)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        best = max(best, 2 * sum(a.nbytes for a in source) / (time.perf_counter() - start))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report")
    parser.add_argument("--bandwidth", type=float, help="GB/s, instead of measuring it here")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    with open(options.report, encoding="utf-8") as file:
        report = json.load(file)
    if not report["kernels"]:
        raise SystemExit(f"{options.report}: has no per-op times; run with -o output.per_op=true")
    peak = report["utilization"]["peak_flops"]
    if not peak:
        raise SystemExit(f"{options.report}: has no utilization.peak_flops; train for five seconds or more")
    bandwidth = options.bandwidth * 1e9 if options.bandwidth else measured_bandwidth(os.cpu_count())

    ops = collections.defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
    for kernel in report["kernels"]:
        if not kernel["calls"]:
            continue
        op = ops[kernel["op"]]
        op[0] += kernel["milliseconds"] / kernel["calls"]
        op[1] += kernel["flops"]
        op[2] += kernel["bytes"]
        op[3] += 1e3 * max(kernel["flops"] / peak, kernel["bytes"] / bandwidth)
    total = [sum(op[i] for op in ops.values()) for i in range(4)]

    columns = ("op", "ms a step", "share", "GFLOP/s", "GB/s", "bound ms", "of the roofline")
    rows = []
    for name, (ms, flops, moved, bound) in sorted(ops.items(), key=lambda item: -item[1][0]) + [("all", total)]:
        rows.append((name, f"{ms:.2f}", f"{ms / total[0]:.1%}", f"{flops / ms / 1e6:.0f}", f"{moved / ms / 1e6:.1f}",
                     f"{bound:.2f}", f"{bound / ms:.0%}"))
    print(f"peak {peak / 1e9:.0f} GFLOP/s, memory {bandwidth / 1e9:.1f} GB/s\n")
    if options.markdown:
        print("| " + " | ".join(columns) + " |\n| --- |" + " ---: |" * (len(columns) - 1))
        for row in rows:
            print("| " + " | ".join(row) + " |")
        return
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    for row in [columns, *rows]:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))))


if __name__ == "__main__":
    main()
