#!/usr/bin/env python3
"""Writes ctc_loss.json: PyTorch's CTC losses of logits that are a formula, and their gradients, in double precision.

    .deps/peers/bin/python tests/golden/make_ctc_golden.py

The formula is in ctc_loss_test.cpp too. The mean is over the samples, each with the whole loss of its label.
"""
import json
import math
import pathlib

import torch
import torch.nn.functional as F

IGNORED = -1  # after a label's characters

# Classes, steps and the labels of a batch; ptrain's "blank" is the class of that number.
CASES = {
    "words": {"classes": 7, "steps": 9, "blank": 0, "labels": [[1, 2, 3], [4, 5, 6, 1], [2, 1, 2]]},
    "repeats": {"classes": 4, "steps": 8, "blank": 0, "labels": [[1, 1, 1, 1], [2, 2, 3, 3], [3, 3]]},
    "last_class_is_blank": {"classes": 5, "steps": 6, "blank": 4, "labels": [[0, 1, 2], [3, 3]]},
    "just_fits": {"classes": 4, "steps": 4, "blank": 0, "labels": [[1, 2, 3, 1], [1, 1, 2]]},
    "does_not_fit": {"classes": 4, "steps": 4, "blank": 0, "labels": [[1, 1, 1], [1, 2, 3]]},
    "long": {"classes": 11, "steps": 40, "blank": 0,
             "labels": [[1 + (3 * i) % 10 for i in range(25)], [1 + i // 2 % 10 for i in range(25)], [7]]},
}


def logits(samples, steps, classes):
    count = samples * steps * classes
    return torch.tensor([3 * math.sin(1 + 0.37 * i * (i % 11 + 1)) for i in range(count)],
                        dtype=torch.float64).reshape(samples, steps, classes)


def measure(classes, steps, blank, labels):
    x = logits(len(labels), steps, classes).requires_grad_()
    lengths = [len(label) for label in labels]
    losses = F.ctc_loss(x.log_softmax(-1).transpose(0, 1), torch.tensor(sum(labels, [])),
                        torch.full([len(labels)], steps), torch.tensor(lengths), blank=blank, reduction="none",
                        zero_infinity=True)
    losses.mean().backward()
    longest = max(lengths) + 1  # the last entry is always padding
    return {"classes": classes, "steps": steps, "blank": blank,
            "labels": [label + [IGNORED] * (longest - len(label)) for label in labels],
            "losses": losses.tolist(), "loss": losses.mean().item(),
            "gradient": [round(value, 10) for value in x.grad.flatten().tolist()]}


def main():
    golden = {"comment": f"by make_ctc_golden.py with torch {torch.__version__}",
              "cases": {name: measure(**case) for name, case in CASES.items()}}
    pathlib.Path(__file__).with_name("ctc_loss.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
