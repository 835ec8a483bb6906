"""Images in WebDataset's tar shards and in TFRecord files: trained on as a folder of them is."""
import random
import shutil
import unittest

from data_files import example, write_tar, write_tf_records
from program import ProgramTest, run
from test_data import png

RESNET = """\
model: {name: resnet18}
data: {source: SOURCE, path: FOLDER, image_size: 16, batch_size: 4, workers: 2}
train: {steps: 4, log_every_steps: 1, optimizer: {name: momentum, lr: 1.0e-3}, schedule: {name: constant}}
amp: {level: O0}
eval: {every_epochs: 1}
output: {dir: runs/shards, save: false}
"""
CLASSES = ("cat", "dog")


class Shards(ProgramTest):
    def setUp(self):
        super().setUp()
        self.images = {split: self.make(split, count) for split, count in (("train", 8), ("val", 4))}

    def make(self, split, count):
        """(class, name, image) of each, in a folder's order; the folder too."""
        images = []
        for number, name in enumerate(CLASSES):
            folder = self.folder / "folder" / split / name
            folder.mkdir(parents=True)
            for i in range(count // 2):
                images.append((number, f"{i}.png", png(20 + i, 30, (200 * number, 40 * i, 90))))
                (folder / f"{i}.png").write_bytes(images[-1][2])
        return images

    def tars(self, split, shards=3, names=True, folder="webdataset"):
        """Members of a sample together, samples in no order."""
        images = list(self.images[split])
        random.Random(0).shuffle(images)
        for shard in range(shards):
            members = []
            for number, name, image in images[shard::shards]:
                key = f"{CLASSES[number]}/{name.split('.')[0]}"
                label = CLASSES[number] if names else str(number)
                members += [(key + ".cls", label.encode()), (key + ".png", image)]
            write_tar(self.folder / folder / split / f"{shard:04}.tar", members)

    def records(self, split, first=0, folder="tfrecord"):
        images = list(self.images[split])
        random.Random(1).shuffle(images)
        for shard in range(2):
            write_tf_records(self.folder / folder / f"{split}-{shard:05}-of-00002",
                             [example(image__height=30, image__encoded=image, image__filename=name.encode(),
                                      image__class__text=CLASSES[number].encode(), image__class__label=number + first)
                              for number, name, image in images[shard::2]])

    def configured(self, source, folder=None):
        self.config.write_text(RESNET.replace("SOURCE", source).replace("FOLDER", str(self.folder / (folder or source))))
        return self.config

    def trained(self, name, source, *arguments, folder=None):
        self.configured(source, folder)
        trained = self.train(name, *arguments)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        return self.losses(name), self.report(name)

    def test_every_form_gives_a_folders_losses(self):
        for split in self.images:
            self.tars(split)
            self.tars(split, shards=1, names=False, folder="numbered")
            self.records(split)
            self.records(split, first=1, folder="from_one")
        losses, report = self.trained("folder", "image_folder", folder="folder")
        self.assertEqual(len(losses), 4)
        for name, source, *keys in (("webdataset", "webdataset"), ("numbered", "webdataset"), ("tfrecord", "tfrecord"),
                                    ("from_one", "tfrecord", "-o", "data.first_label=1")):
            found, other = self.trained("run_" + name, source, *keys, folder=name)
            self.assertEqual(found, losses, name)
            self.assertEqual(other["evaluation"]["metrics"]["loss"]["value"], report["evaluation"]["metrics"]["loss"]["value"], name)
            self.assertEqual(other["data"], report["data"], name)
            if name != "numbered":
                self.assertEqual(other["model"]["labels"], report["model"]["labels"], name)

    def test_one_set_of_shards_is_parted_as_a_folder_is(self):
        self.tars("train", shards=1)
        shutil.move(self.folder / "webdataset/train/0000.tar", self.folder / "webdataset/pets-0000.tar")
        self.records("train")
        shutil.rmtree(self.folder / "folder/val")
        runs = [self.trained(name, source, "-o", "data.split.dev=0.25", folder=folder)
                for name, source, folder in (("a", "image_folder", "folder"), ("b", "webdataset", "webdataset"),
                                             ("c", "tfrecord", "tfrecord"))]
        self.assertEqual([report["data"]["evaluation_samples"] for _, report in runs], [2, 2, 2])
        self.assertEqual([losses for losses, _ in runs], [runs[0][0]] * 3)
        self.assertEqual([report["evaluation"]["metrics"]["loss"]["value"] for _, report in runs], [runs[0][1]["evaluation"]["metrics"]["loss"]["value"]] * 3)

    def test_damaged_images_are_skipped_and_counted(self):
        self.records("train")
        self.records("val")
        path = self.folder / "tfrecord/train-00000-of-00002"
        content = bytearray(path.read_bytes())
        content[content.index(b"IDAT") + 6] ^= 1
        path.write_bytes(content)
        self.configured("tfrecord")
        self.assert_one_line_error(self.train("refuses"), 1, "its checksum is wrong (damaged)",
                                   "more bad samples than data.max_bad_share 0.01 of 8 samples allows")
        _, report = self.trained("skips", "tfrecord", "-o", "data.max_bad_share=0.2")
        self.assertEqual(report["progress"]["bad_samples"], 1)
        refused = self.train("refuses", "-o", "data.max_bad_samples=0")
        self.assert_one_line_error(refused, 1, "train-00000-of-00002: byte", "its checksum is wrong (damaged)")

    def test_what_is_wrong_is_said_in_one_line(self):
        self.configured("webdataset")
        (self.folder / "webdataset").mkdir()
        self.assert_one_line_error(run("validate", self.config), 1, "has no shards to train on; expected train/*.tar")
        self.tars("train")
        self.assert_one_line_error(run("validate", self.config), 1, "has no shards to evaluate on", "data.split.dev")
        self.tars("val", shards=1)
        self.assertEqual(run("validate", self.config).returncode, 0)
        shard = self.folder / "webdataset/val/0000.tar"
        whole = shard.read_bytes()
        shard.write_bytes(whole[:700])
        self.assert_one_line_error(run("validate", self.config), 1, "val/0000.tar: byte", "truncated")
        write_tar(shard, [("dog/7.png", b"x")])
        self.assert_one_line_error(run("validate", self.config), 1, 'val/0000.tar: byte 0: sample "dog/7" has no class')
        write_tar(shard, [("dog/7.png", b"x"), ("dog/7.cls", b"fox")])
        self.assert_one_line_error(run("validate", self.config), 1, 'class "fox" does not occur')

    def test_raw_pixels_are_called_no_images(self):
        for split in self.images:
            write_tf_records(self.folder / "tfrecord" / f"{split}-00000-of-00001",
                             [example(image__encoded=bytes([80 * i]) * 768, image__class__label=i % 2) for i in range(4)])
        self.configured("tfrecord")
        self.assert_one_line_error(self.train("raw"), 1, "not a JPEG, PNG, WebP or BMP image")

    def test_labels_out_of_range_name_the_key(self):
        self.records("train", first=1)
        self.records("val", first=1)
        self.configured("tfrecord")
        refused = run("validate", self.config, "-o", "model.classes=2")
        self.assert_one_line_error(refused, 1, "label 2 is out of range: expected 0 to 1", "data.first_label")
        noted = run("validate", self.config)
        self.assertIn("labels are 1 to 2; data.first_label 1 would make 1 the first class", noted.stderr)
        self.assertEqual(run("validate", self.config, "-o", "data.first_label=1", "-o", "model.classes=2").returncode, 0)
        for split in ("train", "val"):
            self.records(split, first=8)
        gaps = run("validate", self.config)  # labels 8 and 9 keep their numbers
        self.assertIn("10 classes", gaps.stdout)
        self.assertIn('8 of 10 classes have no training sample, first "0"', gaps.stderr)
        unread = run("validate", self.config, "-o", "data.first_label=1", "-o", "data.source=synthetic")
        self.assertIn("data.first_label: not read with data.source synthetic", unread.stderr)


if __name__ == "__main__":
    unittest.main()
