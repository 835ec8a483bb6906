#!/usr/bin/env python3
"""Writes optimizers.json: what ten steps of PyTorch's optimizers make of a matrix and a vector, in double precision.

    .deps/peers/bin/python tests/golden/make_optimizer_golden.py

Values and gradients are formulas, which optimizer_golden_test.cpp has too. torch.optim.Muon, which takes matrices alone
and rounds its products to bf16, leaves the vector to AdamW.
"""
import json
import math
import pathlib

import torch

STEPS = 10
SHAPES = {"wide": (4, 6), "tall": (6, 4), "vector": (5,)}

# The options of torch.optim for each of ours; `kind` and the names on the left are ptrain's.
CASES = {
    "sgd": {"kind": "sgd", "weight_decay": 0.05},
    "momentum": {"kind": "momentum", "momentum": 0.9, "weight_decay": 0.05},
    "nesterov": {"kind": "momentum", "momentum": 0.9, "nesterov": True},
    "adam": {"kind": "adam", "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-6, "weight_decay": 0.05},
    "adamw": {"kind": "adamw", "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-6, "weight_decay": 0.05},
    "adagrad": {"kind": "adagrad", "epsilon": 1e-6, "weight_decay": 0.05},
    "adagrad_accumulator": {"kind": "adagrad", "epsilon": 1e-6, "initial_accumulator": 0.5},
    "rmsprop": {"kind": "rmsprop", "alpha": 0.9, "epsilon": 1e-6, "momentum": 0, "weight_decay": 0.05},
    "rmsprop_momentum": {"kind": "rmsprop", "alpha": 0.9, "epsilon": 1e-6, "momentum": 0.9},
    "rmsprop_centered": {"kind": "rmsprop", "alpha": 0.9, "epsilon": 1e-3, "momentum": 0, "centered": True},
    "rmsprop_centered_momentum": {"kind": "rmsprop", "alpha": 0.9, "epsilon": 1e-3, "momentum": 0.5, "centered": True,
                                  "weight_decay": 0.05},
    "muon": {"kind": "muon", "momentum": 0.95, "nesterov": True, "epsilon": 1e-6, "weight_decay": 0.1},
    "muon_match_rms_adamw": {"kind": "muon", "momentum": 0.9, "epsilon": 1e-6, "muon_scale": "match_rms_adamw"},
}


def start(shape):
    count = math.prod(shape)
    return torch.tensor([math.cos(0.7 * i) for i in range(count)], dtype=torch.float64).reshape(shape)


def gradient(step, shape):
    count = math.prod(shape)
    return torch.tensor([math.sin(1 + 2 * step + i * (i + 3)) for i in range(count)], dtype=torch.float64).reshape(shape)


def rate(step):
    return 0.1 / (step + 1)


def adamw(case, parameters):
    betas = (case.get("beta1", 0.9), case.get("beta2", 0.999))
    return torch.optim.AdamW(parameters, betas=betas, eps=case["epsilon"], weight_decay=case.get("weight_decay", 0))


def optimizers(case, parameters):
    decay = case.get("weight_decay", 0)
    kind = case["kind"]
    if kind in ("sgd", "momentum"):
        return [torch.optim.SGD(parameters, lr=1, momentum=case.get("momentum", 0), nesterov=case.get("nesterov", False),
                                weight_decay=decay)]
    if kind == "adam":
        return [torch.optim.Adam(parameters, betas=(case["beta1"], case["beta2"]), eps=case["epsilon"],
                                 weight_decay=decay)]
    if kind == "adamw":
        return [adamw(case, parameters)]
    if kind == "adagrad":
        return [torch.optim.Adagrad(parameters, eps=case["epsilon"], weight_decay=decay,
                                    initial_accumulator_value=case.get("initial_accumulator", 0))]
    if kind == "rmsprop":
        return [torch.optim.RMSprop(parameters, alpha=case["alpha"], eps=case["epsilon"], momentum=case["momentum"],
                                    centered=case.get("centered", False), weight_decay=decay)]
    matrices = [p for p in parameters if p.dim() == 2]
    return [torch.optim.Muon(matrices, momentum=case["momentum"], nesterov=case.get("nesterov", False),
                             weight_decay=decay, adjust_lr_fn=case.get("muon_scale", "original")),
            adamw(case, [p for p in parameters if p.dim() != 2])]


def train(case):
    parameters = {name: torch.nn.Parameter(start(shape)) for name, shape in SHAPES.items()}
    made = optimizers(case, list(parameters.values()))
    for step in range(STEPS):
        for name, parameter in parameters.items():
            parameter.grad = gradient(step, SHAPES[name])
        for optimizer in made:
            for group in optimizer.param_groups:
                group["lr"] = rate(step)
            optimizer.step()
    return {name: [float(f"{v:.9g}") for v in p.detach().reshape(-1).tolist()] for name, p in parameters.items()}


def main():
    cases = ",\n".join(f"{json.dumps(name)}: {json.dumps({**case, 'expected': train(case)})}" for name, case in CASES.items())
    path = pathlib.Path(__file__).parent / "optimizers.json"
    path.write_text(f'{{"torch": "{torch.__version__}", "steps": {STEPS}, "cases": {{\n{cases}\n}}}}\n')
    print(f"{path}: {len(CASES)} cases by PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
