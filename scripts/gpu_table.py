#!/usr/bin/env python3
"""Prints a table of the reports that scripts/gpu_validate.sh wrote: gpu_table.py FOLDER."""
import json
import pathlib
import sys


def mib(count):
    return f"{count / 2**20:.0f} MiB" if count else "-"


def flag(report, name):
    state = report.get("flags", {}).get(name, {})
    return f"{state.get('requested')} / {state.get('effective')}"


def row(path):
    report = json.loads(path.read_text())
    if report.get("status") != "ok":
        return f"| {path.stem} | {report.get('status')}: {report.get('message', '')} | | | | | |"
    speed, memory = report["throughput"], report.get("memory", {})
    step = report.get("latency_ms", {}).get("step", {})
    return (f"| {path.stem} | {speed['value']:.0f} {speed['unit']} | {step.get('p50', 0):.2f} / {step.get('p99', 0):.2f} | "
            f"{mib(memory.get('planned_peak_bytes'))} / {mib(memory.get('measured_peak_bytes'))} | "
            f"{report['progress'].get('search_seconds', 0):.1f} | {flag(report, 'cudnn_exhaustive_search')} | "
            f"{flag(report, 'cudnn_batchnorm_spatial_persistent')} |")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    paths = [path for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json"))
             if json.loads(path.read_text()).get("schema") == "ptrain.report/1"]
    print("| Run | Speed | Step ms, p50 / p99 | Memory, planned / measured | Search s | exhaustive search, asked / effective "
          "| persistent batch norm, asked / effective |\n| --- | ---: | ---: | ---: | ---: | --- | --- |")
    for path in paths:
        print(row(path))


if __name__ == "__main__":
    main()
