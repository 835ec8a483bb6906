"""ptrain bench --per-device on emulated GPUs: each case on each of them, alone and at once."""
import json
import os

from program import ProgramTest, run


class PerDevice(ProgramTest):
    def test_every_gpu_runs_every_case_alone_and_at_once(self):
        suite = self.folder / "suite.yaml"
        suite.write_text("config: tiny.yaml\nrepeats: 1\nsteady: {required: false}\n"
                         "set: {train.steps: 30, data.batch_size: 2, eval.every_epochs: 0, flags.cudnn_exhaustive_search: false}\n")
        environment = {**os.environ, "EMULATED_GPUS": "2"}
        result = run("bench", suite, "--per-device", "--out", self.folder / "out", "--progress", "none", env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        seen = set()
        for file in (self.folder / "out/runs").glob("*/*/record.json"):
            record = json.loads(file.read_text())
            self.assertEqual(record["status"], "ok", record)
            seen.add((record["settings"]["device"], record["settings"]["at_once"]))
            self.assertEqual(len(json.loads(file.with_name("report.json").read_text())["environment"]["devices"]), 1)
        self.assertEqual(seen, {(f"cuda:{i}", at_once) for i in (0, 1) for at_once in (False, True)})
        self.assertIn("cuda:1", result.stdout)
        self.assertIn("at_once", result.stdout)

    def test_a_suite_that_sets_the_device_is_refused(self):
        result = run("bench", self.config, "--axis", "device=cpu,cuda", "--per-device", "--out", self.folder / "out",
                     env={**os.environ, "EMULATED_GPUS": "2"})
        self.assert_one_line_error(result, 2, "--per-device, which sets device: is an axis of")
