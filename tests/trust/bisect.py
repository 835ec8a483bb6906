#!/usr/bin/env python3
"""How often `ptrain bisect` names the right commit, and after how many runs, beside bisections that believe the mean of k
runs: git repositories of 20 to 200 commits with a slow-down of 3 % planted at random, whose program is a shell script.
Its noise is 1 to 2 % and follows from the commit's hash and a counter of runs; a second machine also swings by 3 % to
either side within 126 runs.

    tests/trust/bisect.py               # ten minutes; prints the table of results/trust.md
    tests/trust/bisect.py --update      # writes it there
"""
import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PTRAIN_BIN", str(ROOT / "build/release/bin/ptrain"))
BEGIN, END = "<!-- bisect -->", "<!-- /bisect -->"
REPOSITORIES = 50
REPEATS = (1, 3, 5, 10)
#: Prints the speed of the commit that it is checked out at: `level`, drift by the counter's value, and noise, the sum of
#: twelve uniform numbers of a minimal standard generator.
PROGRAM = """\
#!/bin/sh
count=$(cat "$COUNTER")
echo $((count + 1)) >"$COUNTER"
seed=$(printf '%s %s' "$1" "$count" | cksum | cut -d ' ' -f 1)
awk -v seed="$seed" -v count="$count" -v level="$(cat level)" -v noise="$NOISE" -v drift="$DRIFT" 'BEGIN {
  x = seed % 2147483646 + 1
  for (i = 0; i < 14; i++) { x = (x * 16807) % 2147483647; if (i > 1) sum += x / 2147483647 }
  printf "%.6f images/s\\n", level * (1 + drift * sin(count / 20)) * (1 + noise * (sum - 6))
}'
"""


class Planted:
    """A repository with a change, and the machine that measures it."""

    def __init__(self, folder, seed, drift):
        choice = random.Random(seed)
        self.commits = choice.randint(20, 200)
        self.changed = choice.randint(1, self.commits)
        self.folder = folder / "repository"
        self.counter = folder / "counter"
        self.environment = {**os.environ, "COUNTER": str(self.counter), "NOISE": str(choice.uniform(0.01, 0.02)),
                            "DRIFT": str(drift)}
        self.folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch", "main")
        self.git("fast-import", "--quiet", stdin="".join(map(self.write_commit, range(self.commits + 1))))
        self.hashes = self.git("rev-list", "--reverse", "main").split()

    def git(self, *arguments, stdin=None):
        result = subprocess.run(["git", "-C", self.folder, *arguments], input=stdin, capture_output=True, text=True,
                                check=True)
        return result.stdout

    def write_commit(self, number):
        files = {"speed.sh": PROGRAM, "level": "97" if number >= self.changed else "100", "number": str(number)}
        text = f"commit refs/heads/main\nmark :{number + 1}\ncommitter a <a@b.c> {1700000000 + number} +0000\n"
        text += f"data {len(f'c{number}')}\nc{number}\n" + (f"from :{number}\n" if number else "")
        return text + "".join(f"M 644 inline {name}\ndata {len(data)}\n{data}\n" for name, data in files.items())

    def start(self):
        self.counter.write_text("0\n")

    def bisect(self):
        """Whether ptrain names the commit, its runs and its builds."""
        self.start()
        result = subprocess.run(
            [BINARY, "bisect", self.hashes[0], "main", "--command", "sh speed.sh {commit}", "--metric",
             "([0-9.]+) images/s", "--out", self.folder.parent / "out", "--json", "-q"],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        if result.returncode not in (0, 5):
            raise SystemExit(result.stderr)
        document = json.loads(result.stdout)
        right = [one["hash"] for one in document["suspects"]] == [self.hashes[self.changed]]
        return document["state"] == "found" and right, document["runs"], document["builds"]

    def bisect_plainly(self, repeats):
        """The same of a bisection that takes the mean of `repeats` runs as the commit's speed."""
        self.start()
        runs = builds = 0

        def measure(number):
            nonlocal runs, builds
            runs, builds = runs + repeats, builds + 1
            level = 97 if number >= self.changed else 100
            return sum(self.measure(self.hashes[number], level) for _ in range(repeats)) / repeats

        middle = (measure(0) + measure(self.commits)) / 2
        good, bad = 0, self.commits
        while bad - good > 1:
            number = (good + bad) // 2
            good, bad = (good, number) if measure(number) < middle else (number, bad)
        return bad == self.changed, runs, builds

    def measure(self, commit, level):
        """What PROGRAM prints."""
        count = int(self.counter.read_text())
        self.counter.write_text(f"{count + 1}\n")
        state, total = posix_checksum(f"{commit} {count}".encode()) % 2147483646 + 1, 0.0
        for i in range(14):
            state = state * 16807 % 2147483647
            total += state / 2147483647 if i > 1 else 0
        drift, noise = float(self.environment["DRIFT"]), float(self.environment["NOISE"])
        return level * (1 + drift * math.sin(count / 20)) * (1 + noise * (total - 6))


def posix_checksum(data):
    """As cksum(1)."""
    length, value = len(data), 0
    while length:
        data, length = data + bytes([length & 255]), length >> 8
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value >> 31 else 0)) & 0xFFFFFFFF
    return value ^ 0xFFFFFFFF


def make_rows():
    methods = {"`ptrain bisect`": Planted.bisect}
    for repeats in REPEATS:
        name = f"bisection, {repeats} run{'s' * (repeats > 1)} of each"
        methods[name] = lambda planted, k=repeats: planted.bisect_plainly(k)
    cells = {name: [] for name in methods}
    for drift in (0, 0.03):
        with tempfile.TemporaryDirectory() as folder:
            planted = [Planted(pathlib.Path(folder, str(seed)), seed, drift) for seed in range(REPOSITORIES)]
            for name, method in methods.items():
                results = [method(one) for one in planted]
                right, runs, builds = (sum(column) for column in zip(*results))
                cells[name] += [f"{right} of {REPOSITORIES}", f"{runs / REPOSITORIES:.0f}", f"{builds / REPOSITORIES:.0f}"]
    yield "| | steady machine: right | runs | builds | drifting machine: right | runs | builds |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, values in cells.items():
        yield f"| {name} | {' | '.join(values)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the table into results/trust.md")
    arguments = parser.parse_args()
    table = "\n".join(make_rows())
    print(table)
    if arguments.update:
        document = ROOT / "results/trust.md"
        text = document.read_text()
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        document.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


if __name__ == "__main__":
    main()
