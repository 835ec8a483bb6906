"""ptrain data pack: from a folder of images to packs that train."""
import struct
import unittest
import zlib

from program import ProgramTest, run

RESNET = """\
model: {name: resnet18, classes: 2}
data: {source: packed, path: PACKS, image_size: 16, batch_size: 4, workers: 1}
train: {steps: 3, log_every_steps: 1, optimizer: {name: momentum, lr: 1.0e-3}, schedule: {name: constant}}
eval: {every_epochs: 1}
output: {dir: runs/tiny, save: false}
"""


def png(width, height, colour):
    """An RGB8 PNG of one colour."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = (b"\0" + bytes(colour) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class DataPack(ProgramTest):
    def setUp(self):
        super().setUp()
        self.images = self.folder / "images"
        for split, count in (("train", 8), ("val", 4)):
            for number, name in enumerate(("cat", "dog")):
                directory = self.images / split / name
                directory.mkdir(parents=True)
                for i in range(count // 2):
                    (directory / f"{i}.png").write_bytes(png(20 + i, 30, (200 * number, 40 * i, 90)))

    def test_packs_train_and_evaluate(self):
        packed = run("data", "pack", self.images, "--out", self.folder / "packs")
        self.assertEqual(packed.returncode, 0, packed.stderr)
        self.assertIn("train.pack: 8 images", packed.stdout)
        config = self.folder / "packed.yaml"
        for source, path in (("packed", self.folder / "packs"), ("image_folder", self.images)):
            config.write_text(RESNET.replace("PACKS", str(path)).replace("packed", source))
            trained = self.train(source, config=config)
            self.assertEqual(trained.returncode, 0, trained.stderr)
            self.assertEqual(self.report(source)["accuracy"]["eval_samples"], 4)
        self.assertEqual(self.losses("packed"), self.losses("image_folder"))

    def test_undecodable_images_are_left_out_and_named(self):
        (self.images / "train/cat/broken.jpg").write_bytes(b"\xff\xd8\xff garbage")
        packed = run("data", "pack", self.images, "--out", self.folder / "packs")
        self.assertEqual(packed.returncode, 0, packed.stderr)
        self.assertIn("cat/broken.jpg", packed.stderr)
        self.assertIn("8 images, 0.0 MiB, 1 left out", packed.stdout)
        refused = run("data", "pack", self.images, "--out", self.folder / "none", "--max-bad-samples", 0)
        self.assert_one_line_error(refused, 1, "cat/broken.jpg", "more than 0 bad samples")
        self.assertEqual(list((self.folder / "none").iterdir()), [])

    def test_what_is_wrong_is_said_in_one_line(self):
        self.assert_one_line_error(run("data", "pack", self.folder, "--out", self.folder / "x"), 1, "no directory train")
        (self.folder / "binary/cifar-10-batches-bin").mkdir(parents=True)
        (self.folder / "binary/cifar-10-batches-bin/data_batch_1.bin").touch()
        self.assert_one_line_error(run("data", "pack", self.folder / "binary", "--out", self.folder / "x"), 1,
                                   "data.source cifar")
        self.assert_one_line_error(run("data", "pack", self.images), 2, "--out")
        config = self.folder / "packed.yaml"
        config.write_text(RESNET.replace("PACKS", str(self.folder)))
        self.assert_one_line_error(self.train("x", config=config), 1, "train.pack")
        (self.folder / "train.pack").write_bytes(b"ptrainP1 and no more of it than this, which is too little")
        self.assert_one_line_error(self.train("x", config=config), 1, "train.pack", "truncated")


if __name__ == "__main__":
    unittest.main()
