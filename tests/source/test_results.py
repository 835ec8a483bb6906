"""Measured results stay short: one compact summary a measurement, in the form that scripts/keep_results.py gives it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tree

LINES, BYTES = 8000, 1_200_000
SCRIPT = os.path.join(tree.ROOT, "scripts/keep_results.py")


def keep(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True, check=False)


def tracked():
    """What git keeps in results/; suites that were measured here write there too."""
    result = subprocess.run(["git", "-C", tree.ROOT, "ls-files", "-z", "results"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise unittest.SkipTest("no git repository")
    paths = [pathlib.Path(tree.ROOT, name) for name in result.stdout.split("\0") if name]
    return [path for path in paths if path.exists()]


class Results(unittest.TestCase):
    def test_all_of_them_together_are_short(self):
        contents = [path.read_bytes() for path in tracked()]
        self.assertLessEqual(sum(content.count(b"\n") for content in contents), LINES)
        self.assertLessEqual(sum(map(len, contents)), BYTES)

    def test_every_file_is_in_the_form_that_is_kept(self):
        result = keep("--check", *(path for path in tracked() if path.suffix in (".json", ".jsonl")))
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_another_form_is_found(self):
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name, "report.json")
            file.write_text(json.dumps({"schema": "ptrain.report/2", "kernels": [1, 2], "loss": 0.12345678912}, indent=2))
            result = keep("--check", file)
            self.assertEqual(result.returncode, 1)
            self.assertIn(str(file), result.stderr)
            self.assertEqual(keep(file).returncode, 0)
            self.assertEqual(file.read_text(), '{"schema":"ptrain.report/2","kernels":[],"loss":0.12345679}\n')
            self.assertEqual(keep("--check", file).returncode, 0)

    def test_a_folded_sweep_unfolds_to_the_same_records(self):
        with tempfile.TemporaryDirectory() as name:
            kept, made = pathlib.Path(name, "sweep.jsonl"), pathlib.Path(name, "sweep")
            kept.write_text(next(path for path in tracked() if path.name == "flags_bert.jsonl").read_text())
            self.assertEqual(keep("--unfold", kept, made).returncode, 0)
            self.assertEqual(len(list(made.rglob("record.json"))), 36)
            before = kept.read_text()
            self.assertEqual(keep("--fold", made).returncode, 0)
            self.assertEqual(kept.read_text(), before)


if __name__ == "__main__":
    unittest.main()
