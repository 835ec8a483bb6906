"""Sweeps keep what they measured, whatever happens to a run or to them."""
import json
import signal
import subprocess
import time
import unittest

from program import BINARY, ProgramTest, busy_cores, run

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


class BenchTest(ProgramTest):
    def suite(self, text=SUITE):
        (self.folder / "suite.yaml").write_text(text)
        return self.folder / "suite.yaml"

    def bench(self, *arguments, suite=SUITE):
        return run("bench", self.suite(suite), "--out", self.folder / "out", "--progress", "plain", *arguments)

    def records(self):
        paths = sorted((self.folder / "out/runs").glob("*/*/record.json"))
        return {str(path.relative_to(self.folder / "out/runs")): json.loads(path.read_text()) for path in paths}


class Bench(BenchTest):
    def test_a_sweep_runs_every_case_interleaved_and_prints_the_effects(self):
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
        self.assertIn("8 runs already done", again.stderr)
        self.assertEqual(self.records(), records)

    def test_other_programs_are_said_to_slow_the_runs_down(self):
        suite = SUITE.replace("train.steps: 24", "train.steps: 300").replace("data.batch_size: [4, 8]", "data.batch_size: [4]")
        with busy_cores():
            result = self.bench("--repeats", "1", suite=suite)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"note: the machine was busy in [12] of 2 runs: other programs kept [\d.]+ of \d+ cores busy")

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
        self.assertIn("continues", errors)

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

    def test_unsteady_steps_leave_the_accuracy(self):
        text = SUITE.replace("  data.batch_size: [4, 8]\n", "").replace("  amp.level: [O0, O1]\n", "  amp.level: [O0]\n")
        evaluated = ("-o", "eval.every_epochs=1")
        self.assertEqual(self.bench(*evaluated, suite=text).returncode, 0)
        for path in (self.folder / "out/runs").glob("*/*/record.json"):
            record = json.loads(path.read_text())
            path.write_text(json.dumps({**record, "status": "unstable", "message": "step times drift by +46.3 %"}))
        again = self.bench(*evaluated, suite=text)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("no speed (unstable: step times drift by +46.3 %); its accuracy counts", again.stderr)

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
        self.assert_one_line_error(self.bench("--fresh"), 2, "was not made by a benchmark")
        live = run("compare", self.config, "--against", "seed=1", "--out", self.folder / "out")
        self.assert_one_line_error(live, 2, "was not made by a benchmark")
        self.assertEqual(mine.read_text(), "kept")

    def test_too_few_steps_are_refused_before_anything_runs(self):
        result = self.bench("--repeats", "1", suite=SUITE.replace("train.steps: 24", "train.steps: 5"))
        self.assert_one_line_error(result, 2, "train.steps", "at least 8")
        self.assertFalse((self.folder / "out").exists())

    def test_too_few_runs_are_said_before_they_run(self):
        result = self.bench("--repeats", "1")
        self.assertRegex(result.stderr, r"^note: 1 run of each case is too few for an interval")
        saved = run("baseline", "save", self.folder / "out")
        self.assertIn("1 good run is too few for a verdict of baseline check, which takes 4 of each side", saved.stderr)
        for repeats, line in ((3, "3 runs of each case are too few for a verdict (4 to compare two sweeps, 6 to compare"),
                              (5, "5 runs of each case are too few for a verdict between cases of one sweep (6)"), (6, None)):
            noted = run("validate", self.suite(SUITE.replace("repeats: 2", f"repeats: {repeats}"))).stderr
            self.assertIn(line, noted) if line else self.assertEqual(noted, "")

    def test_a_suite_is_validated_with_its_cases(self):
        result = run("validate", self.suite())
        self.assertIn("ok, a suite of 4 cases, 2 repeats each", result.stdout)
        self.assertIn("level=O1,batch_size=8", result.stdout)
        self.assert_one_line_error(run("validate", self.suite(SUITE.replace("repeats", "repeat"))), 2,
                                   "did you mean repeats?")

    def test_seeds_give_accuracy_a_mean_and_a_spread(self):
        suite = SUITE.replace("  data.batch_size: [4, 8]\n", "").replace("eval.every_epochs: 0", "eval.every_epochs: 1")
        self.assertEqual(self.bench("--seeds", "3", suite=suite).returncode, 0)
        self.assertEqual(sorted(r["seed"] - min(q["seed"] for q in self.records().values())
                                for r in self.records().values()), [0, 0, 1, 1, 2, 2])
        for command in (["table"], ["table", "--format", "latex"], ["table", "--format", "html"]):
            self.assertRegex(run(command[0], self.folder / "out", *command[1:]).stdout, r"0\.\d{4} (±|\$?\\pm\$?) ?0\.\d{4}")
        page = run("table", self.folder / "out", "--format", "html").stdout
        self.assertIn("Bands: one standard deviation", page)
        self.assertIn("fill-opacity", page)
        self.assert_one_line_error(self.bench("--seeds", "3", "--repeats", "3", suite=suite), 2, "--seeds")


    def test_seeds_are_compared_with_a_published_value(self):
        suite = SUITE.replace("  data.batch_size: [4, 8]\n", "").replace("eval.every_epochs: 0", "eval.every_epochs: 1")
        self.assert_one_line_error(self.bench("--published", "0.9", suite=suite), 2, "--seeds N")
        result = self.bench("--seeds", "3", "--published", "0.999999", suite=suite)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("3 seeds find a difference from the published 0.999999 of 6.2 times", result.stderr)
        line = next(line for line in result.stdout.splitlines() if "published" in line)
        self.assertRegex(line, r"0\.\d{4} ± 0\.\d{4} over 3 seeds; published 1\.0000: \w+ \(agrees from -?\d.* to ")
        table = json.loads(run("table", self.folder / "out", "--json").stdout)
        cell = next(cell for cell in table["rows"][0]["cells"] if cell["column"] == "published")
        self.assertEqual((cell["value"], cell["runs"]), (0.999999, 3))
        self.assertLess(cell["lower"], cell["upper"])
        self.assertIn("Published", run("table", self.folder / "out", "--format", "html").stdout)
        result = self.bench("--seeds", "3", suite=suite + "published: 0.9\npublished_seeds: 5\n")
        self.assertIn("after 3 earlier seeds", result.stderr)
        self.assertNotIn("Published", run("table", self.folder / "out", "--columns", "run,accuracy").stdout)


class Axes(BenchTest):
    """Axes of the command line make a suite of a training configuration."""

    def sweep(self, *arguments, config=None):
        return run("bench", config or self.config, "--progress", "none", "-o", "train.steps=12", "-o", "threads=1",
                   *arguments, cwd=self.folder)

    def test_a_configuration_and_axes_are_a_suite(self):
        result = self.sweep("--axis", "amp.level=O0,O1", "--axis", "data.batch_size=4,8", "--repeats", "1", "--out",
                            self.folder / "out")
        self.assertIn(result.returncode, (0, 1), result.stderr)  # 1: on a busy machine no run need be steady
        suite = json.loads((self.folder / "out/suite.json").read_text())
        self.assertEqual([axis["values"] for axis in suite["axes"]], [["O0", "O1"], [4, 8]])
        self.assertEqual((suite["suite"], suite["repeats"]), ("tiny-level-batch_size", 1))
        self.assertEqual({record["case"] for record in self.records().values()},
                         {f"level={level},batch_size={size}" for level in ("O0", "O1") for size in (4, 8)})

    def test_records_lie_below_results_under_the_axes_names(self):
        self.assertIn(self.sweep("--axis", "seed=1,2", "--repeats", "1", "--machine", "here").returncode, (0, 1))
        self.assertTrue((self.folder / "results/here/tiny-seed/suite.json").exists())

    def test_what_cannot_be_an_axis_is_refused_before_anything_runs(self):
        for arguments, parts in ((["amp.levle=O0,O1"], ["--axis amp.levle=O0", "did you mean amp.level?"]),
                                 (["amp.level=O0"], ["amp.level=O0", "two or more values"]),
                                 (["seed=1,2", "seed=3,4"], ["--axis seed: given twice"]),
                                 (["output.dir=a,b"], ["--axis output.dir: is no setting of a measurement"]),
                                 (["data.batch_size=4,many"], ["--axis data.batch_size=many", 'got "many"'])):
            with self.subTest(arguments):
                options = [word for text in arguments for word in ("--axis", text)]
                self.assert_one_line_error(self.sweep(*options, "--out", self.folder / "out"), 2, *parts)
                self.assertFalse((self.folder / "out").exists())

    def test_a_cpu_has_no_devices_to_compare(self):
        result = run("bench", self.config, "--axis", "amp.level=O0,O1", "--per-device", "--out", self.folder / "out")
        self.assert_one_line_error(result, 2, "--per-device: needs NVIDIA GPUs", "on a CPU omit it")

    def test_a_configuration_alone_is_a_suite_of_one_case(self):
        result = self.sweep("--seeds", "2", "--out", self.folder / "out")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertEqual({(r["case"], r["repeat"]) for r in self.records().values()}, {("base", 0), ("base", 1)})
        self.assertEqual(len({r["seed"] for r in self.records().values()}), 2)


class Identity(BenchTest):
    """Records belong to one sweep: configuration, program, driver and libraries, machine."""

    def suite_file(self):
        return self.folder / "out/suite.json"

    def test_a_changed_configuration_is_refused_by_its_key(self):
        self.assertEqual(self.bench("-o", "train.steps=20", "--repeats", "1").returncode, 0)
        before = self.records()
        self.assert_one_line_error(self.bench("--repeats", "1"), 2, "train.steps was 20, is 24", "--fresh")
        self.assertEqual(self.records(), before)
        self.assertEqual(self.bench("--repeats", "1", "--fresh").returncode, 0)
        self.assertNotEqual(self.records(), before)

    def test_another_driver_or_library_is_another_sweep(self):
        self.assertEqual(self.bench("--repeats", "1").returncode, 0)
        suite = json.loads(self.suite_file().read_text())
        suite["software"]["versions"]["oneDNN"] = "1.0.0"
        self.suite_file().write_text(json.dumps(suite))
        result = self.bench("--repeats", "1")
        self.assert_one_line_error(result, 2, "oneDNN was 1.0.0, is ", "--fresh")
        self.assertNotIn("already done", result.stderr)

    def test_another_program_is_another_sweep(self):
        self.assertEqual(self.bench("--repeats", "1").returncode, 0)
        suite = json.loads(self.suite_file().read_text())
        suite["binary"] = "fnv1a64:0123456789abcdef"
        self.suite_file().write_text(json.dumps(suite))
        self.assert_one_line_error(self.bench("--repeats", "1"), 2, "another build of the program", "--fresh")

    def test_records_of_another_sweep_are_left_out_named_and_kept(self):
        self.assertEqual(self.bench("--repeats", "2").returncode, 0)
        stale = self.folder / "out/runs/level=O1,batch_size=4/00/record.json"
        record = json.loads(stale.read_text())
        record["config_hash"] = "fnv1a64:0123456789abcdef"
        record["measured"]["typical_step_ms"] /= 100
        stale.write_text(json.dumps(record))
        name = "runs/level=O1,batch_size=4/00"
        effects = run("effects", self.folder / "out", "--json")
        level = json.loads(effects.stdout)["effects"][0]
        self.assertLess(level["estimate"], 500)
        self.assertTrue(any(name in note and "another configuration" in note for note in json.loads(effects.stdout)["notes"]))
        table = run("table", self.folder / "out", "--columns", "run,runs")
        self.assertIn(name, table.stderr)
        self.assertIn("1 of 1", table.stdout)
        saved = run("baseline", "save", self.folder / "out")
        self.assertEqual(saved.returncode, 0, saved.stderr)
        self.assertIn(name, saved.stderr)
        self.assertFalse((self.folder / "out/baseline" / name).exists())
        self.assertTrue(stale.exists())

    def test_it_is_said_when_what_is_there_was_measured(self):
        self.assertEqual(self.bench("--repeats", "1").returncode, 0)
        self.assertRegex(self.bench("--repeats", "1").stderr, r"4 runs already done, measured 20\d\d-")


class OutputFolder(ProgramTest):
    """A run overwrites nothing that an earlier one measured."""

    def contents(self):
        return {path.name: path.read_bytes() for path in (self.folder / "out").iterdir() if path.is_file()}

    def test_a_second_run_is_refused_by_the_key_that_differs(self):
        self.assertEqual(self.train("out", "-o", "train.steps=12").returncode, 0)
        before = self.contents()
        self.assert_one_line_error(self.train("out", "-o", "train.steps=16"), 2, "train.steps was 12, is 16", "--fresh",
                                   "--resume auto")
        self.assert_one_line_error(self.train("out", "-o", "train.steps=12"), 2, "a run of 12 steps", "--fresh")
        self.assertEqual(self.contents(), before)
        self.assertEqual(self.train("out", "-o", "train.steps=16", "--resume", "auto").returncode, 0)
        self.assertEqual(self.report("out")["progress"]["resumed_from"], str(self.folder / "out/ckpt-12.safetensors"))
        self.assertEqual(self.train("out", "-o", "train.steps=8", "--fresh").returncode, 0)
        self.assertEqual(len(self.losses("out")), 8)
        self.assertEqual([path.name for path in (self.folder / "out").glob("ckpt-*")], ["ckpt-8.safetensors"])

    def test_a_run_that_never_came_to_a_step_is_no_obstacle(self):
        self.assertEqual(self.train("out", "-o", "model.weights=missing.safetensors").returncode, 1)
        self.assertEqual(self.train("out", "-o", "train.steps=3").returncode, 0)

    def test_an_evaluation_keeps_the_training_report(self):
        self.assertEqual(self.train("out", "-o", "train.steps=3").returncode, 0)
        before = self.contents()
        evaluate = ["eval", self.config, "--out", self.folder / "out", "--progress", "none", "--resume", "auto"]
        self.assert_one_line_error(run(*evaluate), 2, "--report")
        self.assertEqual(self.contents(), before)
        self.assertEqual(run(*evaluate, "--report", self.folder / "evaluated.json").returncode, 0)
        self.assertEqual({**self.contents(), "metrics.jsonl": None}, {**before, "metrics.jsonl": None})
        self.assertIn(before["metrics.jsonl"], self.contents()["metrics.jsonl"])


if __name__ == "__main__":
    unittest.main()
