"""Boxes around objects: trained, asked and served with what stands there for any task."""
import contextlib
import io
import json
import math
import pathlib
import random
import struct
import tempfile
import unittest
from ctypes import c_uint8

from program import ProgramTest, run
from test_api import library
from test_serve import Server
from trained import open_onnx, train_for

from ptrain import FLOAT32, UINT8, Model

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


def square(box):
    """A picture of 128x96 px with a square of class 0's colour."""
    left, top, width, height = box
    return bitmap(128, 96, lambda x, y: (128, 210, 40) if left <= x < left + width and top <= y < top + height else (104, 104, 104))


def outline(label, left, top, side):
    """The corners of the figure that synthetic images have for a class: a square, a disc or a triangle."""
    right, bottom, half = left + side, top + side, side / 2
    if label == 1:
        turns = (math.tau * i / 24 for i in range(24))
        return [(left + half + half * math.cos(turn), top + half + half * math.sin(turn)) for turn in turns]
    return [(left, top), (right, top), (right, bottom), (left, bottom)] if label == 0 else [(left + half, top), (right, bottom), (left, bottom)]


def covers(label, left, top, side, x, y):
    """Whether the figure has the pixel."""
    across, down = x + 0.5 - left - side / 2, y + 0.5 - top
    if not (0 <= x - left < side and 0 <= y - top < side):
        return False
    return (True, math.hypot(across, down - side / 2) <= side / 2, 2 * abs(across) <= down)[label]


def draw_shapes(folder, seed, count):
    """A data set in COCO's form of images as data.source: synthetic has: figures of three classes under noise."""
    draw = random.Random(seed)
    (folder / "val").mkdir(parents=True)
    document = {"images": [], "annotations": [], "categories": [{"id": label + 1, "name": str(label)} for label in range(3)]}
    for number in range(count):
        figures = []
        for _ in range(draw.randint(1, 4)):
            side = draw.randint(13, 32)
            label, left, top = draw.randrange(3), draw.randint(0, SIDE - side), draw.randint(0, SIDE - side)
            if all(left >= l + s or l >= left + side or top >= t + s or t >= top + side for _, l, t, s in figures):
                figures.append((label, left, top, side))

        def pixel(x, y):
            label = next((figure[0] for figure in figures if covers(*figure, x, y)), None)
            levels = (80, 80, 80) if label is None else (int(104 + 96 * math.sin(2.4 * label + 2.0944 * c)) for c in range(3))
            return tuple(level + draw.randrange(48) for level in levels)
        (folder / f"val/{number}.bmp").write_bytes(bitmap(SIDE, SIDE, pixel))
        document["images"].append({"id": number, "file_name": f"{number}.bmp", "width": SIDE, "height": SIDE})
        for label, left, top, side in figures:
            polygon = [coordinate for corner in outline(label, left, top, side) for coordinate in corner]
            document["annotations"].append({"id": len(document["annotations"]) + 1, "image_id": number, "category_id": label + 1,
                                            "bbox": [left, top, side, side], "segmentation": [polygon], "area": side * side, "iscrowd": 0})
    (folder / "val.json").write_text(json.dumps(document))


def quantize_all(test, model):
    """The report of a quantization of all layers on drawn shapes, and metrics before and after on them."""
    for name, count in (("calibration", 48), ("evaluation", 400)):
        draw_shapes(test.folder / name, name, count)
    whole, report = test.folder / "int8", test.folder / "quantize.json"
    made = run("quantize", model, "--calibrate", test.folder / "calibration", "--evaluate", test.folder / "evaluation", "--out", whole,
               "--layers", "all", "--max-drop", "0.5", "--speed-seconds", "0", "--report", report)
    test.assertEqual(made.returncode, 0, made.stderr)
    test.assertNotIn("same class", made.stdout + report.read_text())
    metrics = []
    for folder in (model, whole):
        asked = run("infer", folder, test.folder / "evaluation", "--report", test.folder / "infer.json")
        test.assertEqual(asked.returncode, 0, asked.stderr)
        metrics.append({name: metric["value"] for name, metric in json.loads((test.folder / "infer.json").read_text())["evaluation"]["metrics"].items()})
    return json.loads(report.read_text()), *metrics


class Detection(ProgramTest):
    CONFIG = CONFIG

    @classmethod
    def setUpClass(cls):
        cls.own = train_for(cls, cls.CONFIG)

    def test_is_trained_asked_and_served(self):
        report = json.loads((self.own / "report.json").read_text())
        self.assertEqual(report["evaluation"]["primary"], "map")
        self.assertGreater(report["evaluation"]["metrics"]["map50"]["value"], 0.3)
        self.assertIn("as pycocotools 2.0.11", report["evaluation"]["signature"])
        lines = [json.loads(line) for line in (self.own / "predictions.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), 48)

        image = self.folder / "square.bmp"  # of class 0's colour, twice as large as the model's input and less high
        image.write_bytes(square((20, 30, 48, 48)))
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

    def coco(self, ids=(12, 7, 900), categories=((2, "0"), (5, "1"), (90, "2"))):
        """A data set in COCO's form whose ids have gaps and are in no order."""
        boxes = [(20, 30, 48, 48), (60, 10, 40, 40), (5, 5, 60, 60)]
        (self.folder / "coco/val").mkdir(parents=True)
        document = {"images": [], "annotations": [], "categories": [{"id": number, "name": name} for number, name in categories]}
        for number, (identity, box) in enumerate(zip(ids, boxes)):
            (self.folder / f"coco/val/{identity}.bmp").write_bytes(square(box))
            document["images"].append({"id": identity, "file_name": f"{identity}.bmp", "width": 128, "height": 96})
            document["annotations"].append({"id": number + 1, "image_id": identity, "category_id": 2, "bbox": box,
                                            "area": box[2] * box[3], "iscrowd": 0})
        path = self.folder / "coco/val.json"
        path.write_text(json.dumps(document))
        return path

    def test_writes_results_that_pycocotools_scores_alike(self):
        annotations = self.coco()
        results, report, pictures = (self.folder / name for name in ("results.json", "report.json", "pictures"))
        asked = run("infer", self.own, self.folder / "coco", "--coco-results", results, "--report", report, "--boxes", pictures)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        written = json.loads(results.read_text())
        self.assertEqual({one["image_id"] for one in written}, {12, 7, 900})
        self.assertLessEqual({one["category_id"] for one in written}, {2, 5, 90})
        self.assertEqual(sorted(path.name for path in pictures.iterdir()), ["12.png", "7.png", "900.png"])
        for picture in pictures.iterdir():
            self.assertEqual(struct.unpack(">II", picture.read_bytes()[16:24]), (128, 96))
        metrics = json.loads(report.read_text())["evaluation"]["metrics"]
        self.assertGreater(metrics["map50"]["value"], 0.3)
        try:
            from pycocotools.coco import COCO
            from pycocotools.cocoeval import COCOeval
        except ImportError as error:
            self.skipTest(f"pip install pycocotools: {error}")
        with contextlib.redirect_stdout(io.StringIO()):
            truth = COCO(str(annotations))
            scored = COCOeval(truth, truth.loadRes(str(results)), "bbox")
            scored.evaluate()
            scored.accumulate()
            scored.summarize()
        names = ("map", "map50", "map75", "map_small", "map_medium", "map_large", "mar1", "mar10", "mar100", "mar_small",
                 "mar_medium", "mar_large")
        for name, value in zip(names, scored.stats):
            self.assertEqual(metrics[name]["value"], None if value < 0 else float(value), name)

    def test_onnx_runtime_finds_the_same_objects(self):
        numpy, session = open_onnx(self, self.own)
        colours = [lambda x, y: ((7 * x) % 256, (5 * y) % 256, 90), lambda x, y: (104, 104, 104),  # nothing on it
                   lambda x, y: (128, 210, 40) if 10 <= x < 30 and 20 <= y < 40 else (104, 104, 104)]
        files = [self.folder / f"{number}.bmp" for number in range(len(colours))]
        for file, colour in zip(files, colours):
            file.write_bytes(bitmap(SIDE, SIDE, colour))
        asked = run("infer", self.own, *files, "--json")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        expected = [json.loads(line)["objects"] for line in asked.stdout.splitlines()]
        self.assertGreater(len(expected[0]), 2)
        pixels = numpy.array([[[colour(x, y) for x in range(SIDE)] for y in range(SIDE)] for colour in colours], numpy.uint8)
        for count in (len(colours), 1):
            found, = session.run(None, {"images": pixels[:count]})
            self.assertEqual(found.shape, (count, 300, 6))
            for rows, objects in zip(found, expected):
                self.assertEqual([int(row[5]) for row in rows if row[5] >= 0], [one["index"] for one in objects])
                for (left, top, right, bottom, score, _), one in zip(rows, objects):
                    self.assertAlmostEqual(score, one["score"], delta=1e-5)
                    for value, wanted in zip((left, top, right - left, bottom - top), one["box"]):
                        self.assertAlmostEqual(value, wanted, delta=1e-2)

    def test_eight_bits_keep_the_precision(self):
        report, before, after = quantize_all(self, self.own)
        self.assertEqual(report["metric"]["name"], "map")
        self.assertAlmostEqual(report["metric"]["before"], before["map"], delta=1e-6)
        self.assertAlmostEqual(report["metric"]["after"], after["map"], delta=1e-6)
        self.assertGreater(before["map"], 0.2)
        self.assertLess(before["map"] - after["map"], 0.005)
        left = [layer["name"] for layer in report["layers"] if layer["left_because"]]
        self.assertLess(len(left), len(report["layers"]) / 4, left)

    def test_numbers_pictures_without_annotations(self):
        for name in ("b", "a"):
            (self.folder / f"{name}.bmp").write_bytes(square((20, 30, 48, 48)))
        results = self.folder / "results.json"
        asked = run("infer", self.own, self.folder / "b.bmp", self.folder / "a.bmp", "--coco-results", results)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        written = json.loads(results.read_text())
        self.assertEqual({one["image_id"] for one in written}, {1, 2})
        self.assertEqual(max(written, key=lambda one: one["score"])["category_id"], 0)

    def test_says_what_it_cannot_score(self):
        self.coco(categories=((2, "cell"), (5, "1"), (90, "2")))
        self.assert_one_line_error(run("infer", self.own, self.folder / "coco"), 1, "has the classes cell, 1, 2", "the model's 0, 1, 2")
        self.assert_one_line_error(run("infer", self.own, self.folder / "coco", self.folder / "coco/val/7.bmp"), 2,
                                   "has to be the only input")
        self.assert_one_line_error(run("infer", self.own, self.folder / "coco/val/7.bmp", "--masks", self.folder / "masks"), 2,
                                   "--masks: needs a class for each pixel")


class AlignedDetection(Detection):
    """The same of a detector whose targets follow from its predictions."""
    CONFIG = CONFIG.replace("retinanet_tiny", "ppyoloe_tiny").replace("epochs: 8", "epochs: 24")


if __name__ == "__main__":
    unittest.main()
