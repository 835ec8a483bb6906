"""Every network: planned as its configuration says, and the small ones trained for an epoch of made-up data."""
import json
import unittest

from program import ROOT, ProgramTest, run

SMALL = 12e6  # parameters, of networks that an epoch is trained of
OWN = {**{name: {"model.classes": 1} for name in ("dbnet_tiny", "ppocrv6_det_small", "ppocr_det_tiny")},
       **{name: {"data.max_length": 4} for name in ("ppocrv6_rec_small", "ppocr_rec_tiny")}}
MADE_UP = ("-o", "data.source=synthetic", "-o", "device=cpu", "-o", "model.weights=", "-o", "data.vocab=")


def listed():
    return json.loads(run("list", "models", "--json").stdout)


class Zoo(ProgramTest):
    def test_every_configuration_is_planned(self):
        for config in sorted((ROOT / "configs/zoo").glob("*.yaml")):
            with self.subTest(config.name):
                estimate = run("estimate", config, "--json", *MADE_UP, "-o", "data.batch_size=2")
                self.assertEqual(estimate.returncode, 0, estimate.stderr)
                self.assertGreater(json.loads(estimate.stdout)["memory"]["planned_peak_bytes"], 0)

    def test_an_epoch_of_each_small_network(self):
        for entry in listed():
            if entry["parameters"] > SMALL:
                continue
            with self.subTest(entry["name"]):
                overrides = {"model.name": entry["name"], "model.classes": min(2, entry["classes"]), "train.steps": 0, "train.epochs": 1,
                             "data.synthetic_samples": 16, "data.batch_size": 4, "data.image_size": 32, "eval.every_epochs": 1,
                             "flags.cudnn_exhaustive_search": "false", **OWN.get(entry["name"], {})}
                self.config.write_text("model: {name: resnet18}\ndata: {source: synthetic}\n")
                trained = self.train("own", "--fresh", *(part for key, value in overrides.items() for part in ("-o", f"{key}={value}")))
                self.assertEqual(trained.returncode, 0, trained.stderr)
                report = self.report("own")
                self.assertEqual((report["model"]["name"], report["progress"]["steps"]), (entry["name"], 4))
                self.assertEqual(report["evaluation"]["eval_samples"], 4)

    def test_every_network_has_a_row_for_its_reader(self):
        published = (ROOT / "models/README.md").read_text(encoding="utf-8")
        for entry in listed():
            self.assertIn(f"| `{entry['name']}`", published)


if __name__ == "__main__":
    unittest.main()
