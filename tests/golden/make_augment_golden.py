#!/usr/bin/env python3
"""Writes tests/golden/augment.safetensors: what torchvision's TrivialAugmentWide makes of one small picture, change by change.

    make_augment_golden.py    # needs torchvision
"""
import json
import pathlib

import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms.autoaugment import TrivialAugmentWide, _apply_op

import safetensors_file

SIZE, AMOUNTS = 36, (7, 30)  # beyond 32 px, so that a shift by all of them leaves something


def encoded(picture):
    return picture.permute(1, 2, 0).contiguous().numpy().tobytes()


def main():
    draw = torch.Generator().manual_seed(5)
    smooth = torch.nn.functional.interpolate(torch.rand((1, 3, 6, 6), generator=draw), size=SIZE, mode="bilinear")[0]
    picture = (20 + 190 * smooth + 12 * torch.rand((3, SIZE, SIZE), generator=draw)).to(torch.uint8)
    changes, pixels = [], b""
    for name, (magnitudes, signed) in TrivialAugmentWide()._augmentation_space(31).items():
        for amount in AMOUNTS if magnitudes.ndim else AMOUNTS[:1]:
            for negative in (False, True) if signed else (False,):
                magnitude = float(magnitudes[amount]) if magnitudes.ndim else 0.0
                changed = _apply_op(picture, name, -magnitude if negative else magnitude,
                                    interpolation=InterpolationMode.NEAREST, fill=None)
                changes.append({"change": name, "amount": amount, "negative": negative})
                pixels += encoded(changed)
    target = pathlib.Path(__file__).with_name("augment.safetensors")
    safetensors_file.write(target, {"picture": ("U8", [SIZE, SIZE, 3], encoded(picture)),
                                    "pixels": ("U8", [len(changes), SIZE, SIZE, 3], pixels)},
                           {"changes": json.dumps(changes)})
    print(f"{target}: {len(changes)} changes")


if __name__ == "__main__":
    main()
