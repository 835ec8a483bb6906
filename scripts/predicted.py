#!/usr/bin/env python3
"""Prints results/predicted.md: predictions of ptrain estimate --device for the benchmarked models.

    scripts/predicted.py [PTRAIN] >results/predicted.md      PTRAIN: build/release/bin/ptrain
    scripts/predicted.py [PTRAIN] --measured REPORT...       measured beside predicted, for each op of reports of a GPU
                                                             with output.per_op
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

DEVICE = "h200"  # of cases that name none
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
# MLPerf's benchmark has 264 classes, 800 px and Adam; its body is a ResNeXt-50 whose norms are frozen, as torchvision's.
FROZEN = ["backbone.body.conv1.*", "backbone.body.layer1.*"]
BOXES = {"model": "{name: retinanet_resnet50_fpn, classes: 264}", "data.image_size": 800, "amp.level": "O1", "amp.dtype": "fp16",
         "train.optimizer.name": "adamw", "train.optimizer.weight_decay": 0, "train.groups.match": json.dumps(FROZEN),
         "train.groups.trainable": json.dumps([False] * len(FROZEN))}
MASKS = BOXES | {"model": "{name: maskrcnn_resnet50_fpn, classes: 81}", "data.image_size": "800x1344",
                 "train.optimizer.name": "momentum"}
DETECTION = [(f"RetinaNet 800 px, batch {batch}, O1 fp16", BOXES | {"data.batch_size": batch}) for batch in (8, 32)]
DETECTION += [(f"Mask R-CNN 800x1344 px, batch {batch}, O1 fp16", MASKS | {"data.batch_size": batch}) for batch in (4, 12)]
LLAMA = {"model": "{name: llama, size: 8b, vocab_size: 128256}", "data.max_length": 8192, "amp.level": "O1", "amp.dtype": "bf16",
         "train.optimizer.name": "adamw", "train.recompute": "block"}
LORA = LLAMA | {"model.lora.rank": 16, "model.lora.alpha": 32, "data.batch_size": 8}
SHARDED = {"dist.ranks": 8, "dist.average": "gradient", "eval.amp": "O1"}
LANGUAGE = [("LoRA of rank 16 beside every linear layer, batch 8 of 8,192", LORA, {}),
            ("the same, in FP8 where predicted faster", LORA | {"flags.fp8": "true"}, {}),
            ("all parameters, batch 1 of 8,192, optimizer and masters sharded", LLAMA | {"data.batch_size": 1},
             SHARDED | {"dist.shard": "optimizer"}),
            ("the same, 4 micro-batches, their sums sharded too", LLAMA | {"data.batch_size": 1, "train.accumulate_steps": 4},
             SHARDED | {"dist.shard": "gradients"}),
            ("the same, in FP8 where predicted faster", LLAMA | {"data.batch_size": 1, "train.accumulate_steps": 4, "flags.fp8": "true"},
             SHARDED | {"dist.shard": "gradients"})]
OPS_SHOWN, OPS_MEASURED = 6, 14
SAME_OPS = ("O2 fp16", "O2 bf16", "batch 4, O1 fp16")  # the table of ops is nearly that of the step before or after


def estimate(program, device, config, keys):
    """What ptrain estimate says of a configuration's text and other values of keys."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "run.yaml"
        file.write_text(config)
        overrides = [word for key, value in keys.items() for word in ("-o", f"{key}={value}")]
        result = subprocess.run([program, "estimate", file, "--device", device, "--json", *overrides], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr)
    return json.loads(result.stdout)


def predict(program, keys, device=DEVICE):
    config = f"model: {keys['model']}\ndata: {{source: synthetic, synthetic_samples: 512}}\n"
    return estimate(program, device, config, {"eval.every_epochs": 0} | {key: value for key, value in keys.items() if key != "model"})


def compare_measured(program, file):
    """Lines for one report: the time of each kind of op in a step, measured and predicted for the same settings and GPU."""
    report = json.loads(pathlib.Path(file).read_text())
    measured = collections.Counter()
    for kernel in report["kernels"]:
        measured[kernel["op"]] += kernel["milliseconds"] / max(1, kernel["calls"])
    if not sum(measured.values()):
        sys.exit(f"{file}: has no times of ops; run with -o output.per_op=true")
    device = report["environment"]["devices"][0]["name"]
    prediction = estimate(program, device, json.dumps(report["config"]), {"device": "auto"})  # JSON is YAML
    predicted = {op["type"]: op for op in prediction["ops"]}
    row = lambda name, nodes, ours, theirs: (f"| {name} | {nodes} | {ours:.2f} | {theirs:.2f} | "
                                             f"{ours / theirs if theirs else float('nan'):.2f} |")
    lines = [f"{pathlib.Path(file).stem}, {device}:", "", "| op | nodes | measured ms | predicted ms | measured / predicted |",
             "| --- | ---: | ---: | ---: | ---: |"]
    shown = measured.most_common(OPS_MEASURED)
    lines += [row(op, predicted[op]["nodes"] if op in predicted else "-", ms, predicted[op]["ms"] if op in predicted else 0)
              for op, ms in shown]
    lines.append(row("all", sum(op["nodes"] for op in prediction["ops"]), sum(measured.values()), prediction["step"]["ms"]))
    return lines


def cells(figures):
    return f"{figures['bytes'] * 1e-9:.2f} | {figures['flops'] * 1e-12:.3f} | {figures['ms']:.2f}"


def predict_steps(program, cases, device):
    """Lines of one table of steps, and of a table of ops for each."""
    lines = ["| step | GB | TFLOP | ms | samples/s |", "| --- | --- | --- | --- | --- |"]
    details = []
    for name, keys in cases:
        prediction = predict(program, keys, device)
        lines.append(f"| {name} | {cells(prediction['step'])} | {prediction['samples_per_second']:.0f} |")
        if name.endswith(SAME_OPS):
            continue
        details += ["", f"## {name}", "", "| op | nodes | GB | TFLOP | ms | bound by |",
                    "| --- | --- | --- | --- | --- | --- |"]
        details += [f"| {op['type']} | {op['nodes']} | {cells(op)} | {op['bound']} |"
                    for op in prediction["ops"][:OPS_SHOWN]]
    return lines, details


def predict_texts(program):
    """Lines of one table of steps of Llama 3.1 8B, by tokens."""
    lines = ["| step | TFLOP | ms | tokens/s per GPU | memory GiB |", "| --- | --- | --- | --- | --- |"]
    for name, keys, ranks in LANGUAGE:
        prediction = predict(program, keys | ranks, "h100")
        tokens = prediction["samples_per_second"] * keys["data.max_length"]
        memory = {name: size / 2**30 for name, size in prediction["memory"].items()}
        lines.append(f"| {name} | {prediction['step']['flops'] * 1e-12:.0f} | {prediction['step']['ms']:.0f} | {tokens:.0f} | "
                     f"{memory['planned_bytes']:.1f} of {memory['available_bytes']:.1f} |")
    return lines


def table(program):
    lines = ["# Predicted, not measured", "",
             "Made by `scripts/predicted.py` from `ptrain estimate --device`: a node takes as long as its bytes or arithmetic",
             "take at the shares of the data sheet's rates that an H100 reached (`core/train/plans/step_estimate.cpp`;",
             "[README.md](README.md#measured-beside-predicted) compares). A test holds this file to what the program says, so",
             "that a cast too many shows.", "", "One H200:", ""]
    steps, details = predict_steps(program, CASES, DEVICE)
    boxes, box_details = predict_steps(program, DETECTION, "h100")
    lines += [*steps, "", "One H100 (SXM), for which logs of MLPerf Training 4.0 and 4.1 have 284 to 295 images/s per GPU, with a",
              "ResNeXt-50 32x4d as the body, for RetinaNet, and 181 for Mask R-CNN:", "", *boxes, "",
              "Llama 3.1 8B on one H100 (SXM), and on one of eight; beside them NVIDIA's Megatron Bridge reaches 14,451 tokens/s per GPU",
              "in FP8, torchtitan on eight of 500 W 5,762, compiled 6,667, both with all parameters. They shard parameters in bf16 and",
              "gradients too; the exchange over links is not in these times:", "",
              *predict_texts(program)]
    return "\n".join(lines + details + box_details) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptrain", nargs="?", default="build/release/bin/ptrain")
    parser.add_argument("--measured", nargs="+", metavar="REPORT")
    options = parser.parse_args()
    if options.measured:
        print("\n\n".join("\n".join(compare_measured(options.ptrain, file)) for file in options.measured))
    else:
        print(table(options.ptrain), end="")
