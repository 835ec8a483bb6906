"""A run killed at any moment resumes to the same weights. PTRAIN_KILLS says how many moments (default 4). Checkpoints are
safetensors files that any program reads; those of the first format are resumed from."""
import json
import os
import pathlib
import random
import re
import shutil
import struct
import signal
import subprocess
import time
import unittest
import zlib

from program import BINARY, ROOT, ProgramTest

STEPS = 200
# A run of six steps by the last program that wrote ckpt-<step>.ptrain, its checkpoint after two and its losses.
FIRST_FORMAT = pathlib.Path(__file__).parent / "checkpoint_v1"
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


class SlurmJob(ProgramTest):
    def test_a_job_that_is_started_again_goes_on(self):
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "ptrain").symlink_to(BINARY)
        (tools / "srun").write_text('#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec "$@"\n')
        (tools / "srun").chmod(0o755)
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "job"}

        def command(steps, *more):
            return ["bash", ROOT / "scripts/launch/ptrain.sbatch", self.config, "-o", f"train.steps={steps}", "-o",
                    "output.checkpoint_every_steps=5", "-o", "train.schedule.name=constant", "-o", "eval.every_epochs=0", *more]

        def start(steps, *more):
            return subprocess.run(command(steps, *more), cwd=self.folder, env=environment, capture_output=True, text=True)

        def last():
            return max(int(path.stem.removeprefix("ckpt-")) for path in (self.folder / "runs/job-7").glob("ckpt-*.safetensors"))

        self.assertEqual(start(6, "-o", "output.save=false", "-o", "output.checkpoint_every_steps=0").returncode, 0)
        again = start(6)  # the first left no checkpoint
        self.assertEqual(again.returncode, 0, again.stderr)
        again = start(12)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("ckpt-6", self.report("runs/job-7")["progress"]["resumed_from"])
        # Signalled, the script ends when its run has ended: the same job can start at once.
        job = subprocess.Popen(command(1000000), cwd=self.folder, env=environment, stderr=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
        self.addCleanup(job.kill)
        while last() <= 12 and job.poll() is None:
            time.sleep(0.01)
        job.send_signal(signal.SIGUSR1)
        job.wait(60)
        again = start(last() + 5)
        self.assertEqual(again.returncode, 0, again.stderr)


class Format(ProgramTest):
    def test_a_checkpoint_is_a_safetensors_file_with_metadata_and_checksums(self):
        self.assertEqual(self.train("out", "-o", "train.steps=4", "-o", "eval.every_epochs=0").returncode, 0)
        content = (self.folder / "out/ckpt-4.safetensors").read_bytes()
        length, = struct.unpack("<Q", content[:8])
        header, data = json.loads(content[8:8 + length]), content[8 + length:]
        metadata = header.pop("__metadata__")
        self.assertTrue(all(isinstance(value, str) for value in metadata.values()), metadata)
        self.assertEqual((metadata["schema"], metadata["step"]), ("ptrain.checkpoint/2", "4"))
        self.assertEqual(json.loads(metadata["state"])["samples_per_step"], 8)
        widths, found, end = {"F32": 4, "I32": 4, "I64": 8, "U8": 1, "BF16": 2}, [], 0
        for name, entry in header.items():  # in the file's order
            begin, after = entry["data_offsets"]
            elements = widths[entry["dtype"]]
            for extent in entry["shape"]:
                elements *= extent
            self.assertEqual((begin, after - begin), (end, elements), name)
            found.append(zlib.crc32(data[begin:after]))
            end = after
        self.assertEqual(end, len(data))
        self.assertIn("flat.master", header)
        begin, after = header["ptrain.checksums"]["data_offsets"]
        expected = [*found[:-1], zlib.crc32(content[:8 + length])]
        expected.append(zlib.crc32(struct.pack(f"<{len(expected)}I", *expected)))
        self.assertEqual(list(struct.unpack(f"<{len(expected)}I", data[begin:after])), expected)

    def test_a_checkpoint_of_the_first_format_is_gone_on_from(self):
        out = self.folder / "out"
        out.mkdir()
        shutil.copy(FIRST_FORMAT / "ckpt-2.ptrain", out)
        result = self.train("out", "-o", f"model.weights={FIRST_FORMAT / 'start.safetensors'}", "--resume", "auto",
                            config=FIRST_FORMAT / "run.yaml")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.report("out")["progress"]["resumed_from"], str(out / "ckpt-2.ptrain"))
        lines = map(json.loads, (FIRST_FORMAT / "metrics.jsonl").read_text().splitlines())
        for loss, expected in zip(self.losses("out"), [line["loss"] for line in lines][2:], strict=True):
            self.assertAlmostEqual(loss, expected, delta=1e-4)
        self.assertEqual(sorted(path.name for path in out.glob("ckpt-*")),
                         ["ckpt-2.ptrain", "ckpt-4.safetensors", "ckpt-6.safetensors"])
        again = self.train("out", "-o", f"model.weights={FIRST_FORMAT / 'start.safetensors'}", "--resume", "auto", "-o",
                           "train.steps=8", config=FIRST_FORMAT / "run.yaml")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(sorted(path.name for path in out.glob("ckpt-*")),
                         [f"ckpt-{step}.safetensors" for step in (4, 6, 8)])


if __name__ == "__main__":
    unittest.main()
