#!/usr/bin/env python3
"""How often `ptrain compare` calls a change where there is none, and one where there is: sweeps of two programs that ran in
rounds with each other, made of noise recorded on a shared machine (noise.json), which the program itself is asked about.

    tests/trust/gate.py               # ten minutes; prints the table of results/trust.md
    tests/trust/gate.py --update      # writes it there

Put on top of the noise: runs that fail (one in ten), runs that others slow down (one in ten, by up to three times, half of
it in stalls of some steps), and seeds: every run trains with another, which moves its speed by 1 % and its accuracy, of
50,000 images, by 0.4 points (standard deviations). A change is 3 % of the step time and of the accuracy.
"""
import argparse
import concurrent.futures
import json
import pathlib
import random
import sys
import tempfile

from simulate import NOISE

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from made_history import RECORD, write_sweep  # noqa: E402
from program import run  # noqa: E402

SERIES, ROW = NOISE["quantiles"]["0.1"], NOISE["runs_in_a_row"]
ROUNDS, CHANGE = 60, 0.03
ACCURACY, OF_SEEDS, IMAGES = 0.76, 0.004, 50_000
EVERYTHING = ("failures", "tails", "seeds")
KINDS = {"as recorded": (), "failures": ("failures",), "tails": ("tails",), "seeds": ("seeds",), "all three": EVERYTHING}
SPEED, QUALITY = ("SLOWER", "FASTER", "SAME", "INCONCLUSIVE"), ("WORSE", "NOT WORSE", "INCONCLUSIVE")
BEGIN, END = "<!-- gate -->\n", "<!-- /gate -->"


def draw_side(chance, step_ms, kinds, change):
    """One side's runs: step times (None: failed), the mean step over the typical one, accuracy."""
    sides = ([], [], [])
    for ms in step_ms:
        ms *= 1 + change
        stall = 1.0
        accuracy = ACCURACY * (1 - change)
        if "seeds" in kinds:
            ms *= chance.lognormvariate(0, 0.01)
            accuracy += chance.gauss(0, OF_SEEDS)
        if "tails" in kinds and chance.random() < 0.1:
            slowed = chance.uniform(1, 3) ** 0.5
            ms, stall = ms * slowed, slowed
        if "failures" in kinds and chance.random() < 0.1:
            ms = None
        counted = chance.gauss(accuracy, (accuracy * (1 - accuracy) / IMAGES) ** 0.5) if "seeds" in kinds else None
        for values, value in zip(sides, (ms, stall, counted)):
            values.append(value)
    return sides


def trial(task):
    """The verdicts on speed and accuracy of one comparison."""
    kind, change, seed = task
    chance = random.Random(seed)
    pairs = []
    while len(pairs) < ROUNDS:  # neighbours of one stretch of runs that were measured in a row
        row = chance.randrange(len(SERIES) // ROW) * ROW
        at = row + chance.randrange(ROW - 1)
        pairs.append(chance.sample(SERIES[at:at + 2], 2))
    RECORD["measured"]["eval_samples"] = IMAGES
    with tempfile.TemporaryDirectory() as folder:
        folders = [pathlib.Path(folder) / name for name in ("base", "new")]
        for sweep, step_ms, by in zip(folders, zip(*pairs), (0, change)):
            ms, stalls, accuracy = draw_side(chance, step_ms, KINDS[kind], by)
            write_sweep(sweep, 0, ms, top1=accuracy, stalls=stalls, binary=sweep.name)
        result = run("compare", *folders, "--format", "json")
        if not result.stdout:
            sys.exit(result.stderr)
        case = json.loads(result.stdout)["cases"][0]
        return case["verdict"], case["accuracy"]["verdict"]


def table(trials, jobs):
    lines = ["| On the noise | Change | " + " | ".join(SPEED) + " | accuracy: " + " | ".join(QUALITY) + " |",
             "| --- | ---: |" + " ---: |" * len(SPEED + QUALITY)]
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for kind, put_in in KINDS.items():
            for change in (0, CHANGE):
                tasks = [(kind, change, seed) for seed in range(trials)]
                speed, accuracy = zip(*pool.map(trial, tasks, chunksize=10))
                cells = [f"{100 * speed.count(verdict) / trials:.1f} %" for verdict in SPEED]
                cells += [f"{100 * accuracy.count(verdict) / trials:.1f} %" if "seeds" in put_in else "" for verdict in QUALITY]
                lines.append(f"| {kind} | {100 * change:g} % | {' | '.join(cells)} |")
                print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--update", action="store_true", help="write the table into results/trust.md")
    options = parser.parse_args()
    made = table(options.trials, options.jobs)
    print(made)
    if options.update:
        document = ROOT / "results/trust.md"
        head, rest = document.read_text(encoding="utf-8").split(BEGIN)
        document.write_text(f"{head}{BEGIN}{made}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
