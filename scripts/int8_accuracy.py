#!/usr/bin/env python3
"""Trains four networks, quantizes each to 8-bit integers, and reports the loss of accuracy.

  scripts/int8_accuracy.py [--cases NAME...] [--runs runs/int8] [--out results/MACHINE/int8]
  scripts/int8_accuracy.py --table FOLDER         # only prints the table of saved reports

Fashion-MNIST is Debian's package, CIFAR-10 and SST-2 are what scripts/fetch_data.sh puts below data/, MiniLM's weights
scripts/fetch_weights.sh's. Existing runs are used; missing ones are trained, in a few minutes each. Every layer is
computed in 8 bits (--layers all), calibrated on 512 training samples (for Fashion-MNIST on evaluation samples, which are
what that folder opens) and evaluated on the whole evaluation set. Exit code 1 if one loses more points than its case
allows.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


@dataclasses.dataclass
class Case:
    title: str
    config: str
    keys: dict
    calibrate: list  # input of ptrain quantize
    evaluate: list
    points: float    # of top-1 that may be lost


CASES = {
    "resnet50-fashion": Case("ResNet-50, Fashion-MNIST", "configs/quick/resnet50_fashion_mnist.yaml", {"train.steps": 859},
                             [FASHION], [FASHION], 0.3),
    "resnet50-cifar10": Case("ResNet-50, CIFAR-10", "configs/zoo/resnet18_cifar10.yaml",
                             {"model.name": "resnet50", "train.epochs": 3},
                             ["data/cifar10/train"], ["data/cifar10/test"], 0.3),
    "mobilenet_v1-fashion": Case("MobileNetV1, Fashion-MNIST", "configs/zoo/mobilenet_v1.yaml", {}, [FASHION], [FASHION], 0.5),
    "minilm-sst2": Case("MiniLM-L6, SST-2", "configs/bert_finetune.yaml", {"data.padding": "none"},
                        ["data/sst2/train.tsv"], ["data/sst2/dev.tsv"], 1.0),
}


def ptrain(options, *arguments):
    print("ptrain " + " ".join(map(str, arguments)), file=sys.stderr, flush=True)
    if subprocess.run([options.program, *map(str, arguments)], cwd=ROOT, check=False).returncode != 0:
        sys.exit(f"ptrain {arguments[0]} failed")


def measure(options, name, case):
    run = pathlib.Path(os.path.relpath(options.runs, ROOT), name)  # as in reports
    if not (ROOT / run / "model.safetensors").exists():
        overrides = [part for key, value in case.keys.items() for part in ("-o", f"{key}={value}")]
        ptrain(options, "run", ROOT / case.config, "--out", run, "--resume", "auto", *overrides)
    options.out.mkdir(parents=True, exist_ok=True)
    ptrain(options, "quantize", run, "--calibrate", *case.calibrate, "--evaluate", *case.evaluate, "--layers", "all", "--max-drop",
           100, "--out", run.with_name(name + "-int8"), "--report", options.out.absolute() / f"{name}.json")


def table(folder):
    lines = ["| network and data | samples | fp32 | int8 | lost, points | right before alone, after alone | McNemar's p | logits differ by "
             "| layers in 8 bits | size |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    failed = False
    for name, case in CASES.items():
        file = folder / f"{name}.json"
        if not file.exists():
            continue
        report = json.loads(file.read_text(encoding="utf-8"))
        accuracy, layers = report["accuracy"], report["layers"]
        lost = 100 * (accuracy["before"] - accuracy["after"])
        failed = failed or lost > case.points
        lines.append(
            f"| {case.title} | {accuracy['samples']} | {accuracy['before']:.4f} | {accuracy['after']:.4f} | {lost:.2f} (allowed {case.points}) "
            f"| {accuracy['lost']}, {accuracy['won']} | {accuracy['p_value']:.2f} | {100 * report['logits']['relative']:.1f} % "
            f"| {sum(not layer['left_because'] for layer in layers)} of {len(layers)} "
            f"| {report['bytes_after'] / report['bytes_before']:.2f}x |")
    print("\n".join(lines))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--runs", type=pathlib.Path, default=ROOT / "runs/int8", help="folder of the runs")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "runs/int8/reports", help="folder for the reports")
    parser.add_argument("--table", type=pathlib.Path, help="print the table of this folder's reports and do nothing else")
    options = parser.parse_args()
    if options.table:
        return table(options.table)
    for name in options.cases:
        measure(options, name, CASES[name])
    return table(options.out)


if __name__ == "__main__":
    sys.exit(main())
