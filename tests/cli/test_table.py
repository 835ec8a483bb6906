"""Tables are what the reports say, and documents are held to them."""
import csv
import io
import json
import re
import unittest

from program import ROOT, ProgramTest, run

FROZEN = ROOT / "tests/cli/frozen"


def at_pointer(document, pointer):
    for part in pointer.split("/")[1:]:
        document = document[int(part) if isinstance(document, list) else part]
    return document


class Table(ProgramTest):
    def test_the_readme_agrees_with_its_reports(self):
        for name in ("README.md", "results/README.md"):
            result = run("table", "--check", ROOT / name)
            self.assertEqual(result.returncode, 0, result.stderr)

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
        columns = ",".join(column for column in known if column != "runs")  # counts files, and stands in none
        table = json.loads(run("table", FROZEN, "--format", "json", "--columns", columns, cwd=ROOT).stdout)
        checked = 0
        for row in table["rows"]:
            for cell in row["cells"]:
                values = [at_pointer(json.loads((ROOT / s["file"]).read_text()), s["pointer"]) for s in cell["sources"]]
                if isinstance(cell["value"], (int, float)):
                    checked += 1
                    self.assertLessEqual(min(values), cell["value"] + 1e-9)
                    self.assertGreaterEqual(max(values), cell["value"] - 1e-9)
        self.assertGreater(checked, 20)

    def test_csv_has_a_row_per_case(self):
        rows = list(csv.DictReader(io.StringIO(run("table", FROZEN, "--format", "csv").stdout)))
        self.assertEqual([row["run"] for row in rows][:2], ["base", "same"])
        self.assertGreater(float(rows[0]["speed"]), 0)

    def test_a_flag_is_shown_as_asked_and_as_it_took_effect(self):
        columns = "exhaustive_search,persistent_batch_norm"
        rows = csv.DictReader(io.StringIO(run("table", f"{FROZEN}#base", "--format", "csv", "--columns", columns).stdout))
        self.assertEqual([tuple(row.values())[:2] for row in rows], [("true / true", "true / false")])

    def test_html_is_one_whole_file(self):
        for output, level in (("runs/a", "O0"), ("runs/b", "O1")):
            self.assertEqual(self.train(output, "--amp", level, "-o", "output.per_op=true").returncode, 0)
        page = self.folder / "page.html"
        self.assertEqual(run("table", self.folder / "runs", "--format", "html", "--output", page).returncode, 0)
        text = page.read_text()
        self.assertEqual(re.findall(r"https?:|<script|<link|<img|@import", text), [])
        for title in ("Throughput", "Step time", "Training loss", "Top-1 accuracy", "Peak memory", "Time by op"):
            self.assertIn(title, text)

    def test_unknown_columns_and_formats_are_refused(self):
        self.assert_one_line_error(run("table", FROZEN, "--columns", "run,sped"), 2, "did you mean speed?")
        self.assert_one_line_error(run("table", FROZEN, "--format", "pdf"), 2, "expected text|markdown")


if __name__ == "__main__":
    unittest.main()
