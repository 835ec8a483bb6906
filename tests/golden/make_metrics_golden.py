#!/usr/bin/env python3
"""Writes metrics.json: seeded random truths and logits, and what scikit-learn says of them.

Usage: make_metrics_golden.py [output.json]   (needs the packages numpy and scikit-learn)
"""
import json
import pathlib
import sys
import warnings

import numpy as np
import sklearn
from sklearn import metrics


def draw(seed, samples, classes, *, shares, skill, never=()):
    """Truths in about these shares and logits that know them by `skill`; classes in `never` are not answered. Logits are
    eighths, which any float holds: differences tie exactly."""
    random = np.random.default_rng(seed)
    truths = random.choice(classes, size=samples, p=shares)
    logits = random.normal(size=(samples, classes))
    logits[np.arange(samples), truths] += skill
    logits[:, list(never)] = -9
    return truths, np.round(8 * logits) / 8


def expected(truths, logits):
    """Answers are the largest logit, of equal ones the first."""
    classes = logits.shape[1]
    answers = logits.argmax(axis=1)
    precision, recall, f1, samples = metrics.precision_recall_fscore_support(
        truths, answers, labels=range(classes), zero_division=0)
    both = classes == 2 and len(set(truths)) == 2
    return {
        "accuracy": metrics.accuracy_score(truths, answers),
        "majority": samples.max() / samples.sum(),
        "macro_f1": metrics.f1_score(truths, answers, average="macro", zero_division=0),
        "mcc": metrics.matthews_corrcoef(truths, answers),
        "auc": metrics.roc_auc_score(truths, logits[:, 1] - logits[:, 0]) if both else None,
        "precision": precision.tolist(), "recall": recall.tolist(), "f1": f1.tolist(), "samples": samples.tolist(),
        "confusion": metrics.confusion_matrix(truths, answers, labels=range(classes)).tolist(),
    }


CASES = {
    "two_classes": draw(1, 80, 2, shares=[0.8, 0.2], skill=0.8),
    "always_one_answer": draw(2, 40, 2, shares=[0.9, 0.1], skill=0.5, never=[1]),
    "five_classes": draw(3, 90, 5, shares=[0.5, 0.2, 0.2, 0.1, 0.0], skill=1.0, never=[3, 4]),
    "worse_than_chance": draw(4, 60, 3, shares=[0.4, 0.3, 0.3], skill=-1.5),
    "one_class_of_truth": draw(5, 20, 2, shares=[0.0, 1.0], skill=0.0),
}


def main():
    if any(argument in ("-h", "--help") for argument in sys.argv[1:]):
        return print(__doc__)
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("metrics.json"))
    warnings.simplefilter("ignore", category=UserWarning)
    cases = [{"name": name, "truths": truths.tolist(), "logits": logits.tolist(), "expected": expected(truths, logits)}
             for name, (truths, logits) in CASES.items()]
    lines = ",\n".join(json.dumps(case) for case in cases)
    out.write_text(f'{{"made_with": "scikit-learn {sklearn.__version__}", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
