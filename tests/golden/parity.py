#!/usr/bin/env python3
"""Trains the same model from the same weights and batches in PyTorch and in ptrain and compares every gradient.

    .deps/peers/bin/python tests/golden/parity.py [--ptrain build/release/bin/ptrain] [resnet50|bert_base|minilm]...

fp32, no dropout: each gradient tensor of step one must lie within 1e-4 (relative L2) of PyTorch's, each of the first ten
losses within 1e-3 (relative). It hands ptrain two safetensors files:
  weights  parameters and buffers under torchvision's or transformers' names (BERT: config.json beside it)
  batch    labels i32 [S,N] and images u8 [S,N,H,W,3], or input_ids, token_type_ids i32 [S,N,L] and lengths i32 [S,N]
and reads one back with `grad.<name>` in PyTorch's layout and `losses` f32 [S]:
  ptrain golden --model NAME --weights FILE --batch FILE --out FILE -o key=value...
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import safetensors.torch
import torch

import reference

GRADIENT_TOLERANCE = 1e-4
LOSS_TOLERANCE = 1e-3
ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_ptrain(binary, case, folder):
    model = reference.build(case, torch.float32)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    safetensors.torch.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    safetensors.torch.save_file(reference.batches(case), folder / "batch.safetensors")
    keys = {"train.optimizer." + key: value for key, value in case.optimizer.items()}
    keys |= {"model.classes": case.classes, "train.schedule.name": "constant", "amp.level": "O0"}
    if case.bert:
        (folder / "config.json").write_text(json.dumps(reference.bert_config(case).to_dict()))
        keys |= {"model.dropout": 0}
    else:
        keys |= {"model.stem": "imagenet"}
    command = [binary, "golden", "--model", "bert" if case.bert else case.name, "--weights", folder / "model.safetensors",
               "--batch", folder / "batch.safetensors", "--out", folder / "out.safetensors"]
    for key, value in keys.items():
        command += ["-o", f"{key}={value}"]
    subprocess.run([str(part) for part in command], check=True)
    return safetensors.torch.load_file(folder / "out.safetensors")


def compare(case, ours, gradients, losses):
    """Prints the figures; True when all are within tolerance. A gradient that PyTorch has and ptrain lacks fails."""
    missing = [name for name in gradients if "grad." + name not in ours]
    errors = {name: reference.relative_error(ours["grad." + name], gradient) for name, gradient in gradients.items()
              if name not in missing and not reference.negligible(gradient, gradients)}
    negligible = [name for name in gradients if name not in missing and name not in errors]
    worst = sorted(errors, key=errors.get, reverse=True)[:3]
    loss_error = max(abs(a - b) / abs(b) for a, b in zip(ours["losses"].tolist(), losses, strict=True))
    print(f"{case.name}: {len(errors)} gradients, median error {sorted(errors.values())[len(errors) // 2]:.1e}, worst "
          + ", ".join(f"{errors[name]:.1e} {name}" for name in worst)
          + f"; {len(negligible)} negligible; losses within {loss_error:.1e}")
    for name in missing:
        print(f"{case.name}: {name}: missing from ptrain's gradients")
    return not missing and errors[worst[0]] <= GRADIENT_TOLERANCE and loss_error <= LOSS_TOLERANCE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="case", help=" ".join(reference.CASES))
    parser.add_argument("--ptrain", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain")
    options = parser.parse_args()
    passed = True
    for name in options.cases or reference.CASES:
        case = reference.CASES[name]
        gradients, losses = reference.train(case, torch.float32)
        with tempfile.TemporaryDirectory() as folder:
            ours = run_ptrain(options.ptrain.absolute(), case, pathlib.Path(folder))
        passed = compare(case, ours, gradients, losses) and passed
    print("parity: " + ("passed" if passed else "FAILED"))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
