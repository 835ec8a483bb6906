"""Data in forms of its own: packs that ptrain data pack makes of a folder of images, and clips in folders of frames."""
import fcntl
import json
import pathlib
import struct
import unittest
import zlib

from program import ProgramTest, run
from trained import picture, png as png_of_pixels

RESNET = """\
model: {name: resnet18, classes: 2}
data: {source: packed, path: PACKS, image_size: 16, batch_size: 4, workers: 1}
train: {steps: 3, log_every_steps: 1, optimizer: {name: momentum, lr: 1.0e-3}, schedule: {name: constant}}
eval: {every_epochs: 1}
output: {dir: runs/tiny, save: false}
"""

CLIPS = """\
model: {name: tsn_resnet50, segments: 3, dropout: 0.4, stem: imagenet, zero_init_residual: false}
data: {source: clip_folder, path: CLIPS, image_size: 16, batch_size: 4, workers: 1, trivial_augment: true, random_erasing: 0.5}
train:
  steps: 4
  optimizer: {name: adamw, lr: 1.0e-3}
  schedule: {name: constant}
  log_every_steps: 1
  measure_after_steps: 1
  cutmix: 1.0
flags: {cudnn_exhaustive_search: false}
output: {checkpoint_every_steps: 2, predictions: true}
"""
CLASSES = ("blue", "red")


def png(width, height, colour, black_rows=0):
    """An RGB8 PNG of one colour, below some black rows."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"\0" * (1 + 3 * width) * black_rows + (b"\0" + bytes(colour) * width) * (height - black_rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def with_chunk(image, kind, body):
    """A PNG with one more chunk after its header."""
    return image[:33] + struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) + image[33:]


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
            self.assertEqual(self.report(source)["evaluation"]["eval_samples"], 4)
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

    def test_two_packs_of_different_times_are_refused(self):
        old, new, again = (self.folder / name for name in ("old", "new", "again"))
        for folder in (old, again):
            self.assertEqual(run("data", "pack", self.images, "--out", folder).returncode, 0)
        self.assertEqual((old / "train.pack").read_bytes(), (again / "train.pack").read_bytes())
        with open(again / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assert_one_line_error(run("data", "pack", self.images, "--out", again), 1, "is writing there")
        (self.images / "train/dog/0.png").write_bytes(png(20, 30, (1, 2, 3)))
        self.assertEqual(run("data", "pack", self.images, "--out", new).returncode, 0)
        (new / "train.pack").rename(old / "train.pack")  # as a kill leaves them between the two renames of data pack
        config = self.folder / "packed.yaml"
        config.write_text(RESNET.replace("PACKS", str(old)))
        self.assert_one_line_error(self.train("x", config=config), 1, "val.pack: was not written together with",
                                   "pack again")

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


class ImageFolder(DataPack):
    test_packs_train_and_evaluate = test_undecodable_images_are_left_out_and_named = None
    test_what_is_wrong_is_said_in_one_line = test_two_packs_of_different_times_are_refused = None

    def setUp(self):
        super().setUp()
        self.config.write_text(RESNET.replace("PACKS", str(self.images)).replace("packed", "image_folder"))

    def test_unread_samples_are_noted_or_refused(self):
        for name in ("train/cat/0.png", "val/dog/1.png"):
            (self.images / name).write_bytes(b"no image")
        refused = self.train("refused")
        self.assert_one_line_error(refused, 1, "train/cat/0.png", "more bad samples than data.max_bad_share 0.01")
        noted = self.train("noted", "-o", "data.max_bad_share=0.5")
        self.assertEqual(noted.returncode, 0, noted.stderr)
        self.assertRegex(noted.stdout, "unread +1 training sample could not be read.*train/cat/0.png")
        self.assertRegex(noted.stdout, "unread +1 evaluation sample could not be read.*val/dog/1.png")
        progress = self.report("noted")["progress"]
        self.assertEqual((progress["bad_samples"], progress["bad_evaluation_samples"]), (1, 1))
        self.assertEqual(set(progress["unread"]), {"training", "evaluation"})

    def test_infer_sees_the_images_of_the_evaluation(self):
        (self.images / "val/cat").rename(self.folder / "pool")
        (self.images / "val/cat").symlink_to(self.folder / "pool")
        (self.folder / "pool/below").mkdir()
        (self.folder / "pool/0.png").rename(self.folder / "pool/below/0.png")
        trained = self.train("trained", "-o", "output.save=true")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertEqual(self.report("trained")["evaluation"]["eval_samples"], 4)
        answers = run("infer", self.folder / "trained", self.images / "val", "--format", "csv", "--progress", "none")
        self.assertEqual(answers.returncode, 0, answers.stderr)
        lines = sorted(line.split(",")[:2] for line in answers.stdout.splitlines()[1:])
        self.assertEqual([label for _, label in lines], ["cat", "cat", "dog", "dog"])

    def test_orientation_is_that_of_exif_unless_a_key_says_otherwise(self):
        quarter = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"  # orientation 6
        for number, path in enumerate(sorted(self.images.glob("*/*/*.png"))):
            path.write_bytes(with_chunk(png(20, 30, (40 * (number % 5), 99, 90), black_rows=15), b"eXIf", quarter))
        self.assertEqual(run("data", "pack", self.images, "--out", self.folder / "packs").returncode, 0)
        upright = self.train("upright", "-o", "output.save=true")
        self.assertEqual(upright.returncode, 0, upright.stderr)
        packed = self.train("packed", "-o", "data.source=packed", "-o", f"data.path={self.folder}/packs")
        self.assertEqual(packed.returncode, 0, packed.stderr)
        self.assertEqual(self.losses("packed"), self.losses("upright"))
        stored = self.train("stored", "-o", "output.save=true", "-o", "data.exif_orientation=false")
        self.assertEqual(stored.returncode, 0, stored.stderr)
        self.assertNotEqual(self.losses("stored"), self.losses("upright"))
        orientations = [json.loads((self.folder / name / "model.json").read_text())["image"].get("orientation")
                        for name in ("upright", "stored")]
        self.assertEqual(orientations, [None, "stored"])

    def test_resuming_with_other_labels_is_noted(self):
        keep = ("-o", "output.save=true")
        self.assertEqual(self.train("run", *keep).returncode, 0)
        same = self.train("run", *keep, "-o", "train.steps=4", "--resume", "auto")
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertNotIn("other training data", " ".join(self.report("run")["notes"]))
        (self.images / "train/cat").rename(self.images / "train/x")
        (self.images / "train/dog").rename(self.images / "train/cat")
        (self.images / "train/x").rename(self.images / "train/dog")
        (self.images / "train/dog/0.png").rename(self.images / "train/dog/9.png")
        other = self.train("run", *keep, "-o", "train.steps=5", "--resume", "auto")
        self.assertEqual(other.returncode, 0, other.stderr)
        self.assertIn("was made with other training data", " ".join(self.report("run")["notes"]))


class Clips(ProgramTest):
    def setUp(self):
        super().setUp()
        self.clips = self.folder / "clips"
        for split, count in (("train", 6), ("val", 3)):
            for colour in CLASSES:
                for clip in range(count):
                    self.write_clip(split, colour, clip, 5)
        self.config.write_text(CLIPS.replace("CLIPS", str(self.clips)))

    def write_clip(self, split, colour, clip, frames):
        folder = self.clips / split / colour / f"clip{clip}"
        folder.mkdir(parents=True)
        for frame in range(frames):
            (folder / f"{frame:05d}.png").write_bytes(png_of_pixels(picture(colour, f"{split} {clip} {frame}")))
        return folder

    def trained(self, output, *arguments):
        result = self.train(output, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.report(output)

    def test_trains_resumes_bit_for_bit_and_answers(self):
        whole = self.trained("whole")
        self.assertEqual((whole["model"]["name"], whole["model"]["sample"]), ("tsn_resnet50", "clip"))
        self.assertEqual((whole["throughput"]["unit"], whole["throughput"]["samples"]), ("clips/s", 12))
        self.assertEqual(whole["evaluation"]["eval_samples"], 6)
        self.trained("parts", "--resume", self.folder / "whole/ckpt-2.safetensors")
        weights = [(self.folder / name / "model.safetensors").read_bytes() for name in ("whole", "parts")]
        self.assertEqual(weights[0], weights[1])

        lines = [json.loads(line) for line in (self.folder / "whole/predictions.jsonl").read_text().splitlines()]
        self.assertEqual([pathlib.Path(line["file"]).name for line in lines], ["clip0", "clip1", "clip2"] * 2)
        for line in lines:
            self.assertEqual("picture" in line, line["truth"] != line["prediction"])

        report = self.folder / "answers.json"
        answered = run("infer", self.folder / "whole", self.clips / "val", "--format", "jsonl", "--report", report)
        self.assertEqual(answered.returncode, 0, answered.stderr)
        answers = [json.loads(line) for line in answered.stdout.splitlines()]
        self.assertEqual([pathlib.Path(answer["input"]).parent.name for answer in answers], ["blue"] * 3 + ["red"] * 3)
        self.assertAlmostEqual(json.loads(report.read_text())["evaluation"]["metrics"]["top1"]["value"], whole["evaluation"]["metrics"]["top1"]["value"])
        one = run("infer", self.folder / "whole", f"{self.clips}/val/red/clip1/", "--format", "jsonl")
        self.assertEqual(json.loads(one.stdout)["classes"], answers[4]["classes"], one.stderr)
        self.assertEqual(json.loads(one.stdout)["truth"], "red")
        self.refuse_what_is_for_images(self.folder / "whole")

    def refuse_what_is_for_images(self, model):
        clip = self.clips / "val/red/clip0"
        self.assert_one_line_error(run("infer", model, clip / "00000.png"), 1, "is a file; expected a clip")
        self.assert_one_line_error(run("infer", model, self.folder / "none"), 1, "no such folder of frames")
        short = self.write_clip("other", "red", 0, 2)
        self.assert_one_line_error(run("infer", model, short), 1, "clip0: has 2 frames")
        for command in (("export", model, "--out", self.folder / "out", "--format", "onnx"),
                        ("quantize", model, "--calibrate", self.clips / "val", "--out", self.folder / "out")):
            self.assert_one_line_error(run(*command), 2, "reads clips of 3 frames")
        self.assertEqual(run("export", model, "--out", self.folder / "exported").returncode, 0)

    def test_what_is_wrong_is_said_in_one_line(self):
        self.assert_one_line_error(self.train("x", "-o", "model.name=resnet18"), 2, "data.source", "got clip_folder")
        self.assert_one_line_error(self.train("x", "-o", "data.source=image_folder"), 2,
                                   "reads clip_folder or synthetic, got image_folder")
        self.write_clip("train", "red", 9, 2)
        self.assert_one_line_error(self.train("x"), 1, "train/red/clip9: has 2 frames", "at least 3", "model.segments")
        self.assert_one_line_error(self.train("x", "-o", "model.segments=0"), 2, "model.segments")

    def test_stacks_successive_frames_of_segments(self):
        model = "model: {name: stnet_resnet50, segments: 2, frames_per_segment: 2, stem: imagenet, zero_init_residual: false}"
        self.config.write_text(self.config.read_text().replace(CLIPS.splitlines()[0], model))
        report = self.trained("stacked")
        self.assertEqual((report["model"]["name"], report["model"]["sample"]), ("stnet_resnet50", "clip"))
        answered = run("infer", self.folder / "stacked", self.clips / "val", "--format", "jsonl")
        self.assertEqual(answered.returncode, 0, answered.stderr)
        found = [json.loads(line) for line in answered.stdout.splitlines()]
        kept = [json.loads(line) for line in (self.folder / "stacked/predictions.jsonl").read_text().splitlines()]
        self.assertEqual([one["classes"][0]["name"] for one in found], [one["prediction"] for one in kept])
        self.assert_one_line_error(run("export", self.folder / "stacked", "--out", self.folder / "out", "--format", "onnx"), 2, "reads clips of 4 frames")
        self.assert_one_line_error(self.train("x", "-o", "model.frames_per_segment=3"), 1, "clip0: has 5 frames", "at least 6",
                                   "model.segments times model.frames_per_segment")
        self.assert_one_line_error(self.train("x", "-o", "model.frames_per_segment=0"), 2, "model.frames_per_segment")

    def test_init_knows_clips(self):
        out = self.folder / "mine.yaml"
        written = run("init", self.clips, "--out", out)
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertIn("12 training samples of 2 classes", written.stdout)
        self.assertEqual(run("validate", out).returncode, 0)
        for line in ("model: {name: tsn_resnet50}", "  source: clip_folder", "  image_size: 16", "  batch_size: 2"):
            self.assertIn(line, out.read_text())


if __name__ == "__main__":
    unittest.main()
