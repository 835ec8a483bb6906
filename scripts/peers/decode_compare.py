#!/usr/bin/env python3
"""Reads and writes texts with a language model in ptrain, llama.cpp and transformers, interleaved, and prints the ratios.

    scripts/peers/decode_compare.py MODEL.gguf MODEL-Q8_0.gguf --llama-bench BUILD/bin/llama-bench

A file is a suite of commands for `ptrain bench` for each of llama-bench's pp512 and tg128: fresh processes, in rounds of all.
All but transformers compute with the file's blocks; it dequantizes them, to fp32 or bf16. Figures are medians over rounds.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from compare import ROOT, describe_machine, join

SCENARIOS = {"decode": 128, "prefill": 512}  # tokens


def make_cases(options, model, scenario):
    tokens, threads = SCENARIOS[scenario], options.threads
    of_llama = ["-p", 0, "-n", tokens] if scenario == "decode" else ["-p", tokens, "-n", 0]
    transformers = [options.python, ROOT / "scripts/peers/llama_decode_peer.py", model, "--scenario", scenario, "--tokens", tokens,
                    "--threads", threads]
    commands = {
        "ptrain": (["env", f"OMP_NUM_THREADS={threads}", options.ptrain, "bench", "infer", model, "--scenario", scenario,
                    "--tokens", tokens], r"([0-9.]+) ± [0-9.]+ tokens/s"),
        "llama.cpp": ([options.llama_bench, "-m", model, *of_llama, "-t", threads, "-r", 5, "-o", "jsonl"], "json:avg_ts"),
        "transformers-fp32": ([*transformers, "--dtype", "fp32"], "json:tokens_per_second"),
        "transformers-bf16": ([*transformers, "--dtype", "bf16"], "json:tokens_per_second"),
    }
    return [{"name": name, "command": join(command), "metric": metric, "unit": "tokens/s"}
            for name, (command, metric) in commands.items() if name.split("-")[0] not in options.without]


def measure(options, name, cases, folder):
    """The figures of each case's command, one for each round."""
    folder.mkdir(parents=True)
    suite = {"name": name, "cases": cases, "repeats": options.rounds, "steady": {"required": False}}
    (folder / "suite.yaml").write_text(json.dumps(suite, indent=1))  # JSON is YAML
    subprocess.run([options.ptrain, "bench", folder / "suite.yaml", "--out", folder / "bench"], stdout=subprocess.DEVNULL,
                   cwd=ROOT, check=False)
    records = {case["name"]: sorted((folder / "bench/runs").glob(f"{case['name']}/*/record.json")) for case in cases}
    read = {name: [json.loads(path.read_text()) for path in paths] for name, paths in records.items()}
    return {name: [record["measured"]["throughput"]["value"] for record in of if record["status"] in ("ok", "unstable")]
            for name, of in read.items()}


def print_ratios(cases):
    """A table of medians; returns whether a command failed in every round."""
    print("| Model | scenario | ptrain tokens/s | peer | its tokens/s | ratio |\n| --- | --- | ---: | --- | ---: | ---: |")
    failed = False
    for case in cases:
        rates = {name: statistics.median(of) if of else None for name, of in case["tokens_per_second"].items()}
        ours = rates.pop("ptrain")
        failed = failed or not ours or None in rates.values()
        for name, rate in rates.items():
            cells = [f"{ours:.1f}" if ours else "failed", name, *([f"{rate:.1f}", f"{ours / rate:.2f}x"] if ours and rate else "--")]
            print(f"| {case['model']} | {case['scenario']} | {' | '.join(cells)} |")
    return failed


def main():
    venv = pathlib.Path(os.environ.get("PTRAIN_PEERS_VENV", ROOT / ".deps/peers"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path, nargs="+", help="GGUF files")
    parser.add_argument("--ptrain", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain", help="the binary")
    parser.add_argument("--python", type=pathlib.Path, default=venv / "bin/python", help="of the environment that setup.sh makes")
    parser.add_argument("--llama-bench", type=pathlib.Path, required=True, help="llama.cpp's program, built for this machine")
    parser.add_argument("--without", nargs="*", choices=["llama.cpp", "transformers"], default=[])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for the results")
    options = parser.parse_args()
    options.ptrain, options.python, options.llama_bench = (
        path.absolute() for path in (options.ptrain, options.python, options.llama_bench))
    options.device, options.preload = "cpu", ""
    results = {"machine": describe_machine(options), "cases": []}
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            for scenario in SCENARIOS:
                name = f"{model.stem}-{scenario}"
                runs = measure(options, name, make_cases(options, model.absolute(), scenario), pathlib.Path(folder) / name)
                results["cases"].append({"model": model.stem, "scenario": scenario, "tokens_per_second": runs})
                if options.out:
                    options.out.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if print_ratios(results["cases"]) else 0


if __name__ == "__main__":
    sys.exit(main())
