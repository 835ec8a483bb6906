#!/usr/bin/env python3
"""Writes tests/golden/<case>.safetensors: PyTorch's step-one gradients and first losses, computed in double precision.

    .deps/peers/bin/python tests/golden/make_model_golden.py [case]...

A gradient tensor is stored as its L2 norm and 16 sketches, sums of its elements (PyTorch's layout) under hashed signs.
The mean square of the differences of two tensors' sketches estimates their squared L2 distance, so a few kilobytes hold
every tensor of a whole model to a relative error.
"""
import pathlib
import sys

import numpy as np
import torch

import reference
import safetensors_file


def sketch(name, gradient):
    values = gradient.double().numpy().reshape(-1)
    bits = reference.hashes("sketch:" + name, values.size)
    signs = ((bits >> np.uint64(k)) & np.uint64(1) for k in range(reference.SKETCHES))
    return [float(f"{np.dot(values, 1.0 - 2.0 * sign.astype(np.float64)):.9g}") for sign in signs]


def main():
    for name in sys.argv[1:] or reference.CASES:
        case = reference.CASES[name]
        exact, exact_losses = reference.train(case, torch.float64)
        single, single_losses = reference.train(case, torch.float32)
        errors = {key: reference.relative_error(single[key], exact[key]) for key in exact
                  if not reference.negligible(exact[key], exact)}
        loss_error = max(abs(a - b) / abs(b) for a, b in zip(single_losses, exact_losses))
        worst = max(errors, key=errors.get)
        document = {
            "case": name, **({"model": case.model} if case.model else {}), **({"steps": case.steps} if case.phases else {}),
            "made_with": "PyTorch " + torch.__version__, "batch": case.batch, "size": case.size,
            "classes": case.classes, **({"frames": case.frames} if case.frames > 1 else {}), "bert": case.bert,
            **({"clicks": case.clicks} if case.clicks else {}), **({"videos": case.videos} if case.videos else {}), **({"lora": case.lora} if case.lora else {}), **({"pixels": True} if case.pixels else {}),
            **({"found": reference.find_objects(case)} if case.finds_masks else {}), "optimizer": case.optimizer, "losses": exact_losses,
            "gradient_tolerance": case.tolerance, "pytorch_fp32_error": {"gradient": errors[worst], "losses": loss_error},
            "gradients": {key: {"shape": list(value.shape), "norm": float(f"{value.norm().item():.9g}"),
                                "negligible": key not in errors, "sketch": sketch(key, value)}
                          for key, value in exact.items()}}
        path = pathlib.Path(__file__).with_name(name + ".safetensors")
        safetensors_file.write_golden(path, document)
        print(f"{path.name}: {len(exact)} gradients, {path.stat().st_size} bytes; PyTorch's own fp32 error: "
              f"{errors[worst]:.1e} ({worst}), losses {loss_error:.1e}; losses {exact_losses[0]:.4f} .. {exact_losses[-1]:.4f}")


if __name__ == "__main__":
    main()
