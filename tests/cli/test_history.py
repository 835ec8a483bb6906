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
        self.assert_one_line_error(self.history("--since", "v200"), 2, 'no baseline is labelled "v200"')

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
        page = self.folder / "page.html"
        self.assertEqual(self.history("--format", "html", "--out", page).returncode, 0)
        self.assertIn("REGRESSION: base: throughput", page.read_text())
        self.assertEqual(len(re.findall("<h2>", page.read_text())), 1)  # memory is constant
        self.assert_one_line_error(self.history("--format", "csv"), 2, "text|markdown|json|html")

    def test_the_same_history_gives_the_same_words(self):
        self.slowed_down()
        self.assertEqual(self.history().stdout, self.history().stdout)

    def test_too_few_points_are_no_verdict(self):
        for day in range(5):
            self.sweep(day)
        result = self.history("--fail-on-regression")
        self.assert_one_line_error(result, 5, "too few points")
        self.assertIn("2 series of 5: too few points to distinguish a change from noise, at least 9 are needed", result.stdout)
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
