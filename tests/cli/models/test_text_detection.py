"""Texts in images: found after a training on lists as PaddleOCR's, by infer and in ICDAR's files, and what is refused."""
import json
import random
import unittest

from program import ProgramTest, get_figures, run
from trained import png

SIDE = 64
SIGNS = """\
model: {{name: dbnet_tiny}}
data: {{source: text_boxes, path: {data}, train_file: train.txt, dev_file: val.txt, image_size: 64, batch_size: 8, workers: 1,
       augment: crop_flip}}
train: {{epochs: 12, optimizer: {{name: adamw, lr: 1.0e-2}}, schedule: {{name: cosine, warmup_steps: 10}}}}
eval: {{every_epochs: 12}}
output: {{dir: {out}, predictions: true}}
"""


def draw(noise):
    """A picture of stripes, as of letters, on a dark ground, and the corners of the box around them."""
    width, height = noise.randint(24, 44), noise.randint(14, 20)
    left, top = noise.randint(2, SIDE - width - 2), noise.randint(2, SIDE - height - 2)
    rows = []
    for y in range(SIDE):
        row = []
        for x in range(SIDE):
            is_ink = left <= x < left + width and top <= y < top + height and (x - left) % 4 < 3
            row.append(((200 if is_ink else 20) + noise.randint(0, 30),) * 3)
        rows.append(row)
    right, bottom = left + width, top + height
    return png(rows), [[left, top], [right, top], [right, bottom], [left, bottom]]


def write_signs(folder, split, count, seed):
    """Pictures, their list, and ICDAR's files beside them."""
    noise, lines = random.Random(seed), []
    (folder / split).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        picture, corners = draw(noise)
        (folder / split / f"{number}.png").write_bytes(picture)
        numbers = ",".join(str(value) for corner in corners for value in corner)
        (folder / split / f"gt_{number}.txt").write_text(f"{numbers},sign\n")
        lines.append(f"{split}/{number}.png\t{json.dumps([{'transcription': 'sign', 'points': corners}])}\n")
    (folder / f"{split}.txt").write_text("".join(lines))


class Lists(ProgramTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        write_signs(self.data, "train", 96, 1)
        write_signs(self.data, "val", 24, 2)
        self.config.write_text(SIGNS.format(data=self.data, out=self.folder / "runs"))

    def test_signs_are_found(self):
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        self.assertEqual(report["evaluation"]["primary"], "hmean")
        figures = get_figures(report)
        self.assertGreater(figures["hmean"], 0.8)
        self.assertAlmostEqual(figures["hmean"], 2 / (1 / figures["precision"] + 1 / figures["recall"]), places=6)

        weights = f"model.weights={self.folder / 'own/model.safetensors'}"
        again = run("eval", self.config, "-o", weights, "-o", "data.source=icdar", "--out", self.folder / "again",
                    "--progress", "none")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertAlmostEqual(get_figures(self.report("again"))["hmean"], figures["hmean"], places=6)

        images = [self.data / f"val/{number}.png" for number in range(4)]
        asked = run("infer", self.folder / "own", *images, "--json")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        answers = [json.loads(line) for line in asked.stdout.splitlines()]
        self.assertEqual(len(answers), 4)
        found = [text for one in answers for text in one["texts"]]
        self.assertTrue(found)
        for text in found:
            self.assertEqual([len(corner) for corner in text["points"]], [2, 2, 2, 2])
            self.assertTrue(all(0 <= value <= SIDE for corner in text["points"] for value in corner))
            self.assertTrue(0.6 <= text["score"] <= 1)
        shown = run("infer", self.folder / "own", images[0])
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn(" at " if answers[0]["texts"] else "nothing", shown.stdout)

    def test_refusals_are_one_line(self):
        def with_line(text, *arguments):
            (self.data / "val.txt").write_text(text + "\n")
            return self.train("own", "--fresh", "-o", "train.epochs=1", *arguments)
        good = (self.data / "val.txt").read_text().splitlines()[0]
        self.assert_one_line_error(with_line("val/1.png []"), 1,
                                   "val.txt:1: expected the path of an image, a tab and a list of its texts")
        self.assert_one_line_error(with_line("val/1.png\t[{}]"), 1, 'val.txt:1: text 1: expected {"transcription": text, ')
        self.assert_one_line_error(with_line("val/1.png\t[]"), 1, "val.txt: has no box around text to read in 1 image")
        self.assert_one_line_error(with_line(good.replace("/0.png", "/none.png")), 1, "val/none.png")
        self.assert_one_line_error(with_line(good, "-o", "data.image_size=40"), 2, "dbnet_tiny needs multiples of 32 px")
        self.assert_one_line_error(with_line(good, "-o", "data.random_erasing=0.5"), 2, "data.random_erasing: ")
        self.assert_one_line_error(with_line(good, "-o", "eval.flip=true"), 2, "eval.flip: ")
        (self.data / "val/gt_3.txt").write_text("1,2,3,4,5,6,7,sign\n")
        self.assert_one_line_error(with_line(good, "-o", "data.source=icdar"), 1,
                                   "gt_3.txt:1: expected x1,y1,x2,y2,x3,y3,x4,y4,text")


if __name__ == "__main__":
    unittest.main()
