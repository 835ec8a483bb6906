"""A class for each pixel: trained, predicted, quantized and served by what every task uses."""
import json
import struct
import unittest
import zlib
from ctypes import c_uint8

from program import ProgramTest, run
from test_api import library
from test_serve import Server

from ptrain import INT32, UINT8, Model

CONFIG = ("model: {name: fcn_tiny, classes: 3}\n"
          "data: {source: synthetic, image_size: 24, batch_size: 16, synthetic_samples: 128, workers: 0}\n"
          "train: {epochs: 4, optimizer: {name: adamw, lr: 0.01}}\n"
          "output: {predictions: true, keep_best: miou}\n")
SIDE = 24


SKY, SEA = (90, 140, 220), (20, 90, 60)


def png(rows, colour_type):
    """Rows of pixels, each a grey level (colour type 0) or red, green and blue (2)."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    flat = [bytes(row if colour_type == 0 else [value for pixel in row for value in pixel]) for row in rows]
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, colour_type, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in flat))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def read_png(path):
    """(width, height, palette, rows of numbers) of one that ptrain infer writes, 8 bits a number."""
    data, at, body, palette = path.read_bytes(), 8, b"", []
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        part = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour_type = struct.unpack(">IIBB", part[:10])
        body += part if kind == b"IDAT" else b""
        palette = [tuple(part[i:i + 3]) for i in range(0, length, 3)] if kind == b"PLTE" else palette
        at += 12 + length
    assert colour_type == 3, colour_type
    raw, row_bytes, rows = zlib.decompress(body), (width * depth + 7) // 8, []
    for y in range(height):
        line = raw[y * (row_bytes + 1):(y + 1) * (row_bytes + 1)]
        assert line[0] == 0, "a filter"
        rows.append([line[1 + x * depth // 8] >> (8 - depth - x * depth % 8) & (1 << depth) - 1 for x in range(width)])
    return width, height, palette, rows


def write_horizons(folder, count):
    """Pictures of the sky over the sea, of several sizes, and their label maps; the horizon's own line has no class."""
    for split, offset in (("train", 0), ("val", 3)):
        for i in range(count):
            width, height = 30 + i % 3, 20
            horizon = 4 + (5 * i + offset) % 12
            pixels = [[SKY if y < horizon else SEA] * width for y in range(height)]
            labels = [[0 if y < horizon else 255 if y == horizon else 1] * width for y in range(height)]
            for name, content in ((split, png(pixels, 2)), (split + "annot", png(labels, 0))):
                (folder / name).mkdir(parents=True, exist_ok=True)
                (folder / name / f"{i}.png").write_bytes(content)


class LabelMaps(ProgramTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        write_horizons(self.data, 8)
        self.config.write_text(
            "model: {name: fcn_tiny}\n"
            f"data: {{source: mask_folder, path: {self.data}, labels: [sky, sea], image_size: 20x32, batch_size: 4,\n"
            "       workers: 1}\n"
            "train: {epochs: 20, optimizer: {name: adamw, lr: 0.01}}\n"
            "output: {predictions: true}\n")

    def test_training_and_label_maps_of_images(self):
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        self.assertGreater(report["evaluation"]["metrics"]["miou"]["value"], 0.8)
        self.assertEqual([one["name"] for one in report["classification"]["classes"]], ["sky", "sea"])
        ious = [one["iou"] for one in report["classification"]["classes"]]
        self.assertAlmostEqual(sum(ious) / 2, report["evaluation"]["metrics"]["miou"]["value"], places=9)
        page = run("table", self.folder / "own", "--format", "html").stdout
        self.assertIn('data-title="IoU"', page)
        out = self.folder / "masks"
        answered = run("infer", self.folder / "own", self.data / "val", self.data / "train" / "0.png", "--masks", out,
                       "--progress", "none")
        self.assertEqual(answered.returncode, 0, answered.stderr)
        self.assertEqual(len(list(out.iterdir())), 2 * 9)
        width, height, palette, rows = read_png(out / "1.png")
        self.assertEqual((width, height), (31, 20))
        self.assertEqual(palette[:2], [(0, 0, 0), (128, 0, 0)])
        self.assertEqual((rows[0][15], rows[19][15]), (0, 1))
        self.assertTrue((out / "0_2.png").exists(), "a second image of that name")
        self.assertTrue((out / "0_2_overlay.png").exists())

    def test_pixels_of_the_label_maps_are_evaluated(self):
        """Not those of the images that the model reads, of half the size; the page shows what is wrong."""
        trained = self.train("half", "-o", "data.image_size=10x16", "-o", "train.epochs=1", "-o",
                             "train.optimizer.lr=1e-9")  # too little to learn
        self.assertEqual(trained.returncode, 0, trained.stderr)
        counted = sum(one["samples"] for one in self.report("half")["classification"]["classes"])
        self.assertEqual(counted, sum((30 + i % 3) * 19 for i in range(8)))
        lines = [json.loads(line) for line in (self.folder / "half/predictions.jsonl").read_text().splitlines()]
        wrong = [line for line in lines if line["error"] > 0]
        self.assertEqual([line for line in lines if "overlay" in line], wrong)
        self.assertTrue(wrong)
        page = run("table", self.folder / "half", "--format", "html").stdout
        self.assertIn(wrong[0]["overlay"], page)

    def test_ranks_give_the_metrics_of_one(self):
        figures = []
        for ranks, batch in ((1, 4), (2, 2)):
            trained = self.train(f"of_{ranks}", "-o", f"dist.ranks={ranks}", "-o", f"data.batch_size={batch}", "-o",
                                 "train.epochs=2")
            self.assertEqual(trained.returncode, 0, trained.stderr)
            figures.append(self.report(f"of_{ranks}"))
        one, two = (figure["evaluation"]["metrics"]["miou"]["value"] for figure in figures)
        self.assertAlmostEqual(one, two, places=4)
        self.assertEqual(*(sum(row["samples"] for row in figure["classification"]["classes"]) for figure in figures))

    def test_refusals_are_one_line(self):
        self.assert_one_line_error(self.train("own", "-o", "data.labels=[]"), 2, "data.labels", "model.classes")
        (self.data / "trainannot/3.png").write_bytes(png([[0] * 30] * 19, 0))
        bad = self.train("own", "--fresh", "-o", "data.max_bad_samples=0")
        self.assertNotEqual(bad.returncode, 0)
        self.assertIn("has 30 x 19 px, but its image", bad.stderr)
        (self.data / "trainannot/3.png").write_bytes(png([[7] * 30] * 20, 0))
        self.assert_one_line_error(self.train("own", "--fresh"), 1, "trainannot/3.png: label 7 at column 0, row 0")
        (self.data / "trainannot/3.png").unlink()
        self.assert_one_line_error(self.train("own", "--fresh"), 1, "train/3.png: has no label map; expected")
        self.config.write_text("model: {name: resnet18}\ndata: {source: synthetic, image_size: 16, synthetic_samples: 8, "
                               "batch_size: 4}\ntrain: {steps: 1}\n")
        self.assertEqual(self.train("classes", "--fresh").returncode, 0)
        refused = run("infer", self.folder / "classes", self.data / "val", "--masks", self.folder / "masks")
        self.assert_one_line_error(refused, 2, "--masks: needs a class for each pixel")


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

    def test_images_calibrate_eight_bits(self):
        write_horizons(self.folder / "data", 3)
        quantized = run("quantize", self.own, "--calibrate", self.folder / "data/val", "--out", self.folder / "int8",
                        "--layers", "all", "--max-logit-error", "0.5", "--speed-seconds", "0")
        self.assertEqual(quantized.returncode, 0, quantized.stderr)
        self.assertIn("calibrated on 3 samples", quantized.stdout)
        self.assertNotIn("unchanged", quantized.stdout)
        self.assertIn("note: mIoU was not measured, since the calibration samples have no labels", quantized.stdout)
        answered = run("infer", self.folder / "int8", self.folder / "data/val", "--format", "jsonl", "--progress", "none")
        self.assertEqual(answered.returncode, 0, answered.stderr)
        self.assertEqual(len(answered.stdout.splitlines()), 3)

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
