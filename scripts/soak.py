#!/usr/bin/env python3
"""Trains, kills, resumes and measures for an hour, and reports whether anything was lost or grew.

  scripts/soak.py [--minutes 60] [--damaged 0] [--program build/release/bin/ptrain] [--out FILE.md]

Alternates between a run that is ended at random moments by random signals until it completes, whose losses must equal
those of an uninterrupted run, and a suite, whose records must all be good. Meanwhile it monitors the memory and open
files of one long run. --damaged N then opens N copies of a checkpoint and of a trained model's folder with one bit
changed, or truncated: each must be rejected. Exit code 1 if something was lost, differed, grew or was accepted.
"""
import argparse
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONFIG = """\
model: {name: bert, size: tiny, classes: 2, vocab_size: 200, max_positions: 32}
data: {source: synthetic, max_length: 16, batch_size: 8, synthetic_samples: 320, workers: 1}
train: {steps: 400, log_every_steps: 1, optimizer: {name: adamw, lr: 1.0e-3}, schedule: {name: constant}}
eval: {every_epochs: 1}
output: {dir: runs/soak, checkpoint_every_steps: 20}
threads: 1
"""
SUITE = "config: soak.yaml\nset: {train.steps: 40}\naxes: {data.batch_size: [4, 8]}\nrepeats: 2\nsteady: {required: false}\n"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGXCPU)


class Watched:
    """A process whose memory (KiB) and open files are sampled from its second minute on."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.begin = time.monotonic()
        self.samples = []

    def sample(self):
        if time.monotonic() - self.begin < 60 or self.process.poll() is not None:
            return
        folder = pathlib.Path(f"/proc/{self.process.pid}")
        resident = next(int(line.split()[1]) for line in (folder / "status").read_text().splitlines()
                        if line.startswith("VmRSS"))
        self.samples.append((resident, len(list((folder / "fd").iterdir()))))


class Soak:
    def __init__(self, program, folder, rng):
        self.program, self.folder, self.random = program, folder, rng
        (folder / "soak.yaml").write_text(CONFIG)
        (folder / "suite.yaml").write_text(SUITE)
        self.kills = self.runs = self.suites = 0
        self.faults = []

    def command(self, output, *arguments):
        return [self.program, "run", self.folder / "soak.yaml", "--out", self.folder / output, "--progress", "none",
                *arguments]

    def losses(self, output):
        lines = map(json.loads, (self.folder / output / "metrics.jsonl").read_text().splitlines())
        return [(line["step"], line["loss"]) for line in lines if "loss" in line]

    def end(self, process, ending):
        """Its output after it is asked to end, which takes minutes at most, even on a busy machine."""
        process.send_signal(ending)
        self.kills += 1
        try:
            return process.communicate(timeout=600)[1]
        except subprocess.TimeoutExpired:
            self.faults.append(f"no end within 600 s of {ending.name}")
            process.kill()
            return process.communicate()[1]

    def train_and_kill(self):
        """Runs to completion, however often it is ended."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        seed = str(self.random.randrange(1000))
        for _ in range(200):
            process = subprocess.Popen(self.command("out", "--resume", "auto", "-o", f"seed={seed}"),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            ending = self.random.choice(SIGNALS)
            try:
                _, errors = process.communicate(timeout=self.random.uniform(0.2, 4))
            except subprocess.TimeoutExpired:
                errors = self.end(process, ending)
            if process.returncode == 0:
                break
            if process.returncode not in (-ending, 128 + ending):
                self.faults.append(f"exit code {process.returncode} after {ending.name}: {errors.strip()}")
        shutil.rmtree(self.folder / "whole", ignore_errors=True)
        subprocess.run(self.command("whole", "-o", f"seed={seed}"), check=True, capture_output=True)
        if self.losses("out") != self.losses("whole"):
            self.faults.append(f"seed {seed}: the losses of a run that was ended and resumed are others")
        self.runs += 1

    def sweep(self):
        result = subprocess.run([self.program, "bench", self.folder / "suite.yaml", "--out",
                                 self.folder / f"sweep{self.suites}", "--progress", "none"], capture_output=True, text=True)
        if result.returncode != 0:
            self.faults.append(f"a suite: exit code {result.returncode}: {result.stderr.strip()}")
        shutil.rmtree(self.folder / f"sweep{self.suites}", ignore_errors=True)
        self.suites += 1


    def open_damaged(self, count):
        """How many of `count` were rejected with a line that names the file."""
        subprocess.run(self.command("sound", "-o", "train.steps=20"), check=True, capture_output=True)
        sound, bad = self.folder / "sound", self.folder / "bad"
        refused = 0
        for number in range(count):
            shutil.rmtree(bad, ignore_errors=True)
            shutil.copytree(sound, bad)
            name = ("ckpt-20.safetensors", "model.safetensors", "model.json")[number % 3]
            content = bytearray((bad / name).read_bytes())
            at = self.random.randrange(len(content))
            if self.random.random() < 0.2:
                del content[at:]
            else:
                content[at] ^= 1 << self.random.randrange(8)
            (bad / name).write_bytes(content)
            command = ([self.program, "eval", self.folder / "soak.yaml", "--resume", bad / name, "--out",
                        self.folder / "eval", "--fresh", "--progress", "none"] if name.startswith("ckpt") else
                       [self.program, "export", bad, "--out", self.folder / "exported"])
            result = subprocess.run(command, capture_output=True, text=True)
            shutil.rmtree(self.folder / "exported", ignore_errors=True)
            if result.returncode in (1, 5) and result.stderr.startswith("error: ") and name.split(".")[0] in result.stderr:
                refused += 1
            else:
                self.faults.append(f"{name}, byte {at} of {len(content)}: exit code {result.returncode}: {result.stderr}")
        return refused


def growth(samples):
    """(first, last, largest) of memory in MiB and of open files: means of the first and the last tenth."""
    tenth = max(1, len(samples) // 10)
    result = []
    for which, scale in ((0, 1024), (1, 1)):
        values = [sample[which] / scale for sample in samples]
        result.append((sum(values[:tenth]) / tenth, sum(values[-tenth:]) / tenth, max(values)))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--damaged", type=int, default=0, metavar="N")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain")
    parser.add_argument("--out", type=pathlib.Path, help="a file for the table")
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    with tempfile.TemporaryDirectory() as name:
        soak = Soak(options.program, pathlib.Path(name), random.Random(1))
        watched = Watched(soak.command("long", "-o", "train.steps=100000000", "-o", "eval.every_epochs=20"))
        refused = soak.open_damaged(options.damaged)
        while time.monotonic() < end:
            soak.train_and_kill()
            watched.sample()
            soak.sweep()
            watched.sample()
            print(f"{soak.runs} runs, {soak.kills} kills, {soak.suites} suites, {len(soak.faults)} faults", flush=True)
        if watched.process.poll() is not None:
            soak.faults.append(f"the long run ended with {watched.process.returncode}")
        watched.process.terminate()
        watched.process.communicate(timeout=120)
        memory, files = growth(watched.samples or [(0, 0)])
        steps = soak.losses("long")[-1][0]
        kept = steps * 64 / 2**20  # four values per step, in lists that grow by doubling
        if memory[1] > memory[0] + 1 + kept:
            soak.faults.append("the long run's memory grew")
        if files[1] > files[0]:
            soak.faults.append("the long run's open files grew")
    table = (f"| damaged files refused | minutes | runs ended and resumed | signals sent | suites | faults | memory of the long run, first and last "
             f"tenth | open files |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
             f"| {refused} of {options.damaged} | {options.minutes:g} | {soak.runs} | {soak.kills} | {soak.suites} | {len(soak.faults)} | "
             f"{memory[0]:.1f} and {memory[1]:.1f} MiB over {steps} steps | {files[0]:.1f} and {files[1]:.1f} |\n")
    print(table + "\n".join(soak.faults))
    if options.out:
        options.out.write_text(table)
    return 1 if soak.faults else 0


if __name__ == "__main__":
    sys.exit(main())
