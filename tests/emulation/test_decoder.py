"""data.decoder gpu: an error says where the key was set and why it cannot be used, before anything is measured."""
import os

from program import ProgramTest, run
from test_data import png

IMAGES = """\
model: {name: resnet18}
data:
  source: image_folder
  path: FOLDER
  decoder: gpu
  image_size: 16
  batch_size: 2
  workers: 2
train: {steps: 2, schedule: {name: constant}}
amp: {level: O0}
flags: {cudnn_exhaustive_search: false}
eval: {every_epochs: 0}
output: {save: false}
"""


class Decoder(ProgramTest):
    def setUp(self):
        super().setUp()
        for name in ("cat", "dog"):
            folder = self.folder / "images/train" / name
            folder.mkdir(parents=True)
            for i in range(2):
                (folder / f"{i}.png").write_bytes(png(20, 20, (9, 40 * i, 90)))
        self.images = self.folder / "images.yaml"
        self.images.write_text(IMAGES.replace("FOLDER", str(self.folder / "images")))

    def test_the_report_says_how_many_images_the_gpu_decoded(self):
        result = self.train("out", config=self.images)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.report("out")["progress"]["device_decoded"], 0)  # PNGs are the host's
        self.assertEqual(self.train("cpu", "-o", "data.decoder=cpu", config=self.images).returncode, 0)
        self.assertIsNone(self.report("cpu")["progress"]["device_decoded"])

    def test_a_library_that_is_missing_is_named_where_it_is_asked_for(self):
        environment = {**os.environ, "EMULATED_FAULT": "no nvJPEG"}
        result = self.train("out", config=self.images, env=environment)
        self.assert_one_line_error(result, 2, f"{self.images}:5: data.decoder: expected cpu or auto, got gpu: libnvjpeg.so.",
                                   "pip install nvidia-nvjpeg")
        self.assertIn("libnvjpeg.so.", run("doctor", env=environment | {"EMULATED_GPUS": "0"}).stdout)

    def test_a_machine_without_a_gpu_is_an_error_where_one_is_wanted(self):
        result = self.train("out", config=self.images, env={**os.environ, "EMULATED_GPUS": "0"})
        self.assert_one_line_error(result, 2, f"{self.images}:5: data.decoder: expected cpu or auto, got gpu: device cpu")
