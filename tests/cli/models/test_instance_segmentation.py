"""Boxes and masks of objects: trained, asked and served with what stands there for any task."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from ctypes import c_uint8

from models.test_detection import quantize_all, square
from program import ProgramTest, run
from test_api import library
from test_serve import Server
from trained import open_onnx, train_for

from ptrain import FLOAT32, UINT8, Model

CONFIG = ("model: {{name: {model}, classes: 3}}\n"
          "data: {{source: synthetic, image_size: 64, batch_size: 8, synthetic_samples: 128, workers: 1}}\n"
          "train: {{epochs: {epochs}, optimizer: {{name: adamw, lr: 0.003}}, schedule: {{name: cosine, warmup_steps: 10}}}}\n"
          "eval: {{every_epochs: {epochs}}}\n"
          "output: {{predictions: true}}\n")
SIDE = 64


class InstanceSegmentation(ProgramTest):
    MODEL, EPOCHS, MASK_SIDE = "maskrcnn_tiny", 8, 28

    @classmethod
    def setUpClass(cls):
        cls.own = train_for(cls, CONFIG.format(model=cls.MODEL, epochs=cls.EPOCHS))

    def test_is_trained_asked_and_served(self):
        report = json.loads((self.own / "report.json").read_text())
        self.assertEqual(report["evaluation"]["primary"], "mask_map")
        self.assertGreater(report["evaluation"]["metrics"]["mask_map50"]["value"], 0.2)
        self.assertGreater(report["evaluation"]["metrics"]["map50"]["value"], 0.2)
        self.assertEqual(len(report["loss"]["terms"]), 5)

        pixels = [(7 * i) % 256 for i in range(2 * SIDE * SIDE * 3)]
        model, server = Model(self.own, library()), Server(self.own)
        self.addCleanup(model.close)
        self.addCleanup(server.kill)
        self.assertEqual(model.answers["mask_probabilities"][:2], (FLOAT32, (-1, 20, self.MASK_SIDE, self.MASK_SIDE)))
        found = model.answer({"images": (UINT8, (2, SIDE, SIDE, 3), (c_uint8 * len(pixels))(*pixels))}, "mask_probabilities")
        status, answer = server.infer([{"name": "images", "datatype": "UINT8", "shape": [2, SIDE, SIDE, 3], "data": pixels}])
        self.assertEqual(status, 200, answer)
        outputs = {one["name"]: one for one in answer["outputs"]}
        self.assertEqual(outputs["detections"]["shape"], [2, 20, 6])
        self.assertEqual(outputs["mask_probabilities"]["data"], list(found))

    def test_onnx_runtime_finds_the_same_objects_and_masks(self):
        numpy, session = open_onnx(self, self.own)
        self.assertEqual([one.name for one in session.get_inputs()], ["images"])
        pixels = numpy.full((3, SIDE, SIDE, 3), 104, numpy.uint8)
        pixels[0] = [[((7 * x) % 256, (5 * y) % 256, 90) for x in range(SIDE)] for y in range(SIDE)]
        pixels[2, 20:40, 10:30] = (128, 210, 40)
        pixels[2, 30:60, 35:60] = (20, 40, 200)
        model = Model(self.own, library())
        self.addCleanup(model.close)
        for count in (3, 1):
            detections, masks = session.run(["detections", "mask_probabilities"], {"images": pixels[-count:]})
            values = (c_uint8 * (count * SIDE * SIDE * 3)).from_buffer_copy(pixels[-count:].tobytes())
            given = {"images": (UINT8, (count, SIDE, SIDE, 3), values)}
            expected = numpy.array(model.answer(given, "detections"), numpy.float32).reshape(count, 20, 6)
            own_masks = numpy.array(model.answer(given, "mask_probabilities"), numpy.float32).reshape(count, 20, self.MASK_SIDE, self.MASK_SIDE)
            self.assertGreater((expected[..., 5] >= 0).sum(), count)
            self.assertLess(numpy.abs(detections - expected).max(), 1e-2)  # px; scores below
            self.assertLess(numpy.abs(detections - expected)[..., 4:].max(), 1e-4)
            used = expected[..., 5] >= 0
            self.assertLess(numpy.abs(masks - own_masks)[used].max(), 1e-3)

    def test_eight_bits_keep_the_precision(self):
        report, before, after = quantize_all(self, self.own)
        self.assertEqual(report["metric"]["name"], "mask_map")
        for name in ("map", "mask_map"):
            self.assertGreater(before[name], 0.1)
            self.assertLess(before[name] - after[name], 0.005, name)
        left = [layer["name"] for layer in report["layers"] if layer["left_because"]]
        self.assertLess(len(left), len(report["layers"]) / 4, left)

    def test_writes_masks_that_pycocotools_scores_alike(self):
        boxes = [(20, 30, 48, 48), (60, 10, 40, 40), (5, 5, 60, 60)]
        (self.folder / "coco/val").mkdir(parents=True)
        document = {"images": [], "annotations": [], "categories": [{"id": i, "name": name} for i, name in ((2, "0"), (5, "1"), (9, "2"))]}
        for number, (left, top, width, height) in enumerate(boxes):
            (self.folder / f"coco/val/{number}.bmp").write_bytes(square((left, top, width, height)))
            document["images"].append({"id": number + 7, "file_name": f"{number}.bmp", "width": 128, "height": 96})
            right, bottom = left + width, top + height
            document["annotations"].append({
                "id": number + 1, "image_id": number + 7, "category_id": 2, "bbox": [left, top, width, height],
                "segmentation": [[left, top, right, top, right, bottom, left, bottom]], "area": width * height, "iscrowd": 0})
        annotations = self.folder / "coco/val.json"
        annotations.write_text(json.dumps(document))
        results, report = self.folder / "results.json", self.folder / "report.json"
        asked = run("infer", self.own, self.folder / "coco", "--json", "--coco-results", results, "--report", report)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        shown = [json.loads(line)["objects"] for line in asked.stdout.splitlines()]
        written = json.loads(results.read_text())
        self.assertEqual([one["segmentation"] for objects in shown for one in objects], [one["segmentation"] for one in written])
        self.assertEqual({tuple(one["segmentation"]["size"]) for one in written}, {(96, 128)})
        metrics = json.loads(report.read_text())["evaluation"]["metrics"]
        self.assertGreater(metrics["mask_map50"]["value"], 0.3)
        try:
            from pycocotools.coco import COCO
            from pycocotools.cocoeval import COCOeval
        except ImportError as error:
            self.skipTest(f"pip install pycocotools: {error}")
        for kind, prefix in (("segm", "mask_"), ("bbox", "")):
            with contextlib.redirect_stdout(io.StringIO()):
                truth = COCO(str(annotations))
                scored = COCOeval(truth, truth.loadRes(str(results)), kind)
                scored.evaluate()
                scored.accumulate()
                scored.summarize()
            for name, value in zip(("map", "map50", "map75"), scored.stats):
                self.assertEqual(metrics[prefix + name]["value"], float(value), prefix + name)


class SingleMap(InstanceSegmentation):
    """The same of a detector that looks at regions of one feature map by the last stage of its body."""
    MODEL, EPOCHS, MASK_SIDE = "maskrcnn_c4_tiny", 16, 14


if __name__ == "__main__":
    unittest.main()
