"""A run killed at any moment goes on to the same weights. PTRAIN_KILLS says how many moments (default 4)."""
import os
import random
import subprocess
import time
import unittest

from program import BINARY, ProgramTest


class Resume(ProgramTest):
    def command(self, output):
        return [BINARY, "run", self.config, "--output-dir", self.folder / output, "--progress", "none", "--resume", "auto",
                "-o", "output.checkpoint_every_steps=3", "-o", "train.steps=300", "-o", "eval.every_epochs=0"]

    def weights(self, output):
        return (self.folder / output / "model.safetensors").read_bytes()

    def test_kill_minus_nine_then_resume_is_bit_exact(self):
        started = time.monotonic()
        subprocess.run(self.command("whole"), check=True, capture_output=True)
        duration = time.monotonic() - started
        moments = random.Random(7)
        kills = int(os.environ.get("PTRAIN_KILLS", "4"))
        landed = 0
        for attempt in range(kills):
            output = f"killed{attempt}"
            process = subprocess.Popen(self.command(output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(moments.uniform(0.05, 0.95) * duration)
            landed += process.poll() is None
            process.kill()
            process.wait()
            subprocess.run(self.command(output), check=True, capture_output=True)
            self.assertEqual(self.weights(output), self.weights("whole"), f"attempt {attempt}")
        self.assertGreater(landed, kills // 2, "most kills came after the run's end: nothing was tested")
        print(f"{landed} of {kills} kills hit a run in progress; all resumed to identical weights")


if __name__ == "__main__":
    unittest.main()
