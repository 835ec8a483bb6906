"""What ptrain estimate predicts of a step on an absent GPU; results/predicted.md is what it predicts now."""
import importlib.util
import json
import unittest

from program import BINARY, ROOT, ProgramTest, run

specification = importlib.util.spec_from_file_location("predicted", ROOT / "scripts/predicted.py")
predicted = importlib.util.module_from_spec(specification)
specification.loader.exec_module(predicted)


class Predicted(ProgramTest):
    def estimate(self, *arguments):
        result = run("estimate", self.config, "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_the_table_is_what_the_program_predicts(self):
        self.assertEqual((ROOT / "results/predicted.md").read_text(), predicted.table(BINARY),
                         "a step's bytes or time changed: scripts/predicted.py >results/predicted.md, and say why")

    def test_nodes_add_up_and_name_their_bound(self):
        estimate = self.estimate("--device", "H200", "-o", "amp.level=O2")
        for figure in ("bytes", "flops", "ms"):
            for parts in ("ops", "nodes"):
                self.assertAlmostEqual(sum(part[figure] for part in estimate[parts]) / estimate["step"][figure], 1, 9)
        self.assertLessEqual({node["bound"] for node in estimate["nodes"]}, {"memory", "arithmetic", "launch"})
        self.assertAlmostEqual(estimate["samples_per_second"], 8e3 / estimate["step"]["ms"])

    def test_a_mask_of_dropout_in_memory_is_written_and_read(self):
        keys = predicted.BASE | {"amp.level": "O2", "amp.dtype": "fp16"}
        drawn, masked = (predicted.predict(BINARY, keys | {"model.attention": form}) for form in ("flash", "flash_mask"))
        mask = 128 * 12 * 128 * 128 * 2  # batch, heads, queries and keys in fp16
        for prediction, masks in ((drawn, 0), (masked, 2)):
            for op in prediction["ops"]:
                if op["type"] in ("attention", "attention_grad"):
                    values = 128 * 128 * 768 * 2 * (8 if op["type"] == "attention_grad" else 4)
                    rest = op["bytes"] - op["nodes"] * (values + masks * mask)
                    self.assertTrue(0 < rest < 0.02 * op["bytes"], (op, rest))  # lengths and lse

    def test_a_short_name_says_which_gpu_it_means(self):
        for asked, device in (("h100", "H100 80GB HBM3"), ("a100", "A100-SXM4-80GB"), ("h100 pcie", "H100 PCIe"),
                              ("H100-PCIe", "H100 PCIe"), ("NVIDIA A100", "A100-SXM4-80GB")):
            self.assertEqual(self.estimate("--device", asked)["device"], device)
        text = run("estimate", self.config, "--device", "h100").stdout
        self.assertIn("on H100 80GB HBM3, batch", text)
        self.assertIn("H100 80GB HBM3 (SXM) has the most arithmetic of that name; others: H100 NVL, H100 PCIe", text)
        self.assertNotIn("note", run("estimate", self.config, "--device", "l4").stdout)

    def test_a_slower_gpu_takes_longer(self):
        steps = [self.estimate("--device", device, "-o", "data.batch_size=512", "-o", "data.synthetic_samples=1024")["step"]
                 for device in ("h200", "a100", "l4")]
        self.assertEqual([step["ms"] for step in steps], sorted(step["ms"] for step in steps))
        self.assertEqual(len({step["ms"] for step in steps}), 3)

    def test_a_training_on_gpus_and_data_that_are_not_there(self):
        self.config.write_text(self.config.read_text().replace("source: synthetic", "source: tsv, path: /nowhere")
                               .replace("train:\n  steps: 60", "train:\n  epochs: 10"))
        links = ("--links", ROOT / "configs/links/ethernet_100g.yaml")
        estimate = self.estimate("--device", "h100", "--samples", "80000", "--memory", "8GiB", "--ranks", "1,8", *links)
        self.assertEqual(estimate["memory"]["available_bytes"], 8 << 30)
        largest = estimate["memory"]["largest_batch_size"]
        self.assertGreater(largest, 8)
        alone, eight = estimate["training"]
        self.assertEqual((alone["ranks"], alone["steps"], alone["epochs"]), (1, 100000, 10))
        self.assertAlmostEqual(alone["hours"], 100000 * estimate["scaling"][0]["step_ms"] / 3.6e6)
        self.assertAlmostEqual(alone["kilowatt_hours"], alone["hours"] * estimate["power_limit_watts"] * 1e-3)
        self.assertEqual((eight["steps"], eight["epochs"]), (12500, 10))
        self.assertLess(eight["hours"], alone["hours"])
        self.assertLess(alone["hours"], 8 * eight["hours"])
        half = self.estimate("--device", "h100", "--samples", "80000", "--memory", "4GiB")
        self.assertLess(half["memory"]["largest_batch_size"], largest)
        text = run("estimate", self.config, "--device", "h100", "--samples", "80000", "--ranks", "8", *links).stdout
        self.assertRegex(text, r"(?m)^training +12500 steps, 10 epochs on 8 GPUs: .*, [\d.e-]+ kWh at 700 W each$")
        self.assert_one_line_error(run("estimate", self.config, "--device", "h100", "--samples", "80000", "--ranks", "8"), 2,
                                   "--links")
        for memory in ("0", "-1", "-8GiB", "0GiB"):
            self.assert_one_line_error(run("estimate", self.config, "--memory", memory), 2, "--memory", memory)

    def test_a_report_of_another_step_is_refused(self):
        self.assertEqual(self.train("one", "-o", "train.steps=6", "-o", "eval.every_epochs=0").returncode, 0)
        scaling = ("--ranks", "8", "--links", ROOT / "configs/links/ethernet_100g.yaml", "--measured",
                   self.folder / "one/report.json")
        self.assertEqual(run("estimate", self.config, *scaling).returncode, 0)
        for other in ("model.size=mini", "data.max_length=20", "data.batch_size=4", "train.accumulate_steps=2",
                      "model.name=distilbert"):
            key = other.partition("=")[0]
            self.assert_one_line_error(run("estimate", self.config, *scaling, "-o", other), 2, "--measured", key)

    def test_a_gpu_that_is_not_known_is_named(self):
        self.assert_one_line_error(run("estimate", self.config, "--device", "h20"), 2, "--device", "H200", "h20")


if __name__ == "__main__":
    unittest.main()
