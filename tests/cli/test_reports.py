"""Reports say what happened, reproducibly."""
import json
import os
import pathlib
import re
import subprocess
import time
import unittest

from program import BINARY, ProgramTest, busy_cores, run

try:
    import jsonschema
except ImportError:
    jsonschema = None

TYPES = {"object": dict, "array": list, "number": (int, float), "integer": int, "null": type(None), "string": str}


def problems(value, schema, path=""):
    """Where `value` does not fit, by the part of JSON Schema that ptrain's own have; jsonschema may not be installed."""
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(value, TYPES[name]) for name in types):
        return [f"{path}: not {types}"]
    if isinstance(value, (int, float)) and value < schema.get("minimum", value):
        return [f"{path}: below {schema['minimum']}"]
    found = []
    if isinstance(value, list):
        found = [problem for item in value for problem in problems(item, schema.get("items", {}), path)]
    if isinstance(value, dict):
        found = [f"{path}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            found += [f"{path}: unknown {name}"] if inner is False else problems(item, inner, f"{path}/{name}")
    return found


class Reports(ProgramTest):
    def test_a_run_reports_speed_memory_and_accuracy(self):
        self.assertEqual(self.train("out").returncode, 0)
        report = self.report("out")
        self.assertEqual((report["schema"], report["status"]), ("ptrain.report/2", "ok"))
        throughput = report["throughput"]
        self.assertAlmostEqual(throughput["value"], throughput["samples"] / throughput["seconds"], delta=1e-6 * throughput["value"])
        self.assertGreater(report["evaluation"]["metrics"]["top1"]["value"], 0.6)
        self.assertEqual([e["step"] for e in report["evaluations"]], [40, 60])  # after the epoch, and at the end
        self.assertEqual(report["evaluations"][-1]["evaluation"], report["evaluation"])
        self.assertLess(report["loss"]["last"], report["loss"]["first"])
        persistent = report["flags"]["cudnn_batchnorm_spatial_persistent"]
        self.assertEqual((persistent["requested"], persistent["effective"]), (True, False))
        self.assertTrue(persistent["reason"])

    def test_every_line_of_the_metrics_fits_one_of_the_published_schemas(self):
        self.assertEqual(self.train("out", "-o", "train.steps=6", "-o", "eval.every_epochs=1", "-o", "data.synthetic_samples=24").returncode, 0)
        schema = json.loads(run("schema", "metrics").stdout)
        lines = [json.loads(line) for line in (self.folder / "out/metrics.jsonl").read_text().splitlines()]
        kinds = [[problems(line, kind) for kind in schema["anyOf"]] for line in lines]
        self.assertEqual([sum(not found for found in line) for line in kinds], [1] * 8, kinds)
        self.assertEqual(sum("eval" in line for line in lines), 2)
        spoilt = {**lines[0], "loss": "low"}
        self.assertTrue(all(problems(spoilt, kind) for kind in schema["anyOf"]))

    def test_the_report_validates_against_its_published_schema(self):
        if jsonschema is None:
            self.skipTest("the Python package jsonschema is not installed")
        self.train("out", "-o", "train.steps=3")
        jsonschema.validate(self.report("out"), json.loads(run("schema", "report").stdout))

    def test_packed_text_trains_the_same_in_fewer_tokens(self):
        for output, padding in (("padded", "max_length"), ("packed", "none")):
            result = self.train(output, "-o", f"data.padding={padding}", "-o", "model.dropout=0", "-o", "train.steps=12")
            self.assertEqual(result.returncode, 0, result.stderr)
        for padded, packed in zip(self.losses("padded"), self.losses("packed"), strict=True):
            self.assertAlmostEqual(packed, padded, delta=1e-5 * padded)
        padded, packed = (self.report(output) for output in ("padded", "packed"))
        self.assertEqual(packed["evaluation"]["metrics"]["top1"]["value"], padded["evaluation"]["metrics"]["top1"]["value"])
        self.assertEqual(packed["config"]["data"]["padding"], "none")
        tokens = {name: report["throughput"]["tokens"] for name, report in (("padded", padded), ("packed", packed))}
        self.assertEqual(tokens["packed"]["valid"], tokens["padded"]["valid"])
        self.assertLess(tokens["packed"]["computed"], tokens["padded"]["computed"])
        self.assertLess(packed["model"]["flops_per_sample"], padded["model"]["flops_per_sample"])

    def test_estimate_reads_the_padding(self):
        estimates = [json.loads(run("estimate", self.config, "--json", "-o", f"data.padding={padding}").stdout)
                 for padding in ("max_length", "none")]
        self.assertEqual(*(estimate["parameters"] for estimate in estimates))
        self.assertLess(estimates[1]["flops_per_sample"], estimates[0]["flops_per_sample"])

    def test_the_same_seed_gives_the_same_losses_and_weights(self):
        for output, seed in (("a", 1), ("b", 1), ("c", 2)):
            self.assertEqual(self.train(output, "--seed", seed, "--amp", "O1").returncode, 0)
        self.assertEqual(self.losses("a"), self.losses("b"))
        self.assertNotEqual(self.losses("a"), self.losses("c"))
        weights = [(self.folder / name / "model.safetensors").read_bytes() for name in ("a", "b")]
        self.assertEqual(*weights)

    def test_every_amp_level_learns(self):
        for level in ("O1", "O2"):
            for dtype in ("bf16", "fp16"):
                with self.subTest(f"{level} {dtype}"):
                    self.assertEqual(self.train(level + dtype, "--amp", level, "-o", f"amp.dtype={dtype}").returncode, 0)
                    report = self.report(level + dtype)
                    self.assertGreater(report["evaluation"]["metrics"]["top1"]["value"], 0.6)
                    self.assertEqual(report["amp"]["scaler"]["enabled"], dtype == "fp16")

    def test_bf16_learns_where_no_instruction_multiplies_it(self):
        for level in ("O1", "O2"):
            result = self.train(level, "--amp", level, "-o", "amp.dtype=bf16", env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertGreater(self.report(level)["evaluation"]["metrics"]["top1"]["value"], 0.6)

    def test_evaluating_the_weights_gives_the_runs_accuracy(self):
        self.train("out")
        weights = self.folder / "out/model.safetensors"
        result = run("eval", self.config, "-o", f"model.weights={weights}", "--out", self.folder / "eval",
                     "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.report("eval")["evaluation"], self.report("out")["evaluation"])

    def test_a_name_with_a_line_end_stays_on_its_line(self):
        self.assertEqual(self.train("runs/a\nb", "-o", "train.steps=1").returncode, 0)
        for command in ("runs", "table"):
            listed = run(command, self.folder / "runs").stdout
            rows = [line for line in listed.splitlines() if not line.startswith("-: ")]  # reasons follow
            self.assertEqual(len(rows), 2, listed)
            self.assertNotIn("a\nb", listed)
            self.assertIn('a\\nb"', listed)

    def test_past_runs_are_listed_and_shown(self):
        for name, steps in (("a/first", 8), ("second", 4)):
            self.assertEqual(self.train(name, "-o", f"train.steps={steps}", "-o", "output.save=false").returncode, 0)
        (self.folder / "broken").mkdir()
        (self.folder / "broken/report.json").write_text("{")
        listed = run("runs", self.folder)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        for part in (str(self.folder / "a/first"), "bert, synthetic", "O0 (fp32)", "broken/report.json"):
            self.assertIn(part, listed.stdout)
        overview = json.loads(run("runs", self.folder, "--json").stdout)["runs"]
        self.assertEqual({pathlib.Path(one["folder"]).name: one["steps"] for one in overview}, {"first": 8, "second": 4})
        self.assertEqual([one["started"] for one in overview], sorted((one["started"] for one in overview), reverse=True))
        shown = run("show", self.folder / "second")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        for part in ("4 of 4 steps", "train.steps: 4", "model.size: tiny", "evaluations", "report: "):
            self.assertIn(part, shown.stdout)
        self.assertNotIn("train.epochs", shown.stdout)
        ended = self.train("long", "-o", "train.steps=40", "-o", "train.log_every_steps=7", "-o", "output.save=false")
        speeds = [line for text in (ended, run("show", self.folder / "long"))
                  for line in text.stdout.splitlines() if line.startswith("speed")]
        self.assertRegex(speeds[0], r"±\d+\.\d %")
        self.assertEqual(speeds[0], speeds[1], "one interval, at the end of the run and later")
        self.assert_one_line_error(run("runs", self.folder / "nowhere"), 1, "no such folder")
        self.assertEqual(run("runs", self.folder / "a").stdout.count("ok"), 1)

    def test_runs_that_go_on_and_runs_that_were_killed_are_listed(self):
        folder = self.folder / "long"
        process = subprocess.Popen([BINARY, "run", self.config, "--out", folder, "-o", "train.steps=10000000", "-q"])
        self.addCleanup(process.kill)
        while not (folder / "metrics.jsonl").exists() or not (folder / "metrics.jsonl").read_text().count("\n"):
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        row = json.loads(run("runs", self.folder, "--json").stdout)["runs"][0]
        self.assertEqual(row["status"], "running")
        self.assertGreaterEqual(row["steps"], 1)
        self.assertIsNone(process.poll())  # being looked at disturbs no run
        process.kill()
        process.wait()
        self.assertRegex(run("runs", self.folder).stdout, rf"{re.escape(str(folder))} +killed ")
        self.assert_one_line_error(run("show", folder), 1, "it was killed after step", "no report")

    def test_a_report_is_shown_as_json_and_by_its_layers(self):
        self.train("out", "-o", "train.steps=4", "-o", "output.save=false", "-o", "output.per_op=true")
        self.assertEqual(json.loads(run("show", self.folder / "out", "--json").stdout), self.report("out"))
        kernels = self.report("out")["kernels"]
        forward = [kernel for kernel in kernels if kernel["graph"]["pass"] == "forward"]
        self.assertLess(len(forward), len(kernels))
        names = {kernel["node"] for kernel in kernels}
        self.assertTrue(all(set(kernel["graph"]["inputs"]) <= names for kernel in kernels))
        self.assertGreater(sum(len(kernel["graph"]["inputs"]) for kernel in forward), len(forward) // 2)
        head, *layers, rest = run("show", self.folder / "out", "--ops", "3").stdout.splitlines()
        self.assertTrue(head.startswith("op "), head)
        self.assertEqual(len(layers), 3)
        self.assertRegex(layers[0], r" \d+ % of (arithmetic|memory)$")
        self.assertRegex(rest, r"^and \d+ nodes that are faster$")
        self.train("plain", "-o", "train.steps=2", "-o", "output.save=false")
        self.assert_one_line_error(run("show", self.folder / "plain", "--ops", "3"), 1, "-o output.per_op=true")

    def test_a_count_that_no_integer_holds_spoils_no_list(self):
        self.train("out", "-o", "train.steps=2", "-o", "output.save=false")
        report = self.report("out")
        report["progress"]["steps"] = 2**63
        (self.folder / "out/report.json").write_text(json.dumps(report))
        listed = run("runs", self.folder, "--json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertNotIn("-9223372036854775808", run("runs", self.folder).stdout)
        self.assert_one_line_error(run("show", self.folder / "out"), 1, "report.json", "/progress/steps")

    def test_a_batch_larger_than_the_data_is_refused_before_anything_is_searched(self):
        result = run("run", self.config, "--out", self.folder / "large", "-o", "data.batch_size=1000", "--progress", "plain")
        self.assert_one_line_error(result, 2, "320")
        self.assertNotIn("implementations", result.stderr)

    def test_other_programs_are_seen_to_take_the_cores(self):
        with busy_cores():
            result = self.train("busy", "-o", "train.steps=300", "-o", "output.save=false")
        self.assertEqual(result.returncode, 0, result.stderr)
        others = self.report("busy")["environment"]["noise"]["others"]
        self.assertGreater(others["cores"], 0.4 * others["usable_cores"])
        self.assertRegex(result.stdout, r"(?m)^load +other programs kept [\d.]+ of \d+ cores busy")

    def test_a_training_in_phases_reports_each(self):
        config = self.folder / "phases.yaml"
        config.write_text("model: {name: resnet18, classes: 4}\n"
                          "data: {source: synthetic, image_size: 16, batch_size: 8, synthetic_samples: 64, workers: 0}\n"
                          "train:\n  epochs: 2\n  target: 1\n  phases:\n"
                          "    - {until: 0.5, image_size: 8, batch_size: 16}\n    - {until: 1, image_size: 16, batch_size: 8}\n")
        result = run("run", config, "--out", self.folder / "phases", "--progress", "plain")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("phase 2 of 2, from step 5 on: 16 px, batch 8", result.stderr + result.stdout)
        report = self.report("phases")
        self.assertEqual([(part["first_step"], part["steps"], part["image_size"], part["batch_size"], part["lr_scale"])
                          for part in report["phases"]], [(1, 4, 8, 16, 2.0), (5, 8, 16, 8, 1.0)])
        self.assertEqual(report["progress"]["epochs"], 2)
        self.assertIsNone(report["time_to_accuracy"]["seconds"])
        self.assertEqual(report["time_to_accuracy"]["step"], 12)
        again = run("run", config, "--out", self.folder / "phases", "--fresh", "--progress", "none", "-o", "train.target=0.01",
                    "-o", "output.keep_best=loss")
        self.assertEqual(again.returncode, 0, again.stderr)
        report = self.report("phases")
        self.assertEqual((report["progress"]["steps"], report["progress"]["planned_steps"]), (4, 12))
        self.assertIn("reaches train.target 0.01 after step 4 of 12", report["progress"]["ended_early"])
        self.assertGreater(report["time_to_accuracy"]["seconds"], 0)
        longer = run("run", config, "--out", self.folder / "longer", "--progress", "none", "-o", "train.target=0.01",
                     "-o", "data.synthetic_samples=640")
        self.assertEqual(longer.returncode, 0, longer.stderr)
        table = json.loads(run("table", self.folder / "longer", "--columns", "samples_to_accuracy", "--format", "json").stdout)
        self.assertEqual(table["rows"][0]["cells"][0]["value"], 640)  # forty batches of 16
        answer = run("infer", self.folder / "phases/best", "--help")
        self.assertEqual(answer.returncode, 0)
        self.assertTrue((self.folder / "phases/best/model.json").exists())

    def test_plan_agrees_with_the_report(self):
        self.train("out", "-o", "train.steps=3")
        estimate = json.loads(run("estimate", self.config, "--json").stdout)
        report = self.report("out")
        self.assertEqual(estimate["parameters"], report["model"]["parameters"])
        self.assertEqual(estimate["flops_per_sample"], report["model"]["flops_per_sample"])

    def test_recomputing_takes_the_memory_that_is_planned_and_trains_the_same(self):
        losses, planned = set(), []
        for what in ("none", "selective", "block"):
            key = ("-o", f"train.recompute={what}")
            self.train(what, "-o", "train.steps=3", *key)
            losses.add(json.dumps(self.report(what)["loss"]))
            estimate = json.loads(run("estimate", self.config, "--json", *key).stdout)
            planned.append(estimate["memory"]["activation_bytes"])
            self.assertEqual(estimate["flops_per_sample"], self.report(what)["model"]["flops_per_sample"])
        self.assertEqual(len(losses), 1, losses)
        self.assertLess(planned[1], planned[0])
        self.assertLess(planned[2], planned[0])
        self.assert_one_line_error(run("validate", self.config, "-o", "train.recompute=all"), 2, "train.recompute",
                                   "selective")


if __name__ == "__main__":
    unittest.main()
