#!/usr/bin/env python3
"""How often the 95 % intervals of `ptrain table` and `ptrain effects` hold the truth, for two to ten runs of each case:
their rules, retold, on noise recorded on a shared machine (noise.json), beside what they were before.

    tests/trust/cover.py               # a minute; prints the table of results/trust.md
    tests/trust/cover.py --update      # writes it there
"""
import argparse
import math
import pathlib
import random
import statistics

from simulate import CUTS, NOISE, quantile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERIES = [math.log(ms) for ms in NOISE["quantiles"]["0.1"]]
ROW = NOISE["runs_in_a_row"]
TRIALS, FEWER = 2000, 500  # of the rules, of the one with resampling
EFFECT = math.log(1.03)
BEGIN, END = "<!-- cover -->", "<!-- /cover -->"


def student_quantile(freedom, part=0.975):
    """As core/report/statistics.cpp."""
    def inside(angle):
        cosine, odd = math.cos(angle), freedom % 2 == 1
        term, total = (cosine if odd else 1.0), 0.0
        for k in range(1 if odd else 0, freedom - 1, 2):
            total += term
            term *= cosine * cosine * (k + 1) / (k + 2)
        return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < 2 * part - 1 else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


STUDENT = [math.inf] + [student_quantile(freedom) for freedom in range(1, 60)]
SKEWED = [math.inf] + [student_quantile(freedom, 1 - 0.4 * 0.025) for freedom in range(1, 10)]


def walsh(values):
    return sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])


def centre(values):
    return quantile(walsh(values), 0.5)


def centre_interval(values):
    """As core/analysis/intervals.cpp."""
    means, cut = walsh(values), CUTS[len(values)]
    if cut >= 0:
        return means[cut], means[-1 - cut]
    mean, estimate = statistics.mean(values), quantile(means, 0.5)
    reach = SKEWED[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return min(mean - reach, estimate), max(mean + reach, estimate)


def get_rest(cells, blocks):
    """What is left of every run after its case's mean (and its round's), and its degrees of freedom."""
    rest = [[v - statistics.mean(cell) for v in cell] for cell in cells]
    freedom = sum(map(len, cells)) - len(cells)
    if blocks:
        rounds = [statistics.mean(row) for row in zip(*rest)]
        rest = [[v - r for v, r in zip(cell, rounds)] for cell in rest]
        freedom -= len(rounds) - 1
    return [v for cell in rest for v in cell], freedom


def effect_interval(cells, weights):
    """As core/analysis/effects.cpp."""
    rest, freedom = get_rest(cells, blocks=True)
    error = math.sqrt(sum(v * v for v in rest) / freedom * sum(w * w / len(c) for w, c in zip(weights, cells)))
    estimate = sum(w * centre(c) for w, c in zip(weights, cells))
    mean = sum(w * statistics.mean(c) for w, c in zip(weights, cells))
    return min(mean - STUDENT[freedom] * error, estimate), max(mean + STUDENT[freedom] * error, estimate)


def bootstrap_interval(cells, weights, chance):
    """What it was: residuals drawn again with replacement, percentiles."""
    rest, freedom = get_rest(cells, blocks=len(cells) > 2)
    rest = [v * math.sqrt(len(rest) / freedom) for v in rest]
    estimate = sum(w * statistics.mean(c) for w, c in zip(weights, cells))
    drawn = sorted(estimate + sum(w * sum(chance.choices(rest, k=len(c))) / len(c) for w, c in zip(weights, cells))
                   for _ in range(200))
    return quantile(drawn, 0.025), quantile(drawn, 0.975)


def rounds(cases, count, chance):
    """Rounds of neighbouring runs in random order, one of each case; the second half of the cases is 3 % slower."""
    cells = [[] for _ in range(cases)]
    for _ in range(count):
        start = chance.randrange(len(SERIES) // ROW) * ROW + chance.randrange(ROW - cases + 1)
        runs = SERIES[start : start + cases]
        chance.shuffle(runs)
        for i, cell in enumerate(cells):
            cell.append(runs[i] + (EFFECT if i >= cases // 2 else 0))
    return cells


def share(holds, trials=TRIALS):
    return f"{100 * sum(holds(random.Random(trial)) for trial in range(trials)) / trials:.1f} %"


def holds_centre(n):
    truth = centre(SERIES)

    def trial(chance):
        low, high = centre_interval(chance.choices(SERIES, k=n))
        return low <= truth <= high
    return trial


def holds_effect(cases, n, interval):
    weights = [-2 / cases] * (cases // 2) + [2 / cases] * (cases // 2)

    def trial(chance):
        low, high = interval(rounds(cases, n, chance), weights, chance)
        return low <= EFFECT <= high
    return trial


def table():
    def student(cells, weights, _):
        return effect_interval(cells, weights)

    lines = ["| Runs of each case | a case's speed | effect, 2 cases | effect, 4 cases | before: 2 cases | before: 4 cases |",
             "| ---: | ---: | ---: | ---: | ---: | ---: |"]
    for n in range(2, 11):
        shares = [share(holds_centre(n))]
        shares += [share(holds_effect(cases, n, student)) for cases in (2, 4)]
        shares += [share(holds_effect(cases, n, bootstrap_interval), FEWER) for cases in (2, 4)]
        lines.append(f"| {n} | {' | '.join(shares)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the table into results/trust.md")
    options = parser.parse_args()
    made = table()
    print(made)
    if options.update:
        document = ROOT / "results/trust.md"
        text = document.read_text(encoding="utf-8")
        head, rest = text.split(BEGIN + "\n")
        document.write_text(f"{head}{BEGIN}\n{made}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
