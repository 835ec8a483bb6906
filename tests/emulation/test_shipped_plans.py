"""Plans that ptrain estimate --compile-for makes are found in share/ptrain/plans by the program that they are shipped with."""
import os
import shutil
import stat
import subprocess

from program import BINARY, ProgramTest, run

RESNET = """\
model: {name: resnet18, classes: 10}
data: {source: synthetic, augment: none, image_size: 32, batch_size: 2, synthetic_samples: 8}
train: {steps: 2, optimizer: {name: momentum}}
eval: {every_epochs: 0}
"""
OPTIONS = ("-o", "amp.level=O1", "-o", "amp.dtype=fp16", "-o", "flags.cudnn_exhaustive_search=false")


class ShippedPlans(ProgramTest):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "bin/ptrain"
        self.program.parent.mkdir()
        shutil.copy(BINARY, self.program)
        self.plans = self.folder / "share/ptrain/plans"
        self.description = self.folder / "device.json"
        described = run("doctor", "--describe-gpu")
        self.assertEqual(described.returncode, 0, described.stderr)
        self.description.write_text(described.stdout)
        self.config.write_text(RESNET)

    def compile(self):
        result = run("plan", self.config, "--compile-for", self.description, "--plans", self.plans, *OPTIONS)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def train_without_compiling(self, *arguments, gpu="an emulated GPU"):
        """With a cuDNN that compiles nothing, and an empty cache."""
        environment = {**os.environ, "EMULATED_FAULT": "compilation", "EMULATED_GPU_NAME": gpu,
                       "PTRAIN_CACHE_DIR": str(self.folder / "cache")}
        return subprocess.run([self.program, "run", self.config, "--device", "cuda", "--progress", "none", "--fresh",
                               "--out", self.folder / "run", *OPTIONS, *arguments],
                              capture_output=True, text=True, timeout=300, env=environment)

    def test_a_run_compiles_nothing_that_was_shipped(self):
        self.assertEqual(self.train_without_compiling("-o", "fusion=off").returncode, 1)
        said = self.compile()
        self.assertIn("plans for an emulated GPU", said)
        self.assertEqual(len(list(self.plans.iterdir())), 1)
        for fusion in ("full", "always"):
            with self.subTest(fusion):
                result = self.train_without_compiling("-o", f"fusion={fusion}", gpu="another name for it")
                self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(list((self.folder / "cache").glob("compiled-*")), [])

    def test_others_cannot_plant_plans(self):
        self.compile()
        folder = next(self.plans.iterdir())
        folder.chmod(folder.stat().st_mode | stat.S_IWOTH)
        self.assertEqual(self.train_without_compiling().returncode, 1)

    def test_a_description_that_is_none_is_refused(self):
        self.description.write_text("{}")
        result = run("plan", self.config, "--compile-for", self.description, "--plans", self.plans)
        self.assert_one_line_error(result, 1, "doctor --describe-gpu")
        self.assertFalse(self.plans.exists())
