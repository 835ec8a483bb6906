#!/usr/bin/env python3
"""Writes multi_label.json: seeded random labels and logits, and Hit@1, PERR and GAP@20 of them by their definitions.

Usage: make_multi_label_golden.py [output.json]   (needs the package numpy)
"""
import json
import pathlib
import sys

import numpy as np

TOP = 20  # classes of a sample that GAP ranks


def draw(seed, samples, classes, *, most, skill, zeros=0):
    """Logits that know one to `most` labels a sample by `skill`, all of them different. The `zeros` last classes have
    logits whose probability is 0 in fp32."""
    random = np.random.default_rng(seed)
    labels = np.zeros((samples, classes), dtype=int)
    for row in labels:
        row[random.choice(classes, size=random.integers(1, most + 1), replace=False)] = 1
    logits = random.normal(size=(samples, classes)) + skill * labels
    if zeros > 0:
        logits[:, -zeros:] -= 200
    return labels, np.round(logits * 2**14) / 2**14


def probabilities(logits):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-logits.astype(np.float32)))


def hit_at_one(labels, logits):
    return np.mean([row[scores.argmax()] for row, scores in zip(labels, logits)])


def precision_at_equal_recall(labels, logits):
    precisions = []
    for row, scores, chances in zip(labels, logits, probabilities(logits)):
        best = np.argsort(-scores)[:row.sum()]
        precisions.append(np.mean(row[best] * (chances[best] > 0)))
    return np.mean(precisions)


def global_average_precision(labels, logits):
    pairs = [(scores[i], row[i]) for row, scores in zip(labels, logits) for i in np.argsort(-scores)[:TOP]]
    hits = np.array([label for _, label in sorted(pairs, key=lambda pair: -pair[0])])
    precisions = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return np.sum(precisions * hits) / labels.sum()


CASES = {
    "many_classes": draw(1, 30, 60, most=5, skill=1.5),
    "few_classes": draw(2, 25, 4, most=3, skill=1.0),
    "more_labels_than_are_ranked": draw(3, 6, 40, most=30, skill=0.5),
    "chance": draw(4, 20, 30, most=2, skill=0.0),
    "probabilities_of_zero": draw(5, 12, 5, most=4, skill=1.0, zeros=2),
}


def main():
    if any(argument in ("-h", "--help") for argument in sys.argv[1:]):
        return print(__doc__)
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("multi_label.json"))
    cases = [{"name": name, "classes": labels.shape[1], "labels": [np.flatnonzero(row).tolist() for row in labels],
              "logits": logits.flatten().tolist(),
              "expected": {"hit_at_1": hit_at_one(labels, logits), "perr": precision_at_equal_recall(labels, logits),
                           "gap": global_average_precision(labels, logits)}}
             for name, (labels, logits) in CASES.items()]
    lines = ",\n".join(json.dumps(case) for case in cases)
    out.write_text(f'{{"made_with": "NumPy {np.__version__}", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
