"""One of several emulated GPUs, by its number; ptrain bench --per-device: each case on each of them, alone and at once."""
import json
import os
import unittest.mock

from program import ProgramTest, run
from test_serve import Server


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

    def test_a_run_is_on_the_gpu_that_it_names(self):
        environment = {**os.environ, "EMULATED_GPUS": "2"}
        short = ["-o", "train.steps=2", "-o", "flags.cudnn_exhaustive_search=false", "-o", "output.save=false"]
        names = {}
        for device in ("cuda:0", "CUDA:1"):
            out = self.folder / device
            result = run("run", self.config, "--device", device, *short, "--out", out, env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads((out / "report.json").read_text())
            self.assertEqual(report["config"]["device"], device.lower())
            names[device] = [gpu["name"] for gpu in report["environment"]["devices"]]
        self.assertEqual(names, {"cuda:0": ["an emulated GPU"], "CUDA:1": ["an emulated GPU 1"]})

    def test_a_server_computes_on_the_gpu_that_it_names(self):
        """Its batches run on a thread of their own, which CUDA begins with the first GPU."""
        with unittest.mock.patch.dict(os.environ, {"EMULATED_GPUS": "2"}):
            result = self.train("model", "--device", "cuda:1", "-o", "train.steps=1", "-o", "flags.cudnn_exhaustive_search=false")
            self.assertEqual(result.returncode, 0, result.stderr)
            server = Server(self.folder / "model", "--device", "cuda:1")
            self.addCleanup(server.kill)
            words = {"name": "input_ids", "datatype": "INT32", "shape": [1, 8], "data": [1] * 8}
            status, answer = server.infer([words, {**words, "name": "attention_mask"}])
            self.assertEqual(status, 200, answer)
            self.assertEqual(server.end()[0], 0)

    def test_a_gpu_that_is_not_there_is_refused(self):
        environment = {**os.environ, "EMULATED_GPUS": "2"}
        result = run("run", self.config, "--device", "cuda:2", "--out", self.folder / "out", env=environment)
        self.assert_one_line_error(result, 1, "device: cuda:2: 2 GPUs are visible here, cuda:0 to cuda:1")
        result = run("run", self.config, "--device", "cuda:1", "-o", "dist.ranks=2", "--out", self.folder / "out",
                     env=environment)
        self.assert_one_line_error(result, 2, "device: cuda:1 is one GPU, but dist.ranks is 2")

    def test_a_suite_that_sets_the_device_is_refused(self):
        result = run("bench", self.config, "--axis", "device=cpu,cuda", "--per-device", "--out", self.folder / "out",
                     env={**os.environ, "EMULATED_GPUS": "2"})
        self.assert_one_line_error(result, 2, "--per-device, which sets device: is an axis of")
