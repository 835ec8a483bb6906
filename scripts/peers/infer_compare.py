#!/usr/bin/env python3
"""Runs the same inference in ptrain, PyTorch, ONNX Runtime and OpenVINO, interleaved, and prints the ratios.

    scripts/peers/infer_compare.py --images PHOTOS --texts data/sst2/dev.tsv --out results/MACHINE/infer_peers.json
    scripts/peers/infer_compare.py --cases resnet50-224 --precisions fp32 --rounds 2 --seconds 3
    scripts/peers/infer_compare.py --table results/MACHINE/infer_peers.json  # only prints the table of saved files

Needs the environment that scripts/peers/setup.sh makes. A network is trained for one step, exported as ptrain's folder
and as ONNX, and run on synthetic inputs: one at a time (single_stream, 90th percentile of latency) and in batches
(offline, samples/s). In int8 it is what ptrain quantize made for that batch, calibrated on --images or --texts; ONNX
Runtime and OpenVINO run its QDQ file. Rounds go ptrain, torch, ONNX Runtime, OpenVINO, ptrain, ... so that drift of the
machine affects all alike; a peer's process lives through the rounds, asleep while another is measured. Figures are medians
over rounds. The result is written after every measurement; a failure is a record in it. All cases take an hour on two
cores.
"""
import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from compare import ROOT, describe_machine

PEERS = ("torch", "onnxruntime", "openvino")
PRECISIONS = ("fp32", "bf16", "int8")
AMP = {"fp32": "O0", "bf16": "O2", "int8": "O0"}  # ptrain's levels
WITHOUT = {("onnxruntime", "bf16"), ("torch", "int8")}  # no bf16 kernels on the CPU; does not take what is quantized here
VOCAB = "weights/all-minilm-l6-v2/vocab.txt"  # BERT's, uncased


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
    Case("mobilenet-224", "MobileNetV1, 224 px", 16,
         {"model.name": "mobilenet_v1", "model.classes": 1000, "data.image_size": 224},
         ["--network", "mobilenetv1_100", "--size", 224]),
    Case("bert-base-128", "BERT-base, 128 tokens", 8,
         {"model.name": "bert", "model.classes": 2, "model.size": "base", "model.vocab_size": 30522,
          "data.max_length": 128}, ["--network", "base", "--length", 128]),
    Case("minilm-64", "MiniLM-L6, 64 tokens", 32,
         {"model.name": "bert", "model.classes": 2, "model.weights": "weights/all-minilm-l6-v2/model.safetensors",
          "data.vocab": VOCAB, "data.max_length": 64},
         ["--network", "minilm-l6", "--length", 64]),
]


class Peer:
    """A process of infer_peer.py, which measures on request; its failure is the record of every round."""

    def __init__(self, options, case, precision, batch, runtime, model):
        self.complaints = tempfile.TemporaryFile("w+")
        command = [options.python, ROOT / "scripts/peers/infer_peer.py", "--runtime", runtime, "--onnx", model / "model.onnx",
                   *case.peer, "--batch", batch, "--dtype", precision, "--threads", options.threads, "--seconds", options.seconds,
                   "--wait"]
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.complaints, text=True)

    def measure(self):
        try:
            self.process.stdin.write("measure\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if answer:
            return json.loads(answer)
        self.process.wait()
        self.complaints.seek(0)
        return {"error": f"exit code {self.process.returncode}: " + " | ".join(self.complaints.read().splitlines()[-3:])}

    def close(self):
        self.process.communicate()
        self.complaints.close()


def run(command, environment=None):
    """(stdout, error): error is None when the command succeeded, else the last lines that it wrote."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    except OSError as error:  # program not found
        return "", str(error)
    lines = (done.stderr or done.stdout).splitlines()[-3:]
    return done.stdout, None if done.returncode == 0 else f"exit code {done.returncode}: " + " | ".join(lines)


def model_folder(folder, precision, batch):
    """Which layers are in 8 bits depends on the batch that they were timed with."""
    return folder / f"{precision}-{batch}"


def make_models(options, case, folder):
    """Trains for one step and exports to model_folder()s; an error message or None."""
    config = folder / "run.yaml"
    config.write_text("model: {name: %s, classes: %d}\ndata: {source: synthetic}\n"
                      % (case.keys["model.name"], case.keys["model.classes"]))
    keys = {"train.steps": 1, "data.batch_size": 2, "data.synthetic_samples": 4, "eval.every_epochs": 0, **case.keys}
    if "--length" in case.peer and "int8" in options.precisions:  # a model of synthetic text has no vocabulary to calibrate with
        keys |= {"data.source": "tsv", "data.path": options.texts.absolute().parent, "data.train_file": options.texts.name,
                 "data.dev_file": options.texts.name, "data.vocab": VOCAB}
    overrides = [part for key, value in keys.items() for part in ("-o", f"{key}={value}")]
    commands = [["run", config, "--out", folder / "run", "--progress", "none", *overrides]]
    for precision, batch in itertools.product(options.precisions, (1, case.batch)):
        model = model_folder(folder, precision, batch)
        if precision == "int8":
            samples = options.images if "--size" in case.peer else options.texts
            commands.append(["quantize", folder / "run", "--calibrate", samples, "--samples", "32", "--out", model,
                             "--max-logit-error", "1", "--max-drop", "100", "--batch", batch])
        else:
            commands.append(["export", folder / "run", "--out", model])
        commands.append(["export", model, "--out", model, "--format", "onnx"])
    for command in commands:
        _, error = run([options.ptrain, *command])
        if error:
            return f"{command[0]}: {error}"
    return None


def measure_ptrain(options, precision, batch, model):
    scenario = "single_stream" if batch == 1 else "offline"
    out, error = run([options.ptrain, "bench", "infer", model, "--amp", AMP[precision], "--batch", batch, "--scenario", scenario,
                      "--seconds", options.seconds, "--json"], {**os.environ, "OMP_NUM_THREADS": str(options.threads)})
    if error:
        return {"error": error}
    report = json.loads(out)
    return {"samples_per_second": report["samples_per_second"], "p90_ms": report["latency_ms"]["p90"],
            "queries": report["queries"], "runtime": f"ptrain {report['precision']}"}


def median(runs, figure):
    good = [run[figure] for run in runs if "error" not in run]
    return statistics.median(good) if good else None


def table(results):
    machine = results["machine"]
    fp32 = {(entry["case"], entry["batch"]): entry for entry in results["cases"] if entry["precision"] == "fp32"}
    runtimes = sorted({run["runtime"] for entry in results["cases"] for runs in entry["runs"].values() for run in runs
                       if "runtime" in run and not run["runtime"].startswith("ptrain")})
    lines = [f"{machine['cpu']}, {machine['threads']} threads, {' '.join(machine['isa'])}; {', '.join(runtimes)}; {machine['date']}",
             "", "| Inference | precision | scenario | ptrain | " + " | ".join(PEERS) + " | "
             + " | ".join(f"over {peer}" for peer in PEERS) + " | over own fp32 |",
             "| --- | --- | --- |" + " ---: |" * (2 + 2 * len(PEERS))]
    for entry in results["cases"]:
        single = entry["batch"] == 1
        figure, unit = ("p90_ms", "ms") if single else ("samples_per_second", "/s")
        values = {name: median(runs, figure) for name, runs in entry["runs"].items()}
        ours = values.get("ptrain")

        own = fp32.get((entry["case"], entry["batch"]), entry)
        values["own fp32"] = None if own is entry else median(own["runs"]["ptrain"], figure)

        def ratio(peer):
            if not ours or not values.get(peer):
                return "-"
            return f"{values[peer] / ours if single else ours / values[peer]:.2f}x"
        shown = [f"{values[name]:.3g} {unit}" if values.get(name) else "-" for name in ("ptrain", *PEERS)]
        scenario = "single stream, p90" if single else f"offline, batch {entry['batch']}"
        lines.append("| " + " | ".join([entry["title"], entry["precision"], scenario, *shown, *map(ratio, (*PEERS, "own fp32"))]) + " |")
    return "\n".join(lines)


def measure_case(options, case, results, folder):
    for precision in options.precisions:
        for batch in (1, case.batch):
            entry = {"case": case.name, "title": case.title, "precision": precision, "batch": batch, "keys": case.keys,
                     "runs": {}}
            results["cases"].append(entry)
            model = model_folder(folder, precision, batch)
            measures, peers = {"ptrain": lambda: measure_ptrain(options, precision, batch, model)}, []
            measures["ptrain"]()  # chooses kernels
            for runtime in options.peers:
                if (runtime, precision) not in WITHOUT:
                    peers.append(Peer(options, case, precision, batch, runtime, model))
                    measures[runtime] = peers[-1].measure
                    peers[-1].measure()  # compiles, which must not disturb another
            for _ in range(options.rounds):
                for runtime, measure in measures.items():
                    outcome = measure()
                    entry["runs"].setdefault(runtime, []).append(outcome)
                    print(f"{case.name} {precision} batch {batch} {runtime}: "
                          + outcome.get("error", f"{outcome.get('samples_per_second', 0):.2f}/s"), file=sys.stderr)
                    if options.out:
                        options.out.parent.mkdir(parents=True, exist_ok=True)
                        options.out.write_text(json.dumps(results, indent=1) + "\n")
            for peer in peers:
                peer.close()


def parse_options():
    venv = pathlib.Path(os.environ.get("PTRAIN_PEERS_VENV", ROOT / ".deps/peers"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptrain", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain", help="the binary")
    parser.add_argument("--python", type=pathlib.Path, default=venv / "bin/python", help="of the environment that setup.sh makes")
    parser.add_argument("--cases", nargs="+", choices=[case.name for case in CASES], default=[case.name for case in CASES])
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=list(PRECISIONS))
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10, help="of one measurement")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--images", type=pathlib.Path, help="file or folder that int8 is calibrated on")
    parser.add_argument("--texts", type=pathlib.Path, help="table of sentences that int8 is calibrated on")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for the results")
    parser.add_argument("--table", type=pathlib.Path, nargs="+", metavar="FILE",
                        help="print the table of these files, of one machine, and do nothing else")
    options = parser.parse_args()
    options.ptrain, options.python = options.ptrain.absolute(), options.python.absolute()
    options.device, options.preload = "cpu", ""
    for case in (case for case in CASES if case.name in options.cases and "int8" in options.precisions and not options.table):
        needed = "images" if "--size" in case.peer else "texts"
        if getattr(options, needed) is None:
            parser.error(f"int8 of {case.name} needs --{needed}; --precisions leaves it out")
    return options


def main():
    options = parse_options()
    if options.table:
        saved = [json.loads(path.read_text()) for path in options.table]
        print(table({**saved[0], "cases": [entry for results in saved for entry in results["cases"]]}))
        return 0
    for needed, remedy in ((options.ptrain, "build it first"), (options.python, "run scripts/peers/setup.sh")):
        if not needed.exists():
            sys.exit(f"{needed} does not exist: {remedy}")
    results = {"schema": "ptrain.infer_peers/1", "machine": describe_machine(options), "cases": []}
    failures = []
    try:
        for case in (case for case in CASES if case.name in options.cases):
            with tempfile.TemporaryDirectory() as folder:
                error = make_models(options, case, pathlib.Path(folder))
                if error:
                    failures.append(f"{case.name}: {error}")
                    continue
                measure_case(options, case, results, pathlib.Path(folder))
    except KeyboardInterrupt:
        failures.append("interrupted: the table shows what was measured until then")
    print(table(results))
    failures += [f"{entry['title']}: {run['error']}" for entry in results["cases"] for runs in entry["runs"].values()
                 for run in runs if "error" in run]
    print("\n".join(failures), file=sys.stderr, end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
