#!/usr/bin/env python3
"""Verdicts of `ptrain compare --against` on noise recorded on a shared machine (noise.json), and why the step time that
represents a run is its tenth percentile: the rule, written again, on stretches of that noise with a slowdown put in.

    tests/trust/simulate.py            # a minute
"""
import json
import math
import pathlib
import random

NOISE = json.loads((pathlib.Path(__file__).parent / "noise.json").read_text())
THRESHOLD = 2
TRIALS = 300


def quantile(values, part):
    values = sorted(values)
    rank = part * (len(values) - 1)
    below = int(rank)
    above = min(below + 1, len(values) - 1)
    return values[below] + (rank - below) * (values[above] - values[below])


def signed_rank_cut(n, tail=0.025):
    chances = [1.0] + [0.0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        chances = [0.5 * (c + (chances[s - rank] if s >= rank else 0)) for s, c in enumerate(chances)]
    total = 0
    for k, chance in enumerate(chances):
        total += chance
        if total > tail:
            return k - 1
    return -1


CUTS = [signed_rank_cut(n) for n in range(61)]


def verdict(changes):
    """Verdict and interval in percent; as core/analysis/verdict.cpp."""
    means = sorted((a + b) / 2 for i, a in enumerate(changes) for b in changes[i:])
    cut = CUTS[len(changes)]
    if cut < 0:
        return "INCONCLUSIVE", -math.inf, math.inf
    estimate, low, high = (100 * math.expm1(x) for x in (quantile(means, 0.5), means[cut], means[-1 - cut]))
    if low > 0 and estimate > THRESHOLD:
        return "SLOWER", low, high
    if high < 0 and estimate < -THRESHOLD:
        return "FASTER", low, high
    return ("SAME" if low > -THRESHOLD and high < THRESHOLD else "INCONCLUSIVE"), low, high


def compare(series, percent, most_pairs, chance):
    """Pairs of neighbouring runs, their order drawn, until the verdict is clear; as core/bench/ab_comparison.cpp."""
    changes, left, at = [], 0, 0
    while len(changes) < most_pairs:
        if left < 2:  # the next stretch of runs that were measured in a row
            at, left = chance.randrange(len(series) // NOISE["runs_in_a_row"]) * NOISE["runs_in_a_row"], NOISE["runs_in_a_row"]
        pair = series[at : at + 2]
        chance.shuffle(pair)
        changes.append(math.log(pair[1] / pair[0]) + math.log1p(percent / 100))
        at, left = at + 2, left - 2
        called, low, high = verdict(changes)
        narrow = called != "INCONCLUSIVE" and (high - low) / 2 <= THRESHOLD / 2
        if narrow or low > THRESHOLD or high < -THRESHOLD:
            break
    return called, len(changes)


def main():
    chance = random.Random(1)
    print("| Quantile of a run's steps | Truth | At most | SLOWER | FASTER | SAME | INCONCLUSIVE | Pairs, mean |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, series in NOISE["quantiles"].items():
        for percent in (0, 3, 10):
            for most in (20, 40):
                calls = [compare(series, percent, most, chance) for _ in range(TRIALS)]
                shares = (f"{100 * sum(c == v for c, _ in calls) / TRIALS:.1f} %" for v in
                          ("SLOWER", "FASTER", "SAME", "INCONCLUSIVE"))
                print(f"| {name} | {percent} % slower | {most} pairs | {' | '.join(shares)} "
                      f"| {sum(n for _, n in calls) / TRIALS:.1f} |")


if __name__ == "__main__":
    main()
