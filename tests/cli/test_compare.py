"""Verdicts and exit codes on frozen runs (frozen/, measured once by `ptrain bench`), and on what is no basis for one."""
import json
import re
import shutil
import sys
import unittest

from made_history import METRICS, evaluation, write_sweep
from frozen import FROZEN
from program import BINARY, ProgramTest, run

# A ptrain whose steps are slower and slower in the first pair, and alike, with a little noise, in those that follow.
DRIFTING = """\
#!{python}
import json, pathlib, random, subprocess, sys
code = subprocess.call(["{binary}", *sys.argv[1:]])
if "--output-dir" in sys.argv:
    folder = pathlib.Path(sys.argv[sys.argv.index("--output-dir") + 1])
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    level = random.uniform(5, 8)
    for i, line in enumerate(lines):
        line["steps_ms"] = [5 + i if folder.name == "00" else level + i % 2 / 100]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\\n" for line in lines))
sys.exit(code)
"""


class Compare(ProgramTest):
    def compare(self, new, *options, base="base"):
        return run("compare", f"{FROZEN}#{base}", f"{FROZEN}#{new}", *options)

    def verdict(self, result):
        return json.loads(result.stdout)["cases"][0]["verdict"]

    def test_each_verdict_has_its_exit_code(self):
        for case, threshold, verdict, code in (("same", 5, "SAME", 0), ("same", 0.1, "INCONCLUSIVE", 5),
                                               ("faster", 2, "FASTER", 0), ("slower", 2, "SLOWER", 4),
                                               ("few", 2, "INCONCLUSIVE", 5), ("fails", 2, "INCONCLUSIVE", 4)):
            with self.subTest(f"{case} at {threshold} %"):
                result = self.compare(case, "--threshold", threshold, "--json")
                self.assertEqual((self.verdict(result), result.returncode), (verdict, code), result.stderr)

    def test_the_figures_are_those_of_the_injected_delay(self):
        percent = json.loads(self.compare("slower", "--json").stdout)["cases"][0]["step_time_percent"]
        self.assertGreater(percent["lower"], 10)  # 1.35 / 1.20 is 12.5 % more
        self.assertLess(percent["upper"], 20)

    def test_too_few_runs_say_how_many_more(self):
        result = self.compare("few")
        self.assertRegex(result.stdout, r"few: too few for an interval: \d+ pairs; about \d+ pairs? more would decide")

    def test_failed_runs_say_why(self):
        self.assertIn("missing.safetensors", self.compare("fails").stdout)

    def test_lost_accuracy_fails_the_gate(self):
        result = self.compare("less accurate", "--allow", "config", "--threshold", 5, "--json")
        self.assertEqual(result.returncode, 4, result.stdout)
        case = json.loads(result.stdout)["cases"][0]
        self.assertEqual((case["accuracy"]["verdict"], case["verdict"]), ("WORSE", "SAME"))

    def get_report(self, name, time, evaluated):
        """A report of version 2 of this evaluation, otherwise that of the frozen base."""
        report = json.loads(self.one_report().read_text())
        del report["accuracy"]
        report.update({"schema": "ptrain.report/2", "evaluation": evaluated, "evaluations": []})
        report["config"]["train"]["target_metric"] = "primary"
        report["environment"]["time"] = time
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(report))
        return path

    def compare_reports(self, base, new):
        return run("compare", self.get_report("base", "2026-01-01T00:00:00Z", base),
                   self.get_report("new", "2026-01-02T00:00:00Z", new))

    def test_every_task_is_judged_by_its_primary_metric(self):
        for metric, base, worse in (("perplexity", 20.0, 22.0), ("pearson", 0.85, 0.80)):
            with self.subTest(metric):
                result = self.compare_reports(evaluation(metric, base), evaluation(metric, worse))
                self.assertEqual(result.returncode, 4, result.stdout)
                self.assertIn(METRICS[metric]["title"].lower(), result.stdout.splitlines()[2].lower())
                self.assertRegex(result.stdout, rf"WORSE {base:.2f}\d* -> {worse:.2f}")
                better = self.compare_reports(evaluation(metric, worse), evaluation(metric, base))
                self.assertEqual(better.returncode, 5, better.stdout)  # one run per side gives no verdict on speed
                self.assertIn("NOT WORSE", better.stdout)
        one_run = self.compare_reports(evaluation("perplexity", 20.0), evaluation("perplexity", 22.0)).stdout
        self.assertIn("perplexity of one run per side has no error", one_run)

    def test_metrics_that_differ_are_not_compared(self):
        other = self.compare_reports(evaluation("perplexity", 20.0), evaluation("pearson", 0.8))
        self.assertEqual(other.returncode, 5, other.stdout)
        self.assertIn("not comparable: the primary metric of base is perplexity, that of new is pearson", other.stdout)
        gone = self.compare_reports(evaluation("pearson", 0.8), None)
        self.assertEqual(gone.returncode, 5, gone.stdout)
        self.assertIn("not comparable: pearson was measured on base only", gone.stdout)

    def test_a_sweep_whose_metric_got_worse_fails_the_gate(self):
        for name, day, value in (("first", 0, 20.0), ("second", 1, 22.0)):
            write_sweep(self.folder / name, day, [10, 10.1, 10.05, 10, 10.02, 10.07], evaluated=evaluation("perplexity", value))
        result = run("compare", self.folder / "first", self.folder / "second")
        self.assertEqual(result.returncode, 4, result.stdout)
        self.assertRegex(result.stdout, r"SAME .* WORSE 20\.00 -> 22\.00 \(\+2\.00 to \+2\.00\)")

    def test_a_record_of_no_time_is_named(self):
        for name, step_ms in (("good", [10] * 6), ("zero", [10] * 5 + [0])):
            write_sweep(self.folder / name, 0, step_ms)
        self.assert_one_line_error(run("compare", self.folder / "good", self.folder / "zero"), 1,
                                   "zero/runs/base/05/record.json", "expected a step time")

    def test_other_data_is_refused_unless_allowed(self):
        result = self.compare("other data")
        self.assertEqual(result.returncode, 5)
        self.assertIn("differs, not allowed: data.max_length: 16 -> 24", result.stdout)
        self.assertIn(self.compare("other data", "--allow", "data").returncode, (0, 4, 5))
        self.assertNotIn("not allowed", self.compare("other data", "--allow", "data").stdout)

    def test_markdown_has_a_row_per_case(self):
        self.assertIn("| **SLOWER** |", self.compare("slower", "--markdown").stdout)

    def test_whole_folders_are_compared_case_by_case(self):
        result = run("compare", FROZEN, FROZEN, "--json")
        self.assertEqual(len(json.loads(result.stdout)["cases"]), 8)

    def sweeps(self, cases, base=(10,), new=(10,)):
        """Two sweeps of `cases` cases with these step times."""
        for name, day, step_ms in (("base", 0, base), ("new", 1, new)):
            write_sweep(self.folder / name, day, step_ms, cases=[f"case {i}" for i in range(cases)])
        return self.folder / "base", self.folder / "new"

    def test_one_verdict_and_equal_reasons_stand_once(self):
        sweeps = self.sweeps(3, [10, 10.1], [10, 10.1])
        result = run("compare", *sweeps)
        self.assertEqual(result.stdout.splitlines()[0],
                         "INCONCLUSIVE at a threshold of 2 %; 3 of 3 inconclusive: too few repeats")
        self.assertEqual(result.stdout.count("too few for an interval"), 1, result.stdout)
        self.assertIn("every case: too few for an interval: 2 runs; ", result.stdout)
        whole = json.loads(run("compare", *sweeps, "--format", "json").stdout)
        self.assertEqual((whole["verdict"], whole["summary"]), ("INCONCLUSIVE", "3 of 3 inconclusive: too few repeats"))

    def test_runs_without_reports_are_refused_on_another_machine(self):
        for name, day, machine in (("here", 0, None), ("there", 1, {"hash": "another", "name": "epyc"})):
            write_sweep(self.folder / name, day, [10] * 6, machine=machine)
        refused = run("compare", self.folder / "here", self.folder / "there")
        self.assertEqual(refused.returncode, 5, refused.stdout)
        self.assertRegex(refused.stdout, r"(?m)^differs, not allowed: machine: .* -> epyc$")
        self.assertEqual(run("compare", self.folder / "here", self.folder / "there", "--allow", "hardware").returncode, 0)

    def test_a_page_has_the_verdict_on_top(self):
        for new, verdict, summary in (([11] * 6, "SLOWER", "2 of 2 slower"), ([9] * 6, "FASTER", "2 of 2 faster"),
                                      ([10] * 6, "SAME", "2 of 2 same")):
            with self.subTest(verdict):
                page = run("compare", *self.sweeps(2, [10] * 6, new), "--format", "html").stdout
                self.assertRegex(page, rf"<main>\s*<h1>{verdict}</h1>\s*<p>{summary}</p>\s*<p>Threshold: 2 %")
                self.assertIn("Change of the time per sample and its 95 % interval", page)
                self.assertIn("Speed of base and new", page)
                self.assertLess(page.index("<svg"), page.index("<table"))
        less = self.compare("less accurate", "--allow", "config", "--threshold", 5, "--format", "html")
        self.assertIn("<h1>LESS ACCURATE</h1>", less.stdout)
        self.assertIn("change of top-1; higher is better", less.stdout)
        self.assertNotIn("fnv1a64", less.stdout)
        self.assert_one_line_error(self.compare("same", "--format", "pdf"), 2, "text|markdown|json|html")

    def one_report(self):
        return next((FROZEN / "runs/base").glob("*/report.json"))

    def test_single_reports_are_no_basis(self):
        other = next((FROZEN / "runs/same").glob("*/report.json"))
        result = run("compare", self.one_report(), other)
        self.assertEqual(result.returncode, 5)
        self.assertIn("runs more of each would decide", result.stdout)

    def test_what_cannot_be_read_is_named(self):
        text = self.one_report().read_text()
        for name, content, code, part in (
                ("cut.json", text[: len(text) // 2], 1, "not complete JSON"),
                ("version.json", text.replace("ptrain.report/1", "ptrain.report/9"), 5, "is ptrain.report/9"),
                ("other.json", '{"schema": "something"}', 1, "expected a document"),
                ("field.json", text.replace('"global_batch_size"', '"batch"'), 1, "does not fit")):
            with self.subTest(name):
                path = self.folder / name
                path.write_text(content)
                self.assert_one_line_error(run("compare", self.one_report(), path), code, part)
        self.assert_one_line_error(run("compare", FROZEN, self.folder / "none"), 1, "none")
        self.assert_one_line_error(self.compare("sme"), 2, "did you mean same?")
        self.assert_one_line_error(self.compare("same", "--allow", "everything"), 2, "expected hardware, config or data")

    def test_a_baseline_is_kept_and_checked(self):
        copy = self.folder / "suite"
        shutil.copytree(FROZEN, copy)
        self.assert_one_line_error(run("baseline", "save", copy), 1, "no good run")
        suite = json.loads((copy / "suite.json").read_text())
        suite["cases"] = [case for case in suite["cases"] if case["name"] in ("base", "same")]
        (copy / "suite.json").write_text(json.dumps(suite))
        for folder in (copy / "runs").iterdir():
            if folder.name not in ("base", "same"):
                shutil.rmtree(folder)
        self.assertEqual(run("baseline", "save", copy).returncode, 0)
        again = run("baseline", "check", copy)
        self.assert_one_line_error(again, 5)
        self.assertIn("both sides are the same runs", again.stdout)
        self.assertRegex(again.stdout, r"measured: base 20\d\d-.* to 20.*; new 20")
        shutil.rmtree(copy / "runs/same")
        shutil.copytree(FROZEN / "runs/slower", copy / "runs/same")
        for record in (copy / "runs/same").glob("*/record.json"):
            content = json.loads(record.read_text())
            same = next(case for case in suite["cases"] if case["name"] == "same")
            content.update({"case": "same", "config_hash": same["config_hash"], "settings": same["settings"]})
            record.write_text(json.dumps(content))
        result = run("baseline", "check", copy)
        self.assertEqual(result.returncode, 4, result.stdout)
        self.assertIn("<h1>SLOWER</h1>", run("baseline", "check", copy, "--format", "html").stdout)
        self.assertNotIn("SLOWER", run("baseline", "check", copy, "--threshold", 50, "--accuracy-margin", 1).stdout)
        suite["machine"]["hash"] = "another"
        (copy / "suite.json").write_text(json.dumps(suite))
        self.assert_one_line_error(run("baseline", "check", copy), 5, "another machine", "--allow hardware")
        self.assert_one_line_error(run("baseline", "check", copy, "--allow", "hardware"), 4)

    def test_a_wrong_label_is_answered_by_those_that_exist(self):
        write_sweep(self.folder / "sweep", 0, [10] * 6)
        self.assert_one_line_error(run("baseline", "check", self.folder / "sweep"), 1, "ptrain baseline save")
        for name in ("v1.1", "v1.2"):
            self.assertEqual(run("baseline", "save", self.folder / "sweep", "--name", name).returncode, 0)
        self.assert_one_line_error(run("baseline", "check", self.folder / "sweep", "--name", "v1.3"), 2,
                                   "no such baseline", "v1.1, v1.2")

    def test_a_live_comparison_is_not_overwritten(self):
        command = ["compare", self.config, "-o", "threads=1", "-o", "eval.every_epochs=0", "--against", "threads=1",
                   "--budget", "1", "--out", self.folder / "live"]
        self.assertIn(run(*command).returncode, (0, 4, 5))
        records = sorted((self.folder / "live/runs").glob("*/*/record.json"))
        kept = [path.read_text() for path in records]
        self.assert_one_line_error(run(*command), 2, "live", "--fresh")
        self.assertEqual([path.read_text() for path in records], kept)
        self.assertIn(run(*command, "--fresh").returncode, (0, 4, 5))

    def test_pairs_are_numbered_from_one_whether_they_count_or_not(self):
        program = self.folder / "ptrain"
        program.write_text(DRIFTING.format(python=sys.executable, binary=BINARY))
        program.chmod(0o755)
        result = run("compare", self.config, "-o", "threads=1", "-o", "eval.every_epochs=0", "--against", "threads=1",
                     "--program", program, "--budget", "20", "--out", self.folder / "live")
        lines = re.findall(r"(?m)^pair (\d+): (.*)$", result.stderr)
        self.assertGreaterEqual(len(lines), 3, result.stderr)
        self.assertEqual([int(number) for number, _ in lines], list(range(1, len(lines) + 1)))
        self.assertEqual(lines[0][1], "no figures yet: its step times did not settle")
        self.assertRegex(lines[1][1], r"^base .*, from 1 pair$")
        self.assertRegex(lines[2][1], r"^base .*, from 2 pairs$")

    def test_live_finds_a_long_delay(self):
        result = run("compare", self.config, "-o", "threads=1", "-o", "eval.every_epochs=0", "--against",
                     "train.test_delay_percent=200", "--budget", "60", "--out", self.folder / "live", "--json")
        self.assertEqual((self.verdict(result), result.returncode), ("SLOWER", 4), result.stderr)
        self.assertIn("new:  ", result.stderr)
        self.assertRegex(result.stderr, r"(?m)^pair \d+: base [\d.]+, new [\d.]+ sequences/s \(10th percentile of step times\); step time \+")
        recorded = run("compare", f"{self.folder}/live#base", f"{self.folder}/live#new", "--json")
        self.assertEqual(self.verdict(recorded), "SLOWER", recorded.stderr)


if __name__ == "__main__":
    unittest.main()
