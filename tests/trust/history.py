#!/usr/bin/env python3
"""How often `ptrain history` finds a change where there is none, and a step of 5 % where there is one: histories made of
noise recorded on shared machines, which the program itself is asked about.

    tests/trust/history.py               # half an hour; prints the table of results/trust.md
    tests/trust/history.py --update      # writes it there

Noise: `rounds` is noise.json, every run drawn from a place of its own, as cover.py does; `blocks` is the typical steps of
a program compared with itself 200 times (results/epyc-zen5-2-cores/trust), every run from any of them; `one block` takes
all runs of a point from one of them, half a minute of a machine in one mood.
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
from made_history import write_sweep  # noqa: E402
from program import run  # noqa: E402

SERIES = NOISE["quantiles"]["0.1"]
LOG = ROOT / "results/epyc-zen5-2-cores/trust/comparisons.jsonl"
BLOCKS = [line["base"]["typical"] + line["new"]["typical"]
            for line in map(json.loads, LOG.read_text().splitlines()) if line["kind"] == "same"]
ANY_BLOCK = [ms for block in BLOCKS for ms in block]
DRAWS = {
    "rounds": lambda chance, runs: chance.choices(SERIES, k=runs),
    "blocks": lambda chance, runs: chance.choices(ANY_BLOCK, k=runs),
    "one block": lambda chance, runs: chance.sample(chance.choice(BLOCKS), runs),
}
ROWS = [("rounds", 40, 15), ("rounds", 30, 10), ("blocks", 40, 15), ("blocks", 30, 10), ("rounds", 20, 10),
        ("one block", 40, 15)]
STEP, NEAR = 1.05, 3
BEGIN, END = "<!-- history -->", "<!-- /history -->"


def get_changes(points):
    """Where `ptrain history` finds changes of throughput in sweeps whose runs have these step times."""
    with tempfile.TemporaryDirectory() as folder:
        for day, runs in enumerate(points):
            write_sweep(pathlib.Path(folder) / f"baseline-{day}", day, runs)
        result = run("history", folder, "--format", "json")
        if result.returncode != 0:
            sys.exit(result.stderr)
        series = next(s for s in json.loads(result.stdout)["series"] if s["response"] == "throughput")
        return [change["at"] for change in series["changes"]]


def trial(task):
    """Whether a change was found in a constant history, and one near the step in the middle and in the newest points."""
    (noise, length, runs), seed = task
    chance = random.Random(seed)
    points = [DRAWS[noise](chance, runs) for _ in range(length)]
    middle = chance.randrange(length // 4, length - length // 4)

    def found_near(at):
        slower = [[ms * STEP for ms in point] if i >= at else point for i, point in enumerate(points)]
        return any(abs(change - at) <= NEAR for change in get_changes(slower))

    return bool(get_changes(points)), found_near(middle), found_near(length - 1 - NEAR)


def table(histories, jobs):
    lines = ["| Noise | Points | Runs of each | constant: any change found | a 5 % step found within 3 points "
             "| found when 3 points follow it |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for row in ROWS:
            counts = [sum(column) for column in zip(*pool.map(trial, [(row, seed) for seed in range(histories)]))]
            lines.append(f"| {row[0]} | {row[1]} | {row[2]} | {' | '.join(f'{n} of {histories}' for n in counts)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def in_recorded_order():
    """Changes in one history: the blocks as they followed each other over hours, ten runs of each."""
    points = [block[:10] for block in BLOCKS if len(block) >= 10]
    return f"{len(get_changes(points))} in {len(points)} blocks in the order in which they were recorded"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--update", action="store_true", help="write the table into results/trust.md")
    options = parser.parse_args()
    made = table(options.histories, options.jobs)
    print(made)
    print(in_recorded_order())
    if options.update:
        document = ROOT / "results/trust.md"
        text = document.read_text(encoding="utf-8")
        head, rest = text.split(BEGIN + "\n")
        document.write_text(f"{head}{BEGIN}\n{made}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
