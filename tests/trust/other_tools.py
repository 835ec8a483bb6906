#!/usr/bin/env python3
"""Checks rules.py against the tools whose rules it states: they compare the recorded samples themselves.

    tests/trust/other_tools.py results/MACHINE/trust/comparisons.jsonl --google /usr/share/benchmark/compare.py \\
        --nvbench .../nvbench_compare.py --hyperfine 5

google/benchmark's compare.py (Debian's libbenchmark-tools; needs scipy) and nvbench's legacy comparison (needs tabulate,
colorama and jsondiff) read the samples in their own formats. hyperfine reads none: for --hyperfine comparisons it times
sleeps as long as the recorded runs, and its ratio and error are compared with the rule's.
"""
import argparse
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

from rules import RULES, has_samples

ALPHA = 0.05


def google_file(samples):
    return {"context": {}, "benchmarks": [
        {"name": "run", "run_name": "run", "run_type": "iteration", "repetitions": len(samples), "repetition_index": i,
         "threads": 1, "iterations": 1, "real_time": sample, "cpu_time": sample, "time_unit": "ms"}
        for i, sample in enumerate(samples)]}


def nvbench_file(samples):
    mean = statistics.mean(samples)
    values = {"nv/cold/time/gpu/mean": mean, "nv/cold/time/gpu/stdev/relative": statistics.stdev(samples) / mean}
    summaries = [{"tag": tag, "name": tag, "data": [{"name": "value", "type": "float64", "value": repr(value)}]}
                 for tag, value in values.items()]
    state = {"name": "Device=0", "device": 0, "axis_values": [], "is_skipped": False, "summaries": summaries}
    return {"meta": {"version": {"json": {"major": 1, "minor": 22, "patch": 0, "string": "1.22.0"}}, "argv": []},
            "devices": [{"id": 0, "name": "cpu"}],
            "benchmarks": [{"name": "run", "index": 0, "devices": [0], "axes": [], "states": [state]}]}


def run_on(program, folder, files, *arguments):
    paths = []
    for name, content in zip(("base.json", "new.json"), files):
        paths.append(folder / name)
        paths[-1].write_text(json.dumps(content))
    result = subprocess.run([sys.executable, program, *arguments, *paths], capture_output=True, text=True, check=False,
                            cwd=pathlib.Path(program).parent)
    if not result.stdout:  # nvbench ends with the number of changes it found
        sys.exit(f"error: {program}: {result.stderr.strip().splitlines()[-1]}")
    return result.stdout


def google_benchmark(program, base, new, folder):
    dump = folder / "difference.json"
    run_on(program, folder, (google_file(base), google_file(new)), "-d", dump, "benchmarks")
    p = next(row["utest"]["time_pvalue"] for row in json.loads(dump.read_text()) if row["utest"])
    if p >= ALPHA:
        return "SAME"
    return "SLOWER" if statistics.median(new) > statistics.median(base) else "FASTER"


def nvbench(program, base, new, folder):
    table = run_on(program, folder, (nvbench_file(base), nvbench_file(new)), "--no-color")
    status = re.search(r"\b(SAME|SLOW|FAST)\b\s*\|", table).group(1)
    return {"SLOW": "SLOWER", "FAST": "FASTER"}.get(status, status)


def replay(samples, folder, side):
    """A command that sleeps as long as the next of the samples."""
    left = folder / side
    left.write_text("\n".join(f"{sample:.4f}" for sample in samples) + "\n")
    path = shlex.quote(str(left))
    return f"t=$(head -n1 {path}); sed -i 1d {path}; sleep $t"


def hyperfine(_, base, new, folder):
    runs = min(len(base), len(new))
    exported = folder / "hyperfine.json"
    subprocess.run(["hyperfine", "--runs", str(runs), "--export-json", exported, replay(base[:runs], folder, "base"),
                    replay(new[:runs], folder, "new")], capture_output=True, check=True)
    sides = json.loads(exported.read_text())["results"]
    return RULES["hyperfine"](*(side["times"] for side in sides))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparisons", type=pathlib.Path)
    parser.add_argument("--google", help="google/benchmark's compare.py")
    parser.add_argument("--nvbench", help="nvbench's nvbench_compare.py")
    parser.add_argument("--hyperfine", type=int, default=0, help="comparisons to replay")
    parser.add_argument("--every", type=int, default=1, help="only every EVERYth comparison")
    arguments = parser.parse_args()
    lines = [json.loads(line) for line in arguments.comparisons.read_text().splitlines()]
    lines = [line for line in lines if has_samples(line)]
    tools = [("google/benchmark", google_benchmark, arguments.google, lines[::arguments.every]),
             ("nvbench", nvbench, arguments.nvbench, lines[::arguments.every]),
             ("hyperfine", hyperfine, arguments.hyperfine, lines[:arguments.hyperfine])]
    agree = True
    with tempfile.TemporaryDirectory() as name:
        for tool, compare, program, chosen in tools:
            if not program:
                continue
            same = 0
            for line in chosen:
                base, new = line["base"]["wall"], line["new"]["wall"]
                theirs, ours = compare(program, base, new, pathlib.Path(name)), RULES[tool](base, new)
                same += theirs == ours
                if theirs != ours:
                    print(f"{tool}: {line['kind']} {line['seed']}: it says {theirs}, the rule {ours}")
            agree = agree and same == len(chosen)
            print(f"{tool}: the same verdict in {same} of {len(chosen)} comparisons", flush=True)
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
