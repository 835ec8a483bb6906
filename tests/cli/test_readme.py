"""The commands that README.md shows are real: scripts exist, and every ptrain command line works."""
import os
import pathlib
import re
import shlex
import subprocess
import unittest

from program import ROOT, ProgramTest, run
from trained import TrainedModels

SHORT = ["-o", "train.steps=1", "-o", "eval.max_samples=64", "-o", "output.save=false", "--progress", "none"]
BRIEF = ["--repeats", "3", "--progress", "none", "-o", "train.steps=30", "-o", "data.batch_size=2",
         "-o", "eval.max_samples=4"]


OWN_TEST = ("Use what was trained",)


def commands(section=None):
    """Of one section, or of all but those that have a test of their own."""
    text = re.sub(r"```.*?```", "", (ROOT / "README.md").read_text(), flags=re.S)  # examples for other machines
    for title, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, flags=re.S | re.M):
        if title != section if section else title in OWN_TEST:
            continue
        for line in body.splitlines():
            if line.startswith("    ") and (words := shlex.split(line, comments=True)):
                yield words


class Readme(ProgramTest):
    def undemanding(self, suite):
        """A copy of a suite that calls any run good: what else the machine does decides over no test."""
        text = (ROOT / suite).read_text()
        config = re.search(r"^config: (.*)$", text, flags=re.M).group(1)
        text = text.replace(config, str((ROOT / suite).parent / config))
        text = re.sub(r"^timeout_seconds: .*$", "timeout_seconds: 600", text, flags=re.M)
        copy = self.folder / "suite.yaml"
        copy.write_text(text + "steady: {required: false}\n")
        return str(copy)

    def test_scripts_exist_and_can_be_run(self):
        scripts = [words[0] for words in commands() if words[0].startswith("scripts/")]
        self.assertIn("scripts/quickstart.sh", scripts)
        self.assertIn("scripts/test.sh", scripts)
        for script in scripts:
            with self.subTest(script):
                self.assertTrue((ROOT / script).stat().st_mode & 0o100)

    def test_ptrain_commands_work(self):
        seen = 0
        for words in commands():
            if not words[0].endswith("/bin/ptrain"):
                continue
            seen += 1
            with self.subTest(" ".join(words)):
                extra = []
                if words[1] == "run":
                    extra = SHORT
                    if "--out" not in words:  # the configuration's own, elsewhere
                        extra = ["--out", self.folder / pathlib.Path(words[2]).stem, *SHORT]
                elif words[1] == "bench" and words[2].endswith(".yaml"):
                    words[2], extra = self.undemanding(words[2]), BRIEF
                elif words[1] == "runs":
                    extra = [self.folder]
                elif "--burn-in" in words:
                    words[-1], extra = "0.02", ["--drift", "100"]
                words = [re.sub("^runs/", f"{self.folder}/", word) for word in words]
                needs = [word for word in words if word.startswith("data/")]
                if any(word.startswith("configs/bert_finetune") for word in words):
                    needs += ["weights", "data/sst2"]
                for path in needs:
                    if not (ROOT / path).exists():
                        self.skipTest(f"{path} has not been fetched")
                result = run(*words[1:], *extra, cwd=ROOT)
                self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(seen, 4)

    def test_there_is_one_program(self):
        """What quickstart.sh and test.sh build is what every later command calls."""
        readme, quickstart, tests = ((ROOT / name).read_text() for name in
                                     ("README.md", "scripts/quickstart.sh", "scripts/test.sh"))
        self.assertEqual({*re.findall(r"(?<!\S)(build/\w+)/bin/ptrain", readme), *re.findall(r"build/\w+", quickstart)},
                         {"build/release"})
        self.assertIn("cmake --build build/release ", tests)

    def test_every_script_says_what_it_does_and_does_no_more(self):
        """Those apart that run inside PyTorch's environment, and the launcher that packages begin with."""
        scripts = [path for folder in ("scripts", "scripts/peers") for path in sorted((ROOT / folder).glob("*.*"))
                   if os.access(path, os.X_OK) and not path.name.endswith("_peer.py") and path.name != "ptrain.sh"]
        self.assertGreater(len(scripts), 15)
        for path in scripts:
            with self.subTest(path.name):
                head = re.search(r'^(?:# |""")(.{20})', path.read_text(), re.MULTILINE)[1]
                result = subprocess.run([path, "--help"], capture_output=True, text=True, timeout=60, cwd=self.folder)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn(head, result.stdout)

    def test_every_config_named_exists(self):
        for name in re.findall(r"configs/[\w/]+\.yaml", (ROOT / "README.md").read_text()):
            self.assertTrue((ROOT / name).exists(), name)


class UseWhatWasTrained(TrainedModels, ProgramTest):
    """That section's commands, in order, on small models in place of those that its runs would have made."""

    def test_ptrain_commands_work_in_order(self):
        stand_ins = {"runs/quickstart": self.runs / "images", "runs/bert_finetune": self.runs / "texts",
                     "photos/": self.data / "images/val", "/usr/share/datasets/fashion-mnist": self.data / "images/val",
                     "data/sst2/dev.tsv": self.data / "texts/dev.tsv"}
        seen = set()
        for words in commands(OWN_TEST[0]):
            with self.subTest(" ".join(words)):
                arguments = [stand_ins.get(word, re.sub("^runs/", f"{self.folder}/", word)) for word in words[1:]]
                if words[1] == "bench":
                    arguments += ["--seconds", "0"]
                if words[1] == "quantize":  # whatever is faster on this machine
                    arguments += ["--layers", "all", "--max-drop", "100", "--speed-seconds", "0"]
                result = run(*arguments)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(result.stdout)
                seen.add(words[1])
        self.assertEqual(seen, {"infer", "export", "bench", "quantize"})


if __name__ == "__main__":
    unittest.main()
