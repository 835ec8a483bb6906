"""Runs the ptrain binary on small configurations; what the tests beside it share."""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PTRAIN_BIN", str(ROOT / "build/release/bin/ptrain"))

# A BERT that takes milliseconds a step; dropout and shuffling make every source of randomness count.
TINY = """\
model: {name: bert, size: tiny, classes: 2, vocab_size: 200, max_positions: 32}
data: {source: synthetic, max_length: 16, batch_size: 8, synthetic_samples: 320, workers: 1}
train:
  steps: 60
  optimizer: {name: adamw, lr: 1.0e-3, weight_decay: 0.01}
  schedule: {name: linear, warmup_ratio: 0.1}
  log_every_steps: 1
eval: {every_epochs: 1}
output: {dir: runs/tiny}
"""


def run(*arguments, **options):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=1800, **options)


@contextlib.contextmanager
def busy_cores():
    """Other programs keep all cores busy meanwhile."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def get_figures(report):
    """The values of a report's, or of an evaluation's, metrics by name."""
    return {name: metric["value"] for name, metric in report["evaluation"]["metrics"].items()}


class ProgramTest(unittest.TestCase):
    """Gives each test a folder of its own with the tiny configuration in it."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.config = self.folder / "tiny.yaml"
        self.config.write_text(TINY)

    def train(self, output, *arguments, config=None, **options):
        return run("run", config or self.config, "--out", self.folder / output, "--progress", "none", *arguments,
                   **options)

    def report(self, output):
        return json.loads((self.folder / output / "report.json").read_text())

    def losses(self, output):
        lines = (self.folder / output / "metrics.jsonl").read_text().splitlines()
        return [line["loss"] for line in map(json.loads, lines) if "loss" in line]

    def assert_one_line_error(self, result, code, *parts):
        self.assertEqual(result.returncode, code, result.stderr)
        errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, result.stderr)
        for part in parts:
            self.assertIn(part, errors[0])
