#!/usr/bin/env python3
"""Writes metrics.json: seeded random truths and logits, and values, and what scikit-learn and SciPy say of them.

Usage: make_metrics_golden.py [output.json]   (needs the packages numpy, scikit-learn and scipy)
"""
import json
import pathlib
import sys
import warnings

import numpy as np
import scipy
import sklearn
from scipy import stats
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


def draw_values(seed, samples, *, skill, steps):
    """True values from 0 to 5 in `steps` steps, and predictions with `skill`, in quarters: both tie often, and any
    float holds them."""
    random = np.random.default_rng(seed)
    truths = np.round(random.uniform(0, steps, size=samples)) * 5 / steps
    values = skill * truths + random.normal(size=samples)
    return truths, np.round(4 * values) / 4


def expected_of_values(truths, values):
    """Correlations that are not defined are null."""
    def defined(value):
        return None if np.isnan(value) else float(value)
    return {"pearson": defined(stats.pearsonr(values, truths).statistic),
            "spearman": defined(stats.spearmanr(values, truths).statistic),
            "mse": metrics.mean_squared_error(truths, values)}


VALUES = {
    "tied": draw_values(11, 60, skill=0.8, steps=20),
    "against": draw_values(12, 40, skill=-0.5, steps=5),
    "chance": draw_values(13, 30, skill=0.0, steps=40),
    "one_value": (np.linspace(0, 4, 9), np.full(9, 2.5)),
}


def main():
    if any(argument in ("-h", "--help") for argument in sys.argv[1:]):
        return print(__doc__)
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("metrics.json"))
    warnings.simplefilter("ignore")
    cases = [{"name": name, "truths": truths.tolist(), "logits": logits.tolist(), "expected": expected(truths, logits)}
             for name, (truths, logits) in CASES.items()]
    values = [{"name": name, "truths": truths.tolist(), "values": values.tolist(),
               "expected": expected_of_values(truths, values)} for name, (truths, values) in VALUES.items()]
    lines, of_values = (",\n".join(json.dumps(case) for case in part) for part in (cases, values))
    made_with = f"scikit-learn {sklearn.__version__}, SciPy {scipy.__version__}"
    out.write_text(f'{{"made_with": "{made_with}", "cases": [\n{lines}\n], "values": [\n{of_values}\n]}}\n')


if __name__ == "__main__":
    main()
