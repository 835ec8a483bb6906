"""The commands that documents show are real: each is run, or listed below with the reason why it is not."""
import os
import pathlib
import re
import shlex
import subprocess
import unittest

from program import ROOT, ProgramTest, run
from trained import TrainedModels

DOCUMENTS = ("README.md", "cli/README.md", "configs/README.md", "models/README.md", "scripts/README.md",
             "core/README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "core/docs").glob("*.md")),
             "tests/README.md")
PROGRAM = "ptrain"

# Commands that no test runs as they stand, by how they begin. Their options are checked all the same.
NOT_RUN = {
    f"{PROGRAM} serve": "answers until it is ended: test_serve",
    f"{PROGRAM} bench infer runs/llama": "needs a trained language model: test_heads",
    f"{PROGRAM} infer runs/boxes data/coco": "needs the reader's copy of COCO: models/test_detection",
    f"{PROGRAM} infer runs/deeplabv3_resnet50": "needs hours of training: models/test_segmentation",
    f"{PROGRAM} infer weights/ppocrv6": "needs published weights: scripts/peers/pp_ocr_peer.py, by hand",
    f"{PROGRAM} infer runs/dbnet": "needs two trained models: models/test_reading",
    f"{PROGRAM} bisect": "needs the history of the reader's program: test_bisect",
    "curl": "asks a server: test_serve_texts",
    "export PATH": "the tests have a program of their own",
    "mpirun": "needs slots of MPI: test_distributed",
    "scripts/quickstart.sh": "installs, builds and trains: tests/package/readme_root.sh",
    "scripts/test.sh": "would run this test",
    "scripts/test_aarch64.sh": "builds for another processor",
    "scripts/install_deps.sh": "installs packages",
    "scripts/fetch_weights.sh": "needs the network: test_fetch_weights",
    "scripts/fetch_data.sh": "needs the reader's copy of the data",
    "scripts/package.sh": "builds: package.make",
    "scripts/compare_flags.sh": "an hour",
    "scripts/scaling.sh": "minutes",
    "scripts/roofline.py": "needs five seconds of steps",
    "scripts/peers/setup.sh": "installs PyTorch",
    "scripts/peers/compare.py --out": "hours, and PyTorch",
    ".deps/peers/bin/python": "needs PyTorch",
    "tests/package/readme_root.sh": "root and three quarters of an hour",
    "ptrain/": "needs the package of a CUDA build",
    "pip install": "package.wheel",
    "sudo apt": "needs root: package.deb",
    "tar": "package.tar",
    "docker": "needs docker",
    "sbatch": "needs Slurm",
    "cmake": "configures or builds",
    "ctest": "would run this test",
    "build/release/bin/unit_": "needs the build of the tests, which ctest runs",
    "build/release/bin/ops_test": "the same",
    "(cd tests/": "would run a test in a test",
}
# Verdicts about speed: any of them is one, as the machine may do other work meanwhile.
VERDICTS = {("compare",): {0, 4, 5}, ("baseline", "check"): {0, 4, 5}, ("doctor", "--check", "--expect"): {0, 1}}

SEARCHLESS = ["-o", "flags.cudnn_exhaustive_search=false"]
SHORT = [*SEARCHLESS, "-o", "train.steps=1", "-o", "eval.max_samples=64", "--progress", "none"]
BRIEF = [*SEARCHLESS, "--repeats", "2", "--progress", "none", "-o", "train.steps=24", "-o", "eval.max_samples=4"]


def lines(document):
    """Lines of indented blocks, each a command; fences hold examples."""
    text = re.sub(r"```.*?```", "", (ROOT / document).read_text(), flags=re.S)
    yield from (line.strip() for line in text.splitlines() if line.startswith("    ") and line.strip())


def words_of(line):
    """The words of a command, without comment and redirection."""
    words = shlex.split(re.sub(r"(^|\s)#\s.*$", "", line))
    return words[: words.index(">")] if ">" in words else words


def reason_not_to_run(line):
    return next((reason for start, reason in NOT_RUN.items() if line.startswith(start)), None)


class Documents(TrainedModels, ProgramTest):
    """Commands run in the order of their document, on small models and data in place of those that earlier ones made."""

    def setUp(self):
        super().setUp()
        self.stand_ins = {"runs/quickstart": self.runs / "images", "runs/bert_finetune": self.runs / "texts",
                          "photos/": self.data / "images/val", "data/sst2": self.data / "texts",
                          "data/sst2/dev.tsv": self.data / "texts/dev.tsv", "data/photos": self.data / "images"}

    def undemanding(self, path):
        """A copy of a suite, or a suite of a configuration, that calls any run good: what else the machine does decides
        over no test."""
        text = (ROOT / path).read_text()
        if config := re.search(r"^config: (.*)$", text, flags=re.M):
            text = text.replace(config[1], str((ROOT / path).parent / config[1]))
            text = re.sub(r"^timeout_seconds: .*$", "timeout_seconds: 600", text, flags=re.M)
        else:
            text = f"name: {pathlib.Path(path).stem}\nconfig: {ROOT / path}\n"
        copy = self.folder / f"suite_{pathlib.Path(path).name}"
        copy.write_text(text + "steady: {required: false}\n")
        return str(copy)

    def shortened(self, words):
        """The arguments of a command with what makes it quick."""
        arguments = [self.stand_ins.get(word, re.sub("^runs/", f"{self.folder}/", word)) for word in words]
        command = words[0]
        if command == "run":
            if "--out" not in words:  # the configuration's own, elsewhere
                arguments += ["--out", self.folder / pathlib.Path(words[1]).stem]
            arguments += SHORT
            if not words[1].startswith("configs/quick"):
                arguments += ["-o", "data.batch_size=2", "-o", "eval.max_samples=8"]
                if "model.size=tiny" not in words:
                    arguments += ["-o", "output.save=false"]
        elif command == "bench" and words[1].endswith(".yaml"):
            arguments[1:2] = [self.undemanding(words[1])]
            arguments += BRIEF
            if not any("data.batch_size" in word for word in words):
                arguments += ["-o", "data.batch_size=2"]
        elif words[:2] == ["bench", "infer"]:
            arguments += ["--seconds", "0"]
        elif command == "compare" and "--against" in words:
            arguments[words.index("--budget") + 1] = "1"
            arguments += [*SEARCHLESS, "-o", "train.steps=24", "-o", "data.batch_size=2", "-o", "eval.max_samples=16"]
            if "--out" not in words:
                arguments += ["--out", self.folder / "compare"]
        elif command == "runs":
            arguments += [self.folder]
        elif "--burn-in" in words:
            arguments[words.index("--burn-in") + 1] = "0.02"
            arguments += ["--drift", "100"]
        elif command == "quantize":  # whatever is faster on this machine
            arguments[words.index("--calibrate") + 1] = self.data / "images/val"
            arguments += ["--layers", "all", "--max-drop", "100", "--speed-seconds", "0"]
        return arguments

    def check_options(self, line, words):
        """Of a command that is not run: its script exists, and knows the options."""
        if words[0] == PROGRAM:
            command = words[1:3] if words[1:3] == ["bench", "infer"] else words[1:2]
            usage = run(*command, "--help").stdout
        elif words[0].startswith(("scripts/", "tests/")):
            self.assertTrue(os.access(ROOT / words[0], os.X_OK), line)
            usage = (ROOT / words[0]).read_text()
        else:
            return
        for option in re.findall(r"(?<!\S)--[a-z-]+", " ".join(words)):
            self.assertIn(option, usage, line)

    def follow(self, document):
        for line in lines(document):
            words = words_of(line)
            if not words:
                continue
            with self.subTest(document, line=line):
                if reason_not_to_run(line):
                    self.check_options(line, words)
                    continue
                if any(word.startswith("configs/bert_finetune") for word in words):
                    for path in ("weights", "data/sst2"):
                        if not (ROOT / path).exists():
                            self.skipTest(f"{path} has not been fetched")
                codes = next((codes for begin, codes in VERDICTS.items() if tuple(words[1:len(begin) + 1]) == begin), {0})
                if words[0] == PROGRAM:
                    result = run(*self.shortened(words[1:]), cwd=ROOT)
                else:  # the script says what it does, and does it here
                    self.assertTrue(words[0].startswith("scripts/"), f"{line}: neither run nor in NOT_RUN")
                    arguments = [re.sub("^runs/", f"{self.folder}/", word) for word in words[1:]]
                    result = subprocess.run([ROOT / words[0], *arguments], capture_output=True, text=True, timeout=600, cwd=ROOT)
                self.assertIn(result.returncode, codes, result.stderr)

    def test_the_blocks_of_output_are_what_the_program_prints(self):
        """A fence that begins with a command is its output; a line of three dots matches any lines."""
        seen = 0
        for document in DOCUMENTS:
            for line, expected in re.findall(rf"^```text\n\$ {PROGRAM} ([^\n]*)\n(.*?)^```$", (ROOT / document).read_text(),
                                             flags=re.S | re.M):
                with self.subTest(document, line=line):
                    seen += 1
                    pattern = "".join("(?:.*\n)*?" if part == "..." else re.escape(part) + "\n" for part in expected.splitlines())
                    self.assertRegex(run(*shlex.split(line), cwd=ROOT).stdout, rf"\A{pattern}\Z")
        self.assertGreaterEqual(seen, 1)


def add_test(document):
    name = "test_commands_of_" + re.sub(r"\W+", "_", document.removesuffix(".md")).lower()
    setattr(Documents, name, lambda self: self.follow(document))


for each in DOCUMENTS:
    add_test(each)


class Scripts(ProgramTest):
    def test_there_is_one_program(self):
        """What quickstart.sh and test.sh build is what every later command calls."""
        readme, quickstart, tests = ((ROOT / name).read_text() for name in
                                     ("README.md", "scripts/quickstart.sh", "scripts/test.sh"))
        self.assertEqual({*re.findall(r"build/\w+", readme), *re.findall(r"build/\w+", quickstart)},
                         {"build/release"})
        self.assertIn("export PATH=$PWD/build/release/bin:$PATH", readme)
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


if __name__ == "__main__":
    unittest.main()
