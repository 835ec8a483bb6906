#!/usr/bin/env python3
"""Runs the same inference in ptrain, PyTorch, ONNX Runtime and OpenVINO by turns and prints the ratios.

    scripts/peers/infer_compare.py --out results/MACHINE/infer_peers.json    # all cases: two hours on two cores
    scripts/peers/infer_compare.py --cases resnet50-224 --precisions fp32 --rounds 2 --seconds 3
    scripts/peers/infer_compare.py --table results/MACHINE/infer_peers.json  # only prints the table of a saved file

Needs the environment that scripts/peers/setup.sh makes. A network is trained for one step, exported as ptrain's folder
and as ONNX, and asked made-up inputs: one at a time (single_stream, 90th percentile of latency) and in batches (offline,
samples/s). Every measurement is a fresh process; rounds go ptrain, torch, ONNX Runtime, OpenVINO, ptrain, ... so that
drift of the machine hits all alike. Figures are medians over rounds. The result is written after every measurement; a
failure is a record in it.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import sys
import tempfile

from compare import ROOT, describe_machine, run

PEERS = ("torch", "onnxruntime", "openvino")
AMP = {"fp32": "O0", "bf16": "O2"}  # ptrain's levels
WITHOUT = {("onnxruntime", "bf16")}  # its CPU kernels know no bf16


@dataclasses.dataclass
class Case:
    name: str
    title: str
    batch: int  # of offline
    keys: dict
    peer: list


CASES = [
    Case("resnet50-224", "ResNet-50, 224 px", 16,
         {"model.name": "resnet50", "model.classes": 1000, "model.stem": "imagenet", "data.image_size": 224},
         ["--network", "resnet50", "--size", 224]),
    Case("bert-base-128", "BERT-base, 128 tokens", 8,
         {"model.name": "bert", "model.classes": 2, "model.size": "base", "model.vocab_size": 30522,
          "data.max_length": 128}, ["--network", "base", "--length", 128]),
    Case("minilm-64", "MiniLM-L6, 64 tokens", 32,
         {"model.name": "bert", "model.classes": 2, "model.weights": "weights/all-minilm-l6-v2/model.safetensors",
          "data.vocab": "weights/all-minilm-l6-v2/vocab.txt", "data.max_length": 64},
         ["--network", "minilm-l6", "--length", 64]),
]


def make_model(options, case, folder):
    """Trains for one step and exports to folder/model; an error message or None."""
    config = pathlib.Path(folder, "run.yaml")
    config.write_text("model: {name: %s, classes: %d}\ndata: {source: synthetic}\n"
                      % (case.keys["model.name"], case.keys["model.classes"]))
    keys = {"train.steps": 1, "data.batch_size": 2, "data.synthetic_samples": 4, "eval.every_epochs": 0, **case.keys}
    overrides = [part for key, value in keys.items() for part in ("-o", f"{key}={value}")]
    model = pathlib.Path(folder, "model")
    for command in (["run", config, "--out", pathlib.Path(folder, "run"), "--progress", "none", *overrides],
                    ["export", pathlib.Path(folder, "run"), "--out", model],
                    ["export", model, "--out", model, "--format", "onnx"]):
        _, error = run([options.ptrain, *command])
        if error:
            return error
    return None


def measure(options, case, precision, batch, runtime, model):
    threads = options.threads or len(os.sched_getaffinity(0))
    if runtime == "ptrain":
        scenario = "single_stream" if batch == 1 else "offline"
        out, error = run([options.ptrain, "bench", "infer", model, "--amp", AMP[precision], "--batch", batch, "--scenario", scenario,
                          "--seconds", options.seconds, "--json"], {**os.environ, "OMP_NUM_THREADS": str(threads)})
        if error:
            return {"error": error}
        report = json.loads(out)
        return {"samples_per_second": report["samples_per_second"], "p90_ms": report["latency_ms"]["p90"],
                "queries": report["queries"], "runtime": f"ptrain {report['precision']}"}
    out, error = run([options.python, ROOT / "scripts/peers/infer_peer.py", "--runtime", runtime, "--onnx", model / "model.onnx",
                      *case.peer, "--batch", batch, "--dtype", precision, "--threads", threads, "--seconds", options.seconds])
    return {"error": error} if error else json.loads(out.splitlines()[-1])


def median(runs, figure):
    good = [run[figure] for run in runs if "error" not in run]
    return statistics.median(good) if good else None


def table(results):
    machine = results["machine"]
    runtimes = sorted({run["runtime"] for entry in results["cases"] for runs in entry["runs"].values() for run in runs
                       if "runtime" in run and not run["runtime"].startswith("ptrain")})
    lines = [f"{machine['cpu']}, {machine['threads']} threads, {' '.join(machine['isa'])}; {', '.join(runtimes)}; {machine['date']}",
             "", "| Inference | precision | scenario | ptrain | " + " | ".join(PEERS) + " | "
             + " | ".join(f"over {peer}" for peer in PEERS) + " |",
             "| --- | --- | --- |" + " ---: |" * (1 + 2 * len(PEERS))]
    for entry in results["cases"]:
        single = entry["batch"] == 1
        figure, unit = ("p90_ms", "ms") if single else ("samples_per_second", "/s")
        values = {name: median(runs, figure) for name, runs in entry["runs"].items()}
        ours = values.get("ptrain")

        def ratio(peer):
            if not ours or not values.get(peer):
                return "-"
            return f"{values[peer] / ours if single else ours / values[peer]:.2f}x"
        shown = [f"{values[name]:.3g} {unit}" if values.get(name) else "-" for name in ("ptrain", *PEERS)]
        scenario = "single stream, p90" if single else f"offline, batch {entry['batch']}"
        lines.append("| " + " | ".join([entry["title"], entry["precision"], scenario, *shown, *map(ratio, PEERS)]) + " |")
    return "\n".join(lines)


def measure_case(options, case, results, model):
    for precision in options.precisions:
        for batch in (1, case.batch):
            entry = {"case": case.name, "title": case.title, "precision": precision, "batch": batch, "keys": case.keys,
                     "runs": {}}
            results["cases"].append(entry)
            for _ in range(options.rounds):
                for runtime in ("ptrain", *options.peers):
                    if (runtime, precision) in WITHOUT:
                        continue
                    outcome = measure(options, case, precision, batch, runtime, model)
                    entry["runs"].setdefault(runtime, []).append(outcome)
                    print(f"{case.name} {precision} batch {batch} {runtime}: "
                          + outcome.get("error", f"{outcome.get('samples_per_second', 0):.2f}/s"), file=sys.stderr)
                    if options.out:
                        options.out.parent.mkdir(parents=True, exist_ok=True)
                        options.out.write_text(json.dumps(results, indent=1) + "\n")


def parse_options():
    venv = pathlib.Path(os.environ.get("PTRAIN_PEERS_VENV", ROOT / ".deps/peers"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptrain", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain", help="the binary")
    parser.add_argument("--python", type=pathlib.Path, default=venv / "bin/python", help="of the environment that setup.sh makes")
    parser.add_argument("--cases", nargs="+", choices=[case.name for case in CASES], default=[case.name for case in CASES])
    parser.add_argument("--precisions", nargs="+", choices=list(AMP), default=list(AMP))
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10, help="of one measurement")
    parser.add_argument("--threads", type=int, default=0, help="0: all cores")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for the results")
    parser.add_argument("--table", type=pathlib.Path, help="print the table of this file and do nothing else")
    options = parser.parse_args()
    options.ptrain, options.python = options.ptrain.absolute(), options.python.absolute()
    options.device, options.preload = "cpu", ""
    return options


def main():
    options = parse_options()
    if options.table:
        print(table(json.loads(options.table.read_text())))
        return 0
    for needed, remedy in ((options.ptrain, "build it first"), (options.python, "run scripts/peers/setup.sh")):
        if not needed.exists():
            sys.exit(f"{needed} does not exist: {remedy}")
    results = {"schema": "ptrain.infer_peers/1", "machine": describe_machine(options), "cases": []}
    failures = []
    try:
        for case in (case for case in CASES if case.name in options.cases):
            with tempfile.TemporaryDirectory() as folder:
                error = make_model(options, case, folder)
                if error:
                    failures.append(f"{case.name}: {error}")
                    continue
                measure_case(options, case, results, pathlib.Path(folder, "model"))
    except KeyboardInterrupt:
        failures.append("interrupted: the table shows what was measured until then")
    print(table(results))
    failures += [f"{entry['title']}: {run['error']}" for entry in results["cases"] for runs in entry["runs"].values()
                 for run in runs if "error" in run]
    print("\n".join(failures), file=sys.stderr, end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
