"""Boxes around objects: trained, asked and served with what stands there for any task."""
import json
import unittest
from ctypes import c_uint8

from program import ProgramTest, run
from test_api import library
from test_serve import Server

from ptrain_model import FLOAT32, UINT8, Model

CONFIG = ("model: {name: retinanet_tiny, classes: 3}\n"
          "data: {source: synthetic, image_size: 64, batch_size: 16, synthetic_samples: 192, workers: 1}\n"
          "train: {epochs: 8, optimizer: {name: adamw, lr: 0.003}, schedule: {name: cosine, warmup_steps: 10}}\n"
          "eval: {every_epochs: 8}\n"
          "output: {predictions: true}\n")
SIDE = 64


def bitmap(width, height, pixel):
    """A BMP file of 24 bits; pixel(x, y) gives red, green and blue."""
    row = (3 * width + 3) // 4 * 4
    lines = (b"".join(bytes(reversed(pixel(x, y))) for x in range(width)).ljust(row, b"\0") for y in reversed(range(height)))
    sizes = (54 + row * height, 0, 54, 40, width, height)
    return b"BM" + b"".join(n.to_bytes(4, "little") for n in sizes) + b"\1\0\x18\0".ljust(28, b"\0") + b"".join(lines)


class Detection(ProgramTest):
    def setUp(self):
        super().setUp()
        self.config.write_text(CONFIG)
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.own = self.folder / "own"

    def test_is_trained_asked_and_served(self):
        report = json.loads((self.own / "report.json").read_text())
        self.assertEqual(report["evaluation"]["primary"], "map")
        self.assertGreater(report["evaluation"]["metrics"]["map50"]["value"], 0.3)
        self.assertIn("as pycocotools 2.0.11", report["evaluation"]["signature"])
        lines = [json.loads(line) for line in (self.own / "predictions.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), 48)

        image = self.folder / "square.bmp"  # of class 0's colour, twice as large as the model's input and less high
        image.write_bytes(bitmap(128, 96, lambda x, y: (128, 210, 40) if 20 <= x < 68 and 30 <= y < 78 else (104, 104, 104)))
        asked = run("infer", self.own, image, "--json")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        best = json.loads(asked.stdout.splitlines()[0])["objects"][0]
        self.assertEqual(best["name"], "0")
        for found, expected in zip(best["box"], (20, 30, 48, 48)):
            self.assertAlmostEqual(found, expected, delta=16)

        pixels = [(7 * i) % 256 for i in range(2 * SIDE * SIDE * 3)]
        model, server = Model(self.own, library()), Server(self.own)
        self.addCleanup(model.close)
        self.addCleanup(server.kill)
        self.assertEqual(model.answers["detections"][:2], (FLOAT32, (-1, 300, 6)))
        found = model.answer({"images": (UINT8, (2, SIDE, SIDE, 3), (c_uint8 * len(pixels))(*pixels))}, "detections")
        status, answer = server.infer([{"name": "images", "datatype": "UINT8", "shape": [2, SIDE, SIDE, 3], "data": pixels}])
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["outputs"][0]["shape"], [2, 300, 6])
        self.assertEqual(answer["outputs"][0]["data"], list(found))


if __name__ == "__main__":
    unittest.main()
