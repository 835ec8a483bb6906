"""Tables show what the reports say, and documents are checked against them."""
import csv
import io
import json
import re
import shutil
import unittest
import xml.etree.ElementTree

from frozen import FROZEN
from program import ROOT, ProgramTest, run


def at_pointer(document, pointer):
    for part in pointer.split("/")[1:]:
        document = document[int(part) if isinstance(document, list) else part]
    return document


def figure(cell, document, pointer):
    """What a cell's source says; of a speed, samples a second at the step time there."""
    value = at_pointer(document, pointer)
    if cell["column"] != "speed":
        return value
    measured = document["measured"]
    return measured["throughput"]["samples"] / measured["step_ms"]["count"] / value * 1e3


def make_steady(run_folder):
    """Gives a run the step times of an idle machine: of a drifting one no speed is shown."""
    metrics = run_folder / "metrics.jsonl"
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    for i, line in enumerate(lines):
        if "steps_ms" in line:
            line["steps_ms"] = [5 + i % 2 / 100 for _ in line["steps_ms"]]
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))


class Table(ProgramTest):
    def test_the_readme_agrees_with_its_reports(self):
        for name in ("README.md", "results/README.md"):
            result = run("table", "--check", ROOT / name)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, ": (1 table agrees with its|([2-9]|[0-9]{2,}) tables agree with their) reports\n")

    def test_one_changed_digit_is_found(self):
        text = (ROOT / "README.md").read_text()
        table = text[text.index("<!-- ptrain table") : text.index("<!-- /ptrain -->")]
        table = table.replace(" results/", f" {ROOT}/results/")
        document = self.folder / "document.md"
        document.write_text(f"# Copy\n{table}<!-- /ptrain -->\nrest\n")
        self.assertEqual(run("table", "--update", document).returncode, 0)
        good = document.read_text()
        self.assertTrue(good.endswith("rest\n"))
        self.assertEqual(run("table", "--check", document).returncode, 0)
        document.write_bytes(good.replace("\n", "\r\n").encode())
        self.assertEqual(run("table", "--check", document).returncode, 0)
        self.assertEqual(run("table", "--update", document).returncode, 0)
        self.assertEqual(document.read_bytes(), good.replace("\n", "\r\n").encode())
        digits = [m for m in re.finditer(r"\d", good) if good.rfind("\n|", 0, m.start()) > 0 and "](" not in
                  good[good.rfind("|", 0, m.start()) : m.start()]]
        for match in digits[:: max(1, len(digits) // 6)]:
            changed = str((int(match.group()) + 1) % 10)
            document.write_text(good[: match.start()] + changed + good[match.end() :])
            result = run("table", "--check", document)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertRegex(result.stderr, r"document\.md:\d+: says .*, the reports say ")

    def test_a_document_without_a_table_cannot_pass(self):
        document = self.folder / "empty.md"
        document.write_text("| 1 |\n")
        self.assert_one_line_error(run("table", "--check", document), 1, "nothing to check")

    def test_every_figure_is_where_its_cell_says(self):
        known = re.search(r"there are ([\w, ]+)", run("table", FROZEN, "--columns", "none").stderr).group(1).split(", ")
        columns = ",".join(column for column in known if column != "runs")  # counts files, and is in none
        table = json.loads(run("table", FROZEN, "--format", "json", "--columns", columns, cwd=ROOT).stdout)
        checked = 0
        for row in table["rows"]:
            for cell in row["cells"]:
                values = [figure(cell, json.loads((ROOT / s["file"]).read_text()), s["pointer"]) for s in cell["sources"]]
                if isinstance(cell["value"], (int, float)):
                    checked += 1
                    self.assertLessEqual(min(values), cell["value"] + 1e-9)
                    self.assertGreaterEqual(max(values), cell["value"] - 1e-9)
        self.assertGreater(checked, 20)

    def test_csv_has_a_row_per_case(self):
        rows = list(csv.DictReader(io.StringIO(run("table", FROZEN, "--format", "csv").stdout)))
        self.assertEqual([row["run"] for row in rows][:2], ["base", "same"])
        self.assertGreater(float(rows[0]["speed"]), 0)
        self.assertEqual((rows[0]["speed_unit"], rows[0]["speed_n"]), ("sequences/s", "12"))

    def test_one_speed_in_every_document(self):
        """What the table says of two cases and what effects and compare say of their difference is one figure."""
        copy = self.folder / "two"
        shutil.copytree(FROZEN, copy)
        suite = json.loads((copy / "suite.json").read_text())
        suite["cases"] = [case for case in suite["cases"] if case["name"] in ("base", "slower")]
        (copy / "suite.json").write_text(json.dumps(suite))
        rows = {row["run"]: row for row in csv.DictReader(io.StringIO(run("table", copy, "--format", "csv").stdout))}
        effect = json.loads(run("effects", copy, "--json").stdout)
        compared = json.loads(run("compare", f"{copy}#base", f"{copy}#slower", "--json").stdout)["cases"][0]
        shown = [float(rows[name]["speed"]) for name in ("base", "slower")]
        self.assertAlmostEqual(effect["effects"][0]["estimate"], 100 * (shown[1] / shown[0] - 1), places=6)
        self.assertEqual([compared["base"]["speed"], compared["new"]["speed"]], shown)
        estimators = (rows["base"]["speed_estimator"], effect["speed_estimator"], compared["speed_estimator"])
        self.assertEqual(estimators, ("typical step",) * 3)
        self.assertIn("10th percentile of step times", run("effects", copy).stdout)
        self.assertRegex(run("table", copy).stdout, r"Speed \(10th percentile of step times\)[^§]*sequences/s ±[0-9.]+ %, n 11")

    def test_a_flag_is_shown_as_asked_and_as_it_took_effect(self):
        columns = "exhaustive_search,persistent_batch_norm"
        rows = csv.DictReader(io.StringIO(run("table", f"{FROZEN}#base", "--format", "csv", "--columns", columns).stdout))
        self.assertEqual([tuple(row.values())[:2] for row in rows], [("true / true", "true / false")])

    def test_html_is_one_whole_file(self):
        for output, level in (("runs/a", "O0"), ("runs/b", "O1")):
            self.assertEqual(self.train(output, "--amp", level, "-o", "output.per_op=true").returncode, 0)
            make_steady(self.folder / output)
        page = self.folder / "page.html"
        self.assertEqual(run("table", self.folder / "runs", "--format", "html", "--out", page).returncode, 0)
        text = page.read_text()
        self.assertEqual(re.findall(r"https?:|<script|<link|<img|@import", text), [])
        for title in ("Throughput", "Step time", "Training loss", "Top-1 accuracy", "Peak memory", "Time by op"):
            self.assertIn(title, text)

    def test_figures_and_latex_for_papers(self):
        """Of a run whose folder has what LaTeX and XML give a meaning."""
        name = "a_b & 5% #<x>"
        self.assertEqual(self.train(f"runs/{name}").returncode, 0)
        make_steady(self.folder / "runs" / name)
        figures, table = self.folder / "paper/figures", self.folder / "paper/table.tex"
        result = run("table", self.folder / "runs" / name, "--format", "latex", "--out", table, "--figures", figures)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = table.read_text()
        self.assertIn(r"a\_b \& 5\% \#\textless{}x\textgreater{}", text)
        self.assertIn(r"\end{tabular}", text)
        names = sorted(path.name for path in figures.iterdir())
        self.assertLessEqual({"throughput.svg", "throughput.pdf", "loss.svg", "loss.pdf", "loss.tex"}, set(names))
        for path in figures.iterdir():
            if path.suffix == ".svg":
                self.assertTrue(xml.etree.ElementTree.parse(path).getroot().tag.endswith("svg"))
            elif path.suffix == ".tex":
                self.assertIn(r"\begin{tikzpicture}", path.read_text())
            else:
                self.assertTrue(path.read_bytes().startswith(b"%PDF-1.4") and path.read_bytes().endswith(b"%%EOF\n"))

    def test_a_page_of_one_run(self):
        self.assertEqual(self.train("runs/one", "-o", "output.per_op=true").returncode, 0)
        page = self.folder / "page.html"
        self.assertEqual(run("table", self.folder / "runs/one", "--format", "html", "--out", page).returncode, 0)
        text = page.read_text()
        for title in ("Loss", "Learning rate", "Throughput", "Memory", "Time of each op in a step",
                      "The network, by time, memory and AMP class", "Configuration"):
            self.assertIn(f"<h2>{title}</h2>", text)
        self.assertIn(">train.optimizer.weight_decay</td>", text)
        self.assertIn("<title>ptrain: one</title>", text)
        figures = re.findall(r"<div><b>(.*?)</b><span>(.*?)</span></div>", text)
        self.assertEqual(figures[0], ("ok", "after 60 of 60 steps"))
        self.assertEqual([name for _, name in figures[1:]],
                         ["top-1 in the last evaluation", "sequences/s, samples over time", "memory at its peak"])
        changed = re.search(r"<h2>Settings that differ from the defaults</h2>.*?</table>", text, re.S)[0]
        self.assertIn(">train.steps</td>", changed)
        self.assertNotIn(">output.save</td>", changed)
        self.assertIn("<details><summary>All settings</summary>", text)
        self.assertRegex(text, r'style="background:color-mix\(in srgb,var\(--s0\) \d+%,transparent\)">\d+</td>')
        lines = [json.loads(line) for line in (self.folder / "runs/one/metrics.jsonl").read_text().splitlines()]
        self.assertTrue(all(line["memory_bytes"] > 1 << 20 for line in lines if "step_ms" in line))

    def test_effects_in_latex(self):
        text = run("effects", FROZEN, "--latex").stdout
        self.assertTrue(text.startswith(r"\begin{tabular}{llrrrr}"), text)
        self.assertIn(r"95 \% interval", text)

    def test_a_page_says_why_runs_do_not_count(self):
        page = self.folder / "page.html"
        self.assertEqual(run("table", FROZEN, "--format", "html", "--out", page).returncode, 0)
        text = page.read_text()
        self.assertIn("Runs that are not counted", text)
        self.assertIn("cannot read missing.safetensors: No such file or directory", text)
        self.assertIn("What each change does", text)

    def test_outputs_replace_no_file_of_a_run(self):
        self.assertEqual(self.train("run").returncode, 0)
        out = self.folder / "run"
        for name in ("report.json", "metrics.jsonl", "model.safetensors"):
            kept = (out / name).read_bytes()
            for command in (("table", out, "--out"), ("export-report", out, "--format", "mllog", "--out")):
                self.assert_one_line_error(run(*command, out / name), 2, "--out", "would be overwritten")
                self.assertEqual((out / name).read_bytes(), kept)
        self.assert_one_line_error(run("export-report", out, "--format", "mllog", "--out", self.config), 2,
                                   "--out", "would be overwritten")
        self.assertEqual(run("table", out, "--out", out / "table.md").returncode, 0)

    def test_unknown_columns_and_formats_are_refused(self):
        self.assert_one_line_error(run("table", FROZEN, "--columns", "run,sped"), 2, "did you mean speed?")
        self.assert_one_line_error(run("table", FROZEN, "--format", "pdf"), 2, "expected text|markdown")


if __name__ == "__main__":
    unittest.main()
