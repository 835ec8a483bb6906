"""A class for each pixel: trained, predicted, quantized and served by what every task uses."""
import json
import unittest
from ctypes import c_uint8

from program import ProgramTest, run
from test_api import library
from test_serve import Server

from ptrain_model import INT32, UINT8, Model

CONFIG = ("model: {name: fcn_tiny, classes: 3}\n"
          "data: {source: synthetic, image_size: 24, batch_size: 16, synthetic_samples: 128, workers: 0}\n"
          "train: {epochs: 4, optimizer: {name: adamw, lr: 0.01}}\n"
          "output: {predictions: true, keep_best: miou}\n")
SIDE = 24


class Segmentation(ProgramTest):
    def setUp(self):
        super().setUp()
        self.config.write_text(CONFIG)
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.own = self.folder / "own"

    def test_report_predictions_and_page(self):
        report = json.loads((self.own / "report.json").read_text())
        self.assertEqual((report["evaluation"]["primary"], report["best"]["metric"]), ("miou", "miou"))
        self.assertGreater(report["evaluation"]["metrics"]["miou"]["value"], 0.7)
        terms = report["loss"]["terms"]
        self.assertEqual({name: one["weight"] for name, one in terms.items()}, {"cross_entropy": 1, "auxiliary": 0.5})
        self.assertAlmostEqual(sum(one["weight"] * one["last"] for one in terms.values()), report["loss"]["last"], places=5)
        lines = [json.loads(line) for line in (self.own / "predictions.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), 32)
        self.assertAlmostEqual(sum(lines[0]["truth"].values()), 1)
        self.assertAlmostEqual(1 - sum(line["error"] for line in lines) / len(lines),
                               report["evaluation"]["metrics"]["pixel_accuracy"]["value"], places=6)
        page = run("table", self.own, "--format", "html")
        self.assertEqual(page.returncode, 0, page.stderr)
        self.assertIn("mIoU", page.stdout)
        self.assertIn("Worst errors", page.stdout)

    def test_server_and_library_answer_with_masks(self):
        pixels = [(7 * i) % 256 for i in range(2 * SIDE * SIDE * 3)]
        model, server = Model(self.own, library()), Server(self.own)
        self.addCleanup(model.close)
        self.addCleanup(server.kill)
        self.assertEqual(model.answers["masks"][:2], (INT32, (-1, SIDE, SIDE)))
        found = model.answer({"images": (UINT8, (2, SIDE, SIDE, 3), (c_uint8 * len(pixels))(*pixels))}, "masks")
        status, answer = server.infer([{"name": "images", "datatype": "UINT8", "shape": [2, SIDE, SIDE, 3], "data": pixels}])
        self.assertEqual(status, 200, answer)
        served = {one["name"]: one for one in answer["outputs"]}
        self.assertEqual((served["masks"]["datatype"], served["masks"]["shape"]), ("INT32", [2, SIDE, SIDE]))
        self.assertEqual(served["masks"]["data"], list(found))
        self.assertEqual(served["logits"]["shape"], [2, SIDE, SIDE, 3])


if __name__ == "__main__":
    unittest.main()
