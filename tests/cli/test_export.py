"""What is emitted fits its schema, and the parsers of other suites read the dialects.

PTRAIN_MLPERF_LOGGING names a checkout of mlcommons/logging where the package mlperf_logging is not installed;
PTRAIN_TIPC_ANALYSIS names PaddlePaddle/benchmark's scripts/analysis.py. Without them those two tests say that they skip.
"""
import csv
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest

from frozen import FROZEN
from program import ROOT, ProgramTest, run

sys.path.insert(0, os.environ.get("PTRAIN_MLPERF_LOGGING", ""))
try:
    from mlperf_logging.compliance_checker.mlp_parser import ruleset_400
except ImportError:
    ruleset_400 = None
try:
    import jsonschema
except ImportError:
    jsonschema = None


class Export(ProgramTest):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.train("run").returncode, 0)
        self.source = self.folder / "run"

    def export(self, dialect):
        result = run("export-report", self.source, "--format", dialect)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_tipc_record_and_log_lines(self):
        *lines, record = self.export("tipc").splitlines()
        record = json.loads(record)
        report = self.report("run")
        self.assertAlmostEqual(record["ips"], report["throughput"]["per_device"], delta=0.001)
        self.assertEqual((record["batch_size"], record["fp_item"], record["device_num"]), (8, "fp32", "N1C1"))
        self.assertEqual(len(lines), 60)
        for line in lines:
            words = line.split()
            for keyword in ("ips:", "loss:", "batch_cost:", "reader_cost:"):
                float(words[words.index(keyword) + 1])

    def test_tipc_own_analysis_reads_the_log(self):
        script = os.environ.get("PTRAIN_TIPC_ANALYSIS")
        if not script:
            self.skipTest("PTRAIN_TIPC_ANALYSIS names no analysis.py of PaddlePaddle/benchmark")
        log = self.folder / "log.txt"
        log.write_text(self.export("tipc"))
        result = subprocess.run(
            [sys.executable, script, "--filename", log, "--keyword", "ips:", "--base_batch_size", "8", "--skip_steps", "4",
             "--ips_unit", "samples/s", "--model_name", "bert", "--mission_name", "x", "--gpu_num", "1"],
            capture_output=True, text=True, check=True, env={**os.environ, "job_fail_flag": "0"})
        analysed = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual(analysed["JOB_FAIL_FLAG"], 0)
        self.assertGreater(analysed["FINAL_RESULT"], 0)

    def test_dllogger_lines(self):
        lines = [json.loads(line.removeprefix("DLLL ")) for line in self.export("dllogger").splitlines()]
        self.assertEqual(lines[0]["step"], "PARAMETER")
        self.assertEqual(lines[-1]["step"], [])
        self.assertIn("val.top1", lines[-1]["data"])
        self.assertEqual(sum("train.loss" in line["data"] for line in lines), 61)
        elapsed = [float(line["elapsedtime"]) for line in lines]
        self.assertEqual(elapsed, sorted(elapsed))

    def test_mllog_lines(self):
        lines = [json.loads(line.removeprefix(":::MLLOG ")) for line in self.export("mllog").splitlines()]
        keys = [line["key"] for line in lines]
        for key in ("run_start", "epoch_start", "epoch_stop", "eval_accuracy", "global_batch_size", "opt_name", "seed"):
            self.assertIn(key, keys)
        self.assertEqual(lines[-1]["metadata"]["status"], "success")
        times = [line["time_ms"] for line in lines]
        self.assertEqual(times, sorted(times))
        values = {line["key"]: line["value"] for line in lines}
        self.assertEqual(values["opt_learning_rate_warmup_steps"], 6, "warmup_ratio 0.1 of 60 steps")
        self.assertEqual(values["train_samples"], 320)
        epochs = [line["metadata"]["epoch_num"] for line in lines if line["key"] == "epoch_start"]
        self.assertEqual(epochs, [1, 2], "60 steps of 40 an epoch")

    def test_mllog_has_every_epoch_of_a_run_that_logs_rarely(self):
        self.assertEqual(self.train("rare", "-o", "train.steps=100", "-o", "train.log_every_steps=30").returncode, 0)
        self.source = self.folder / "rare"
        lines = [json.loads(line.removeprefix(":::MLLOG ")) for line in self.export("mllog").splitlines()]
        numbered = [(line["key"], line["metadata"]["epoch_num"]) for line in lines if "epoch_num" in line["metadata"]]
        epochs = [(key, epoch) for key, epoch in numbered if key in ("epoch_start", "epoch_stop", "eval_start")]
        self.assertEqual(epochs, [("epoch_start", 1), ("epoch_stop", 1), ("eval_start", 1), ("epoch_start", 2),
                                  ("epoch_stop", 2), ("eval_start", 2), ("epoch_start", 3), ("epoch_stop", 3),
                                  ("eval_start", 3)])

    def test_mlcommons_own_parser_reads_the_log(self):
        if ruleset_400 is None:
            self.skipTest("the Python package mlperf_logging is not installed and PTRAIN_MLPERF_LOGGING names no checkout")
        log = self.folder / "result_0.txt"
        log.write_text(self.export("mllog"))
        lines, errors = ruleset_400.parse_file(str(log))
        self.assertEqual(errors, [])
        self.assertEqual(len(lines), len(log.read_text().splitlines()))
        accuracy = [line.value["value"] for line in lines if line.key == "eval_accuracy"]
        self.assertEqual(accuracy[-1], self.report("run")["evaluation"]["metrics"]["top1"]["value"])

    def test_timm_row(self):
        (row,) = csv.DictReader(io.StringIO(self.export("timm")))
        self.assertAlmostEqual(float(row["train_samples_per_sec"]), self.report("run")["throughput"]["value"], delta=0.01)
        self.assertEqual(row["train_batch_size"], "8")

    def test_prometheus_text(self):
        for line in self.export("prometheus").splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) ptrain_\w+ .+|ptrain_\w+\{(\w+="[^"]*",?)+\} [-+0-9.e]+)$')

    def test_prometheus_quantiles_are_a_summarys(self):
        text = self.export("prometheus")
        self.assertIn("# TYPE ptrain_step_seconds summary\n", text)
        for suffix in ("_sum{", "_count{"):
            self.assertIn("ptrain_step_seconds" + suffix, text)
        self.assertEqual({line.split("{")[0] for line in text.splitlines() if "quantile=" in line}, {"ptrain_step_seconds"})

    def test_a_run_that_failed_is_exported_too(self):
        self.train("failed", "-o", "model.weights=missing.safetensors")
        for dialect in ("tipc", "dllogger", "mllog", "timm", "prometheus"):
            result = run("export-report", self.folder / "failed", "--format", dialect)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("aborted", run("export-report", self.folder / "failed", "--format", "mllog").stdout)

    def test_unknown_dialects_are_refused(self):
        self.assert_one_line_error(run("export-report", self.source, "--format", "tipp"), 2, "did you mean tipc?")

    def read_events(self, path):
        """The records of an event file; TensorBoard's have checksums before and after them."""
        frame = 0 if path.name.startswith(("visualdl", "vdl")) else 4
        data, records, at = path.read_bytes(), [], 0
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            records.append(data[at + 8 + frame : at + 8 + frame + length])
            at += 8 + length + 2 * frame
        return records

    def events(self, dialect):
        path = self.folder / dialect
        self.assertEqual(run("export-report", self.source, "--format", dialect, "--out", path).returncode, 0)
        return self.read_events(path)

    def test_tensorboard_events_hold_the_metrics(self):
        events = self.events("tensorboard")
        self.assertEqual(len(events), 63)  # the version, 60 steps, two evaluations
        self.assertIn(b"train/loss", events[1])
        loss = struct.unpack("<f", events[1][events[1].index(b"train/loss") + 11 :][:4])[0]
        self.assertAlmostEqual(loss, self.losses("run")[0], places=5)
        self.assertIn(b"eval/top1", events[-1])
        self.assertIn(b"eval/macro_f1", events[-1])
        self.assertIn(b"eval/f1", events[-1], "of two classes")
        times = [struct.unpack("<d", event[1:9])[0] for event in events]
        metrics = self.source / "metrics.jsonl"
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        self.assertEqual(times[1:], [line["time"] for line in lines])
        for line in lines:  # as of runs before lines had a time
            del line["time"]
        metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
        times = {struct.unpack("<d", event[1:9])[0] for event in self.events("tensorboard")}
        self.assertEqual(len(times), 1)

    def test_visualdl_events_hold_the_metrics(self):
        events = self.events("visualdl")
        self.assertIn(b"meta_data_tag", events[0])
        losses = [struct.unpack("<f", event[-4:])[0] for event in events if b"train/loss" in event]
        for loss, expected in zip(losses, self.losses("run"), strict=True):
            self.assertAlmostEqual(loss, expected, places=5)
        self.assertEqual(sum(b"eval/top1" in event for event in events), 2)

    def test_a_run_writes_events_while_it_trains(self):
        keys = ["-o", "output.events=[tensorboard,visualdl]", "-o", "eval.every_epochs=0"]
        names = {"tensorboard": "events.out.tfevents.0.ptrain", "visualdl": "vdlrecords.0.log"}
        self.source = self.folder / "whole"
        self.assertEqual(self.train("whole", *keys, "-o", "train.steps=12").returncode, 0)
        for steps, more in ((8, ()), (12, ("--resume", "auto"))):
            self.assertEqual(self.train("parts", *keys, *more, "-o", f"train.steps={steps}", "-o",
                                        "train.schedule.name=constant").returncode, 0)
        for dialect, name in names.items():
            for folder in ("whole", "parts"):
                self.source = self.folder / folder
                # The first record has the time when the file was made.
                self.assertEqual(self.events(dialect)[1:], self.read_events(self.source / name)[1:], name)
        refused = self.train("other", "-o", "output.events=[tensorbord]")
        self.assert_one_line_error(refused, 2, "output.events", "tensorboard|visualdl", "tensorbord")


class Schemas(ProgramTest):
    def schema(self, name):
        return json.loads(run("schema", name).stdout)

    def test_everything_emitted_fits_its_schema(self):
        if jsonschema is None:
            self.skipTest("the Python package jsonschema is not installed")
        emitted = [("bench", json.loads((FROZEN / "suite.json").read_text())),
                   ("effects", json.loads(run("effects", FROZEN, "--json").stdout)),
                   ("comparison", json.loads(run("compare", FROZEN, FROZEN, "--json").stdout)),
                   ("table", json.loads(run("table", FROZEN, "--format", "json").stdout))]
        emitted += [("bench-run-1", json.loads(path.read_text())) for path in FROZEN.glob("runs/*/*/record.json")]
        for name, document in emitted:
            jsonschema.validate(document, self.schema(name))
        self.assertGreater(len(emitted), 50)

    def test_every_schema_is_listed(self):
        names = re.findall(r"^  ([a-z-]+) ", run("schema", "--help").stdout, re.M)
        self.assertLessEqual({"config", "report", "metrics", "bench", "bench-run", "effects", "comparison", "table"}, set(names))


if __name__ == "__main__":
    unittest.main()
