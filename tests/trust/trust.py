#!/usr/bin/env python3
"""How far the verdicts of `ptrain compare` can be trusted, measured on this machine.

    tests/trust/trust.py --same 200 --slower 100 --out results/MACHINE/trust     # hours; continues where it stopped

Each comparison alternates fresh runs of tests/trust/tiny.yaml, live, within --budget seconds:
  same       a program against itself: how often a change is called
  slower_3   every step of one side lengthened by 3 % (train.test_delay_percent): how often SLOWER is called
  slower_10  the same with 10 %
  overhead   time between steps with metrics and progress written every tenth step, the default, less that with none, in
             percent of a step: what measuring costs
--jobs comparisons run at once, each on a core of its own; --noise adds a neighbour that uses a core in bursts.
Every comparison is one line of comparisons.jsonl, with the figure of every run, so that the rules of other tools
(rules.py) are tried on the same samples. Ends with the table.
"""
import argparse
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import queue
import random
import statistics
import subprocess
import sys
import tempfile
import time

from rules import RULES, has_samples

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
USUAL, NEVER = 10, 10**9  # train.log_every_steps; every step's time is kept either way
DELAYS = {"same": 0, "slower_3": 3, "slower_10": 10}


def neighbour(seed):
    """Uses a core in bursts of up to two seconds, about a third of the time."""
    chance = random.Random(seed)
    while True:
        end = time.monotonic() + chance.uniform(0.05, 2)
        while time.monotonic() < end:
            pass
        time.sleep(chance.uniform(0.1, 4))


def get_runs(folder, side):
    """Figures of every good run of one side, by name: typical and mean step (ms), wall time (s)."""
    records = [json.loads(path.read_text()) for path in sorted((folder / "runs" / side).glob("*/record.json"))]
    good = [record for record in records if record["status"] == "ok"]
    return {
        "typical": [round(record["measured"]["typical_step_ms"], 4) for record in good],
        "mean": [round(record["measured"]["step_ms"]["mean"], 4) for record in good],
        "wall": [round(record["wall_seconds"], 4) for record in good],
    }


def compare(arguments, kind, seed, core):
    with tempfile.TemporaryDirectory() as temporary:
        started = time.monotonic()
        result = subprocess.run(
            ["taskset", "-c", str(core), arguments.ptrain, "compare", HERE / "tiny.yaml", "--against",
             f"train.test_delay_percent={DELAYS[kind]}", "--budget", str(arguments.budget), "--seed", str(seed), "--out",
             temporary, "--json"], capture_output=True, text=True, check=False)
        if result.returncode not in (0, 4, 5):
            sys.exit(f"error: {result.stderr.splitlines()[-1]}")
        case = json.loads(result.stdout)["cases"][0]
        return {"kind": kind, "seed": seed, "noise": arguments.noise, "budget": arguments.budget,
                "verdict": case["verdict"], "percent": case["step_time_percent"], "pairs": case["runs"],
                "seconds": time.monotonic() - started,
                "base": get_runs(pathlib.Path(temporary), "base"), "new": get_runs(pathlib.Path(temporary), "new")}


def outside_steps(arguments, every, folder, core):
    """Time per step that is not in the step, and the step itself, in ms; noise within steps does not reach the first."""
    subprocess.run(["taskset", "-c", str(core), arguments.ptrain, "run", HERE / "tiny.yaml", "--out", folder,
                    "--fresh", "--progress", "plain" if every == USUAL else "none", "-o", f"train.log_every_steps={every}", "-o",
                    "train.steps=600"], capture_output=True, check=True)
    progress = json.loads((pathlib.Path(folder) / "report.json").read_text())["progress"]
    lines = [json.loads(line) for line in (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()]
    inside = sum(sum(line["steps_ms"]) for line in lines) / progress["steps"]
    return (progress["wall_seconds"] - progress["setup_seconds"]) / progress["steps"] * 1e3 - inside, inside


def overhead(arguments, seed, core):
    with tempfile.TemporaryDirectory() as folder:
        order = [USUAL, NEVER] if seed % 2 else [NEVER, USUAL]
        times = {every: outside_steps(arguments, every, folder, core) for every in order}
    return {"kind": "overhead", "seed": seed, "noise": arguments.noise,
            "percent": 100 * (times[USUAL][0] - times[NEVER][0]) / times[NEVER][1]}


def verdict_rows(lines):
    rows = []
    for kind, delay in DELAYS.items():
        own = [line for line in lines if line["kind"] == kind]
        if not own:
            continue
        calls = {"ptrain": [line["verdict"] for line in own]}
        enough = [line for line in own if has_samples(line)]
        for name, rule in RULES.items():
            calls[name] = [rule(line["base"]["wall"], line["new"]["wall"]) for line in enough]
            calls[f"{name}, on step times"] = [rule(line["base"]["mean"], line["new"]["mean"]) for line in enough]
        seconds = statistics.median(line["seconds"] for line in own)
        for name, verdicts in calls.items():
            share = [f"{100 * verdicts.count(v) / max(1, len(verdicts)):.1f} %" if verdicts else "-"
                     for v in ("SLOWER", "FASTER", "SAME", "INCONCLUSIVE")]
            time_text = f"{seconds:.0f} s" if name == "ptrain" else ""
            rows.append(f"| {delay} % slower | {name} | {len(verdicts)} | {' | '.join(share)} | {time_text} |")
    return rows


def summary(lines):
    text = ["| Truth | Called by | Comparisons | SLOWER | FASTER | SAME | INCONCLUSIVE | Median time |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |", *verdict_rows(lines)]
    costs = sorted(line["percent"] for line in lines if line["kind"] == "overhead")
    if costs:
        text += ["", f"Cost of measuring: {statistics.median(costs):+.2f} % of a step's time (median of {len(costs)} "
                     f"pairs; quartiles {costs[len(costs) // 4]:+.2f} and {costs[3 * len(costs) // 4]:+.2f})."]
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--same", type=int, default=200)
    parser.add_argument("--slower", type=int, default=100, help="comparisons at 3 %% and as many at 10 %%")
    parser.add_argument("--overhead", type=int, default=20, help="pairs of runs")
    parser.add_argument("--budget", type=float, default=120, help="seconds of each comparison")
    parser.add_argument("--jobs", type=int, default=1, help="comparisons at once")
    parser.add_argument("--noise", action="store_true", help="run a neighbour that uses a core in bursts")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of comparisons.jsonl and summary.md")
    parser.add_argument("--ptrain", default=os.environ.get("PTRAIN_BIN", ROOT / "build/release/bin/ptrain"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    log = arguments.out / "comparisons.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    done = {(line["kind"], line["seed"]) for line in lines}
    wanted = [(kind, seed) for kind, count in (("overhead", arguments.overhead), ("same", arguments.same),
                                               ("slower_3", arguments.slower), ("slower_10", arguments.slower))
              for seed in range(count) if (kind, seed) not in done]
    load = multiprocessing.Process(target=neighbour, args=(1,), daemon=True)
    if arguments.noise:
        load.start()
    cores = queue.SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[:arguments.jobs]:
        cores.put(core)

    def measure(kind, seed):
        core = cores.get()
        try:
            return overhead(arguments, seed, core) if kind == "overhead" else compare(arguments, kind, seed, core)
        finally:
            cores.put(core)

    pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)
    try:
        for i, line in enumerate(pool.map(lambda job: measure(*job), wanted)):
            lines.append(line)
            with log.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(f"{i + 1} of {len(wanted)}: {line['kind']} {line['seed']}: {line.get('verdict', '')} {line['percent']}",
                  flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
        if load.is_alive():
            load.terminate()
    (arguments.out / "summary.md").write_text(summary(lines))
    print(summary(lines))


if __name__ == "__main__":
    main()
