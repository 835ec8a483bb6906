"""A run killed at any moment goes on to the same weights. PTRAIN_KILLS says how many moments (default 4)."""
import os
import random
import subprocess
import time
import unittest

from program import BINARY, ProgramTest

STEPS = 200


class Resume(ProgramTest):
    def command(self, output):
        return [BINARY, "run", self.config, "--out", self.folder / output, "--progress", "none", "--resume", "auto",
                "-o", "output.checkpoint_every_steps=3", "-o", f"train.steps={STEPS}", "-o", "eval.every_epochs=0"]

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


if __name__ == "__main__":
    unittest.main()
