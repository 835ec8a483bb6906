"""A run killed at any moment goes on to the same weights. PTRAIN_KILLS says how many moments (default 4)."""
import os
import random
import re
import subprocess
import time
import unittest

from program import BINARY, ProgramTest

STEPS = 200
PHASES = """\
model: {name: mobilenet_v2, classes: 4}
data: {source: synthetic, image_size: 24, batch_size: 4, synthetic_samples: 64, workers: 1}
train:
  steps: 60
  log_every_steps: 1
  ema_decay: 0.9
  phases:
    - {until: 0.3, image_size: 8, batch_size: 8}
    - {until: 0.6, image_size: 16, batch_size: 6}
    - {until: 1, image_size: 24, batch_size: 4}
flags: {cudnn_exhaustive_search: false}
"""


class Resume(ProgramTest):
    def command(self, output):
        return [BINARY, "run", self.config, "--out", self.folder / output, "--progress", "none", "--resume", "auto",
                "-o", "output.checkpoint_every_steps=3", "-o", f"train.steps={self.steps}", "-o", "eval.every_epochs=0"]

    def setUp(self):
        super().setUp()
        self.steps = STEPS

    def weights(self, output):
        return (self.folder / output / "model.safetensors").read_bytes()

    def logged_steps(self, output):
        log = self.folder / output / "metrics.jsonl"
        return log.read_text().count("\n") if log.exists() else 0

    def kill_at(self, output, step, delay):
        """Kills the run `delay` seconds after it has logged `step`."""
        process = subprocess.Popen(self.command(output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self.logged_steps(output) < step and process.poll() is None:
            time.sleep(0.002)
        time.sleep(delay)
        self.assertIsNone(process.poll(), "the run ended before it could be killed")
        process.kill()
        process.wait()

    def test_kill_minus_nine_then_resume_is_bit_exact(self):
        subprocess.run(self.command("whole"), check=True, capture_output=True)
        moments = random.Random(7)
        for attempt in range(int(os.environ.get("PTRAIN_KILLS", "4"))):
            output = f"killed{attempt}"
            self.kill_at(output, moments.randrange(STEPS - 50), moments.uniform(0, 0.05))
            subprocess.run(self.command(output), check=True, capture_output=True)
            self.assertEqual(self.weights(output), self.weights("whole"), f"attempt {attempt}")

    def test_a_kill_in_any_phase_resumes_bit_for_bit(self):
        self.config, self.steps = self.folder / "phases.yaml", 60
        self.config.write_text(PHASES)
        subprocess.run(self.command("whole"), check=True, capture_output=True)
        for phase, step in enumerate((9, 25, 45)):
            output = f"phase{phase}"
            self.kill_at(output, step, 0)
            subprocess.run(self.command(output), check=True, capture_output=True)
            resumed = int(re.findall(r"\d+", self.report(output)["progress"]["resumed_from"])[-1])
            self.assertTrue((1, 18, 36)[phase] <= resumed < (18, 36, 60)[phase], resumed)
            self.assertEqual(self.weights(output), self.weights("whole"), f"phase {phase + 1} of 3")


if __name__ == "__main__":
    unittest.main()
