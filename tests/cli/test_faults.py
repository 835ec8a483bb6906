"""Every call of a short run that the system can refuse is refused once: one line, exit code 1, and nothing lost.

The n-th call of each function fails (tests/fakes/fail_nth_call.cpp) in a run that resumes from a checkpoint. Whatever
fails, files under their final names are whole: those of before, or those of a run in which nothing failed.
FAULTS=all tries every n; else a part of the calls that only read, and of a network of images.
"""
import errno
import filecmp
import json
import os
import re
import shutil
import subprocess
import unittest

from program import BINARY, TINY, ProgramTest

SHIM = os.environ.get("PTRAIN_FAULT_SHIM", "")
EVERY = os.environ.get("FAULTS") == "all"
IMAGES = """\
model: {name: mobilenet_v2, classes: 2, stem: small}
data: {source: synthetic, image_size: 8, batch_size: 8, synthetic_samples: 80, workers: 1}
train: {steps: 60, log_every_steps: 1, optimizer: {name: sgd, lr: 1.0e-3}}
eval: {every_epochs: 1}
output: {dir: runs/tiny}
"""
# What is refused, with what; and of calls that only read, one of how many is tried.
CALLS = [("create", errno.ENOSPC, 1), ("write", errno.ENOSPC, 1), ("fsync", errno.EIO, 1), ("close", errno.EIO, 1),
         ("rename", errno.EACCES, 1), ("mkdir", errno.EACCES, 1), ("pthread_create", errno.EAGAIN, 1),
         ("fork", errno.EAGAIN, 1), ("open", errno.EMFILE, 3), ("read", errno.EIO, 9), ("mmap", errno.ENOMEM, 9)]


@unittest.skipUnless(SHIM, "needs PTRAIN_FAULT_SHIM, the library to preload")
class Faults(ProgramTest):
    def steps_to(self, step, output, **environment):
        variables = {**os.environ, "PTRAIN_CACHE_DIR": str(self.folder / "cache"), "OMP_WAIT_POLICY": "passive"}
        return subprocess.run(
            [BINARY, "run", self.config, "--out", self.folder / output, "--progress", "none", "--resume", "auto",
             "-o", f"train.steps={step}", "-o", "train.schedule.name=constant", "-o",
             "flags.cudnn_exhaustive_search=false", "-o", "output.checkpoint_every_steps=2",
             "-o", "threads=2"], capture_output=True, text=True, timeout=300, env={**variables, **environment})

    def files(self, output):
        return sorted(path for path in (self.folder / output).rglob("*") if path.is_file())

    def check(self, call, result, output):
        """After a run in which something was refused."""
        tried = f"rc {result.returncode}: {result.stderr}"
        self.assertIn(result.returncode, (0, 1), tried)
        # With fewer threads, or where oneDNN cannot make code and takes another kernel, sums are taken in another order.
        same = call not in ("pthread_create", "mmap")
        lines = re.findall(r"(?m)^(?:error: |libgomp: ).*$", result.stderr)
        self.assertEqual(len(lines), result.returncode, tried)
        for path in self.files(output):
            self.assertNotIn(".tmp", path.name, tried)
            if path.suffix == ".safetensors" and (same or path.name == "ckpt-2.safetensors"):
                whole = [folder / path.name for folder in (self.folder / "before", self.folder / "clean")]
                self.assertTrue(any(other.exists() and filecmp.cmp(path, other, shallow=False) for other in whole),
                                f"{path.name} is damaged; {tried}")
            if path.suffix == ".json":
                json.loads(path.read_text())
        self.assertTrue((self.folder / output / "ckpt-2.safetensors").exists(), tried)
        if result.returncode == 0:
            self.assertTrue((self.folder / output / "ckpt-4.safetensors").exists(), tried)
            self.assertEqual(self.report(output)["status"], "ok")

    def try_all(self, config, share=1):
        """Of the calls that CALLS names, one of `share`."""
        self.config.write_text(config)
        first = self.steps_to(2, "before")
        self.assertEqual(first.returncode, 0, first.stderr)
        tried = survived = 0
        for call, error, stride in CALLS:
            shutil.rmtree(self.folder / "clean", ignore_errors=True)
            shutil.copytree(self.folder / "before", self.folder / "clean")
            clean = self.steps_to(4, "clean", LD_PRELOAD=SHIM, FAULT_CALL=call, FAULT_COUNT=str(self.folder / "count"))
            self.assertEqual(clean.returncode, 0, clean.stderr)
            for number in range(1, int((self.folder / "count").read_text()) + 1, 1 if EVERY else stride * share):
                with self.subTest(call, number=number):
                    shutil.copytree(self.folder / "before", self.folder / "out")
                    result = self.steps_to(4, "out", LD_PRELOAD=SHIM, FAULT_CALL=call, FAULT_NUMBER=str(number),
                                           FAULT_ERRNO=str(error))
                    self.check(call, result, "out")
                    survived += result.returncode == 0
                    tried += 1
                shutil.rmtree(self.folder / "out")
        print(f"{tried} faults: {tried - survived} ended in one line, {survived} runs went on", flush=True)

    def test_bert(self):
        self.try_all(TINY)

    def test_images(self):
        self.try_all(IMAGES, share=7)  # it makes that many more calls, and takes longer


if __name__ == "__main__":
    unittest.main()
