#!/usr/bin/env python3
"""Prints results/predicted.md: predictions of ptrain estimate --device for the benchmarked models.

    scripts/predicted.py [PTRAIN] >results/predicted.md      PTRAIN: build/release/bin/ptrain
"""
import json
import pathlib
import subprocess
import sys
import tempfile

DEVICE = "h200"
IMAGES = {"model": "{name: resnet50, classes: 1000}", "data.image_size": 224, "data.batch_size": 256,
          "train.optimizer.name": "momentum"}
TEXT = {"model": "{name: bert, classes: 2}", "model.vocab_size": 30522, "model.dropout": 0.1,
        "train.optimizer.name": "adamw"}
BASE = TEXT | {"model.size": "base", "data.max_length": 128, "data.batch_size": 128}
LARGE = TEXT | {"model.size": "large", "data.max_length": 384, "data.batch_size": 64}
CASES = [(f"{name}, {level} {dtype}", keys | {"amp.level": level, "amp.dtype": dtype}) for name, keys, dtypes in (
    ("ResNet-50 224 px, batch 256", IMAGES, ("fp16", "bf16")),
    ("BERT-base 128, batch 128", BASE, ("fp16",)),
    ("BERT-large 384, batch 64", LARGE, ("fp16",))) for dtype in dtypes for level in ("O1", "O2")]
OPS_SHOWN = 6


def predict(program, keys):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "run.yaml"
        config.write_text(f"model: {keys['model']}\ndata: {{source: synthetic, synthetic_samples: 512}}\n")
        overrides = [word for key, value in keys.items() if key != "model" for word in ("-o", f"{key}={value}")]
        command = [program, "estimate", config, "--device", DEVICE, "--json", "-o", "eval.every_epochs=0", *overrides]
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr)
    return json.loads(result.stdout)


def cells(figures):
    return f"{figures['bytes'] * 1e-9:.2f} | {figures['flops'] * 1e-12:.3f} | {figures['ms']:.2f}"


def table(program):
    lines = ["# Predicted, not measured: one H200", "",
             "Made by `scripts/predicted.py` from `ptrain estimate --device h200`: a node takes as long as its bytes or",
             "arithmetic take at assumed shares of the data sheet's rates (`core/train/plans/step_estimate.cpp`). A test holds",
             "this file to what the program says, so that a cast too many shows.", "",
             "| step | GB | TFLOP | ms | samples/s |", "| --- | --- | --- | --- | --- |"]
    details = []
    for name, keys in CASES:
        prediction = predict(program, keys)
        lines.append(f"| {name} | {cells(prediction['step'])} | {prediction['samples_per_second']:.0f} |")
        details += ["", f"## {name}", "", "| op | nodes | GB | TFLOP | ms | bound by |",
                    "| --- | --- | --- | --- | --- | --- |"]
        details += [f"| {op['type']} | {op['nodes']} | {cells(op)} | {op['bound']} |"
                    for op in prediction["ops"][:OPS_SHOWN]]
    return "\n".join(lines + details) + "\n"


if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv):
        sys.exit(print(__doc__))
    print(table(sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/ptrain"), end="")
