"""Histories of baselines: saved under labels, shown with their changes, and checked by exit code."""
import json
import random
import re
import shutil
import unittest

from made_history import METRICS, evaluation, write_sweep
from program import ProgramTest, run

RUNS = 4


class History(ProgramTest):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(1)
        self.saved = self.folder / "suite"

    def sweep(self, day, slower=1.0, save=True, **figures):
        """One more sweep in the suite's folder, saved as v<day>; steps of 10 ms, up to 1 % more."""
        now = self.folder / "now"
        shutil.rmtree(now, ignore_errors=True)
        write_sweep(now, day, [10 * slower * self.chance.uniform(1, 1.01) for _ in range(RUNS)], **figures)
        self.saved.mkdir(exist_ok=True)
        shutil.rmtree(self.saved / "runs", ignore_errors=True)
        shutil.copytree(now, self.saved, dirs_exist_ok=True)
        if save:
            result = run("baseline", "save", self.saved, "--name", f"v{day}", "--commit", f"c{day}")
            self.assertEqual(result.returncode, 0, result.stderr)

    def history(self, *options):
        return run("history", self.saved, *options)

    def json(self, *options):
        return json.loads(self.history("--format", "json", *options).stdout)

    def series(self, response="throughput", **options):
        return [s for s in self.json(**options)["series"] if s["response"] == response]

    def slowed_down(self):
        for day in range(20):
            after = day >= 12
            self.sweep(day, 1.05 if after else 1, binary="two" if after else "one",
                       versions={"driver": "550.2" if after else "550.1"})

    def test_a_baseline_says_what_it_is(self):
        self.sweep(3, versions={"driver": "550.1"})
        saved = json.loads((self.saved / "baseline-v3/baseline.json").read_text())
        self.assertEqual((saved["schema"], saved["label"], saved["commit"]), ("ptrain.baseline/1", "v3", "c3"))
        self.assertEqual(saved["software"]["versions"], {"driver": "550.1"})
        self.assertEqual(saved["measured"]["first"], "2026-01-04T00:00:00Z")
        self.assertRegex(saved["saved"], r"^20\d\d-")

    def test_a_regression_is_named_between_its_labels_and_fails_the_gate(self):
        self.slowed_down()
        self.assertEqual(self.history().returncode, 0)
        result = self.history("--fail-on-regression")
        self.assert_one_line_error(result, 4, "regression")
        line = next(line for line in result.stdout.splitlines() if line.startswith("REGRESSION"))
        self.assertRegex(line, r"base: throughput -[45]\.\d % \(-\d\.\d to -\d\.\d\)")
        for part in ("between v11 (2026-01-12) and v12 (2026-01-13)", "commit was c11, is c12",
                     "driver was 550.1, is 550.2"):
            self.assertIn(part, line)
        self.assertEqual(self.history("--fail-on-regression", "--since", "v15").returncode, 0)
        self.assert_one_line_error(self.history("--since", "v200"), 2, 'no baseline is named "v200"')

    def test_steps_that_stall_are_a_regression(self):
        for day in range(24):
            self.sweep(day, stalls=1.2 * self.chance.uniform(1, 1.01) if day >= 12 else 1)
        result = self.history("--fail-on-regression")
        self.assert_one_line_error(result, 4, "regression")
        self.assertRegex(result.stdout, r"REGRESSION: base: mean throughput -1[678]\.\d % .* between v11 .* and v12")
        self.assertRegex(result.stdout, r"(?m)^base +throughput .*no change$")

    def test_runs_that_fail_since_a_label_fail_the_gate(self):
        for day in range(4):
            self.sweep(day, save=False)
            for repeat in range(3 if day > 1 else 0):
                path = self.saved / f"runs/base/{repeat:02}/record.json"
                path.write_text(json.dumps({**json.loads(path.read_text()), "status": "diverged", "measured": None}))
            self.assertEqual(run("baseline", "save", self.saved, "--name", f"v{day}").returncode, 0)
        result = self.history("--fail-on-regression")
        self.assert_one_line_error(result, 4, "regression")
        self.assertIn("REGRESSION: base: from v2 on 6 of 8 runs fail, 0 of 8 before (diverged)", result.stdout)

    def test_a_baseline_is_replaced_only_when_that_is_asked_for(self):
        self.sweep(0)
        kept = (self.saved / "baseline-v0/baseline.json").read_bytes()
        self.assert_one_line_error(run("baseline", "save", self.saved, "--name", "v0"), 2, "baseline-v0", "--fresh")
        self.assertEqual((self.saved / "baseline-v0/baseline.json").read_bytes(), kept)
        self.assertEqual(run("baseline", "save", self.saved, "--name", "v0", "--fresh").returncode, 0)
        self.assertNotEqual((self.saved / "baseline-v0/baseline.json").read_bytes(), kept)
        self.assertEqual(run("baseline", "save", self.saved, "--name", "a b").returncode, 0)
        other = run("baseline", "save", self.saved, "--name", "a/b")  # may not fall into the folder of "a b"
        self.assertIn(other.returncode, (0, 2))
        labels = [json.loads(path.read_text())["label"] for path in self.saved.glob("baseline*/baseline.json")]
        self.assertEqual(sorted(labels), ["a b", "v0"] if other.returncode else ["a b", "a/b", "v0"])

    def test_the_primary_metric_is_judged_in_its_direction_and_named(self):
        for metric, before, after, size in (("perplexity", 20, 22, r"\+10\.0 %"), ("pearson", 0.85, 0.80, r"-5\.0 points")):
            with self.subTest(metric):
                shutil.rmtree(self.saved, ignore_errors=True)
                for day in range(20):
                    value = (after if day >= 12 else before) * self.chance.uniform(0.9999, 1.0001)
                    self.sweep(day, evaluated=evaluation(metric, value))
                result = self.history("--fail-on-regression")
                self.assertEqual(result.returncode, 4, result.stdout)
                title = METRICS[metric]["title"]
                self.assertRegex(result.stdout, rf"REGRESSION: base: {title} {size} \(.*\) between v11 .* and v12")

    def test_every_format_has_the_change(self):
        self.slowed_down()
        change = self.series()[0]["changes"][0]
        self.assertEqual((change["at"], change["before"], change["after"]), (12, "v11", "v12"))
        self.assertIn("| base | throughput | 20 |", self.history("--format", "markdown").stdout)
        throughput = next(line for line in self.history().stdout.splitlines() if line.startswith("base  throughput"))
        self.assertRegex(throughput, r" -\d\.\d %  +[+-]\d\.\d %  -", "against the first and the one before")
        page = self.folder / "page.html"
        self.assertEqual(self.history("--format", "html", "--out", page).returncode, 0)
        for words in ("<h1>REGRESSION</h1>", "REGRESSION: base: throughput", ">v0</text>", "Against the one before"):
            self.assertIn(words, page.read_text())
        self.assertEqual(len(re.findall("<h2>", page.read_text())), 2)  # memory is constant
        self.assert_one_line_error(self.history("--format", "csv"), 2, "text|markdown|json|html")

    def test_the_same_history_gives_the_same_words(self):
        self.slowed_down()
        self.assertEqual(self.history().stdout, self.history().stdout)

    def test_too_few_points_are_no_verdict(self):
        for day in range(5):
            self.sweep(day)
        result = self.history("--fail-on-regression")
        self.assert_one_line_error(result, 5, "too few points")
        self.assertIn("3 series of 5: too few points to distinguish a change from noise, at least 10 are needed", result.stdout)
        self.assertNotIn("too few", self.history("--format", "json").stderr)

    def test_a_sweep_that_is_not_saved_is_the_newest_point(self):
        for day in range(3):
            self.sweep(day)
        self.assertEqual([p["label"] for p in self.series()[0]["points"]], ["v0", "v1", "v2"])
        self.sweep(3, save=False)
        self.assertEqual([p["label"] for p in self.series()[0]["points"]], ["v0", "v1", "v2", "suite"])

    def test_one_sweep_saved_twice_counts_once(self):
        self.sweep(0)
        self.assertEqual(run("baseline", "save", self.saved, "--name", "v0 again").returncode, 0)
        document = self.json()
        self.assertEqual([p["label"] for p in document["series"][0]["points"]], ["v0"])
        self.assertEqual(document["notes"], ["v0 again: left out: the same sweep as v0"])

    def test_machines_are_series_of_their_own(self):
        for day in range(20):
            self.sweep(day, 2 if day >= 10 else 1, machine={"hash": "b", "name": "other"} if day >= 10 else None)
        series = self.series()
        self.assertEqual([len(s["points"]) for s in series], [10, 10])
        self.assertEqual([s["changes"] for s in series], [[], []])

    def test_what_is_no_history_is_an_error(self):
        self.assert_one_line_error(run("history", self.folder / "none"), 1, "no such folder")
        self.assert_one_line_error(run("history", self.folder), 1, "no baseline", "ptrain baseline save")


if __name__ == "__main__":
    unittest.main()
