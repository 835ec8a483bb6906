"""Sweeps keep what they measured, whatever happens to a run or to them."""
import json
import signal
import subprocess
import time
import unittest

from program import BINARY, ProgramTest, run

SUITE = """\
name: tiny
config: tiny.yaml
set: {train.steps: 24, eval.every_epochs: 0, threads: 1}
axes:
  amp.level: [O0, O1]
  data.batch_size: [4, 8]
repeats: 2
steady: {required: false}
timeout_seconds: 60
"""


class Bench(ProgramTest):
    def suite(self, text=SUITE):
        (self.folder / "suite.yaml").write_text(text)
        return self.folder / "suite.yaml"

    def bench(self, *arguments, suite=SUITE):
        return run("bench", self.suite(suite), "--out", self.folder / "out", "--progress", "plain", *arguments)

    def records(self):
        paths = sorted((self.folder / "out/runs").glob("*/*/record.json"))
        return {str(path.relative_to(self.folder / "out/runs")): json.loads(path.read_text()) for path in paths}

    def test_a_sweep_runs_every_case_interleaved_and_tells_the_effects(self):
        result = self.bench()
        self.assertEqual(result.returncode, 0, result.stderr)
        records = self.records()
        self.assertEqual(len(records), 8)
        self.assertEqual({r["status"] for r in records.values()}, {"ok"})
        self.assertEqual(sorted(r["position"] for r in records.values()), list(range(8)))
        for repeat in (0, 1):  # a round over all cases before the next begins
            self.assertEqual({r["position"] // 4 for r in records.values() if r["repeat"] == repeat}, {repeat})
        self.assertIn("level: O0 -> O1", result.stdout)
        self.assertIn("batch_size: 4 -> 8", result.stdout)
        self.assertIn("level: O0 -> O1 x batch_size: 4 -> 8", result.stdout)
        again = self.bench()
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("8 runs are there already", again.stderr)
        self.assertEqual(self.records(), records)

    def test_a_killed_sweep_goes_on_where_it_stopped(self):
        command = [BINARY, "bench", self.suite(), "--out", self.folder / "out", "--progress", "none"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
            deadline = time.monotonic() + 60
            while len(self.records()) < 3 and time.monotonic() < deadline:
                time.sleep(0.02)
            sweep.send_signal(signal.SIGKILL)
        kept = self.records()
        self.assertGreaterEqual(len(kept), 3)
        self.assertLess(len(kept), 8)
        result = self.bench()
        self.assertEqual(result.returncode, 0, result.stderr)
        finished = self.records()
        self.assertEqual(len(finished), 8)
        for name, record in kept.items():
            self.assertEqual(finished[name], record)

    def test_an_interrupted_sweep_says_how_it_goes_on(self):
        command = [BINARY, "bench", self.suite(), "--out", self.folder / "out", "--progress", "plain"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sweep:
            sweep.stderr.readline()
            sweep.stderr.readline()
            sweep.send_signal(signal.SIGINT)
            _, errors = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 130, errors)
        self.assertIn("goes on", errors)

    def test_one_failure_does_not_lose_the_rest(self):
        cases = """\
name: mixed
config: tiny.yaml
set: {train.steps: 24, eval.every_epochs: 0, threads: 1}
cases:
  - {name: good}
  - {name: diverges, set: {train.optimizer.lr: 1000, train.optimizer.name: sgd, model.dropout: 0}}
  - {name: too slow, set: {train.steps: 1000000}}
  - {name: no weights, set: {model.weights: missing.safetensors}}
repeats: 2
steady: {required: false}
timeout_seconds: 3
"""
        result = self.bench(suite=cases)
        self.assertEqual(result.returncode, 0, result.stderr)
        status = {}
        for record in self.records().values():
            status.setdefault(record["case"], set()).add(record["status"])
            if record["status"] in ("timeout", "error"):
                self.assertTrue(record["message"])
        self.assertEqual(status["good"], {"ok"})
        self.assertEqual(status["too slow"], {"timeout"})
        self.assertEqual(status["no weights"], {"error"})
        self.assertIn("no weights: no good run", result.stderr)

    def test_a_confidence_target_goes_on_until_it_is_met(self):
        text = SUITE.replace("repeats: 2", "repeats: 2\nconfidence: {target_percent: 100, most_repeats: 9}")
        text = text.replace("  data.batch_size: [4, 8]\n", "")
        self.assertEqual(self.bench(suite=text).returncode, 0)
        repeats = [record["repeat"] for record in self.records().values() if record["status"] == "ok"]
        self.assertGreaterEqual(max(repeats), 5)  # six runs have an interval at all

    def test_wrong_suites_are_refused_before_anything_runs(self):
        for text, part in ((SUITE.replace("amp.level", "amp.levle"), "did you mean amp.level?"),
                           (SUITE.replace("repeats: 2", "repeats: none"), "expected a number"),
                           (SUITE.replace("config: tiny.yaml", "config: other.yaml"), "no such file")):
            with self.subTest(part):
                self.assert_one_line_error(self.bench(suite=text), 2, part)
                self.assertFalse((self.folder / "out").exists())

    def test_records_of_another_suite_are_not_overwritten(self):
        self.assertEqual(self.bench("--repeats", "1").returncode, 0)
        other = SUITE.replace("name: tiny", "name: other")
        self.assert_one_line_error(self.bench(suite=other), 2, "belongs to suite")

    def test_a_folder_that_no_benchmark_made_is_not_removed(self):
        mine = self.folder / "out/runs/mine.txt"
        mine.parent.mkdir(parents=True)
        mine.write_text("kept")
        self.assert_one_line_error(self.bench("--fresh"), 2, "no benchmark's")
        live = run("compare", self.config, "--against", "seed=1", "--out", self.folder / "out")
        self.assert_one_line_error(live, 2, "no benchmark's")
        self.assertEqual(mine.read_text(), "kept")

    def test_too_few_steps_are_unstable(self):
        result = self.bench("--repeats", "1", suite=SUITE.replace("train.steps: 24", "train.steps: 5"))
        self.assertEqual(result.returncode, 1)
        self.assertEqual({r["status"] for r in self.records().values()}, {"unstable"})


if __name__ == "__main__":
    unittest.main()
