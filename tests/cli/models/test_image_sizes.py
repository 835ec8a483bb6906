"""Images that are no squares: trained on, evaluated, asked about and exported."""
import json
import unittest

import trained
from program import ProgramTest, run

CONFIG = """\
model: {{name: {model}, classes: 3}}
data: {{source: {source}, image_size: {size}, batch_size: 4, synthetic_samples: 16, workers: 1, augment: {augment}}}
train: {{steps: 3, mixup: 0.2, cutmix: 1.0, optimizer: {{lr: 1.0e-3}}}}
eval: {{flip: true}}
flags: {{cudnn_exhaustive_search: false}}
"""


class ImageSizes(ProgramTest):
    def trained(self, model, size, source="synthetic", augment="none", overrides=()):
        self.config.write_text(CONFIG.format(model=model, size=size, source=source, augment=augment))
        result = self.train("own", "--fresh", *(part for one in overrides for part in ("-o", one)))
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.report("own")

    def picture(self, height, width):
        path = self.folder / f"{height}x{width}.png"
        path.write_bytes(trained.png([[(x * 3 % 256, y * 3 % 256, 90) for x in range(width)] for y in range(height)]))
        return path

    def answers(self, folder, *inputs):
        result = run("infer", folder, *inputs, "--format", "jsonl", "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_networks_of_several_kinds(self):
        for model in ("resnet18", "mobilenet_v2", "vit_b_16"):
            with self.subTest(model):
                report = self.trained(model, "96x64", overrides=["data.trivial_augment=true", "data.random_erasing=0.5"])
                self.assertEqual((report["status"], report["config"]["data"]["image_size"]), ("ok", "96x64"))
                self.assertEqual(report["evaluation"]["eval_samples"], 4)
                document = json.loads((self.folder / "own/model.json").read_text())
                self.assertEqual((document["image"]["size"], document["image"]["resized_to"]), ([96, 64], [110, 73]))
                again = run("eval", self.config, "-o", f"model.weights={self.folder}/own/model.safetensors", "--out",
                            self.folder / "again", "--fresh", "--progress", "none")
                self.assertEqual(again.returncode, 0, again.stderr)
                exported = run("export", self.folder / "own", "--out", self.folder / "model", "--format", "onnx")
                self.assertEqual(exported.returncode, 0, exported.stderr)
                fitting, other = self.answers(self.folder / "own", self.picture(110, 73), self.picture(200, 120))
                for answer in (fitting, other):
                    self.assertAlmostEqual(sum(one["probability"] for one in answer["classes"]), 1, places=4)

    def test_photos_in_training_and_evaluation(self):
        trained.draw_images(self.folder / "photos")
        for augment in ("random_resized_crop", "crop_flip"):
            with self.subTest(augment):
                report = self.trained("resnet18", "32x48", "image_folder", augment, [f"data.path={self.folder}/photos"])
                self.assertEqual((report["status"], report["evaluation"]["eval_samples"]), ("ok", 12))
                folder = self.folder / "photos/val/blue"
                self.assertEqual(len(self.answers(self.folder / "own", folder)), 4)

    def test_phases_grow_in_height_and_width(self):
        report = self.trained("resnet18", "32x64", overrides=[
            "train.steps=4", "train.phases.until=0.5,1", "train.phases.image_size=16x32,32x64"])
        self.assertEqual([phase["image_size"] for phase in report["phases"]], [[16, 32], [32, 64]])
        self.assertEqual(report["config"]["train"]["phases"]["image_size"], ["16x32", "32x64"])

    def test_a_size_is_in_tables_and_exports(self):
        self.trained("resnet18", "32x48")
        report = self.folder / "own/report.json"
        self.assertIn("32x48 px", run("table", report, "--columns", "run,work").stdout)
        self.assertIn(",32x48,", run("export-report", report, "--format", "timm").stdout)

    def test_what_a_network_cannot_read_is_refused(self):
        for model, size, part in (("vit_b_16", "96x40", "96x40 px cannot be divided into patches of 16 px"),
                                  ("vgg16", "64x28", "expected 32 px or more, got 64x28")):
            self.config.write_text(CONFIG.format(model=model, size=size, source="synthetic", augment="none"))
            refused = run("validate", self.config)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(part, refused.stderr)


if __name__ == "__main__":
    unittest.main()
