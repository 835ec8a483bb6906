"""Photographs are read from end to end: a detector finds the signs, a recognizer reads them, in their order."""
import csv
import io
import json
import random
import unittest

from program import ProgramTest, run
from models.test_text_recognition import GLYPHS
from trained import png

HEIGHT, WIDTH, SCALE = 96, 128, 3
SIGNS = """\
model: {{name: dbnet_tiny}}
data: {{source: text_boxes, path: {data}, train_file: train.txt, dev_file: val.txt, image_size: 96x128, batch_size: 8,
       workers: 1}}
train: {{epochs: 24, optimizer: {{name: adamw, lr: 1.0e-2}}, schedule: {{name: cosine, warmup_steps: 10}}}}
eval: {{every_epochs: 24}}
"""
NUMBERS = """\
model: {{name: crnn_tiny}}
data: {{source: text_images, path: {data}, train_file: train.txt, dev_file: val.txt, image_size: 32x64, max_length: 4,
       batch_size: 16, workers: 1}}
train: {{epochs: 16, optimizer: {{name: adamw, lr: 1.0e-3}}, schedule: {{name: cosine, warmup_steps: 10}}, clip_norm: 5}}
eval: {{every_epochs: 16}}
"""


def put_sign(rows, text, left, top, noise):
    """Draws a light sign with a dark number; the corners of its box."""
    width, height = (4 * len(text) + 1) * SCALE, 7 * SCALE
    for y in range(height):
        for x in range(width):
            column, line = x // SCALE - 1, y // SCALE - 1
            digit, place = divmod(column, 4)
            is_ink = (0 <= digit < len(text) and column >= 0 and place < 3 and 0 <= line < 5
                      and int(GLYPHS[text[digit]][line]) >> (2 - place) & 1)
            rows[top + y][left + x] = ((20 if is_ink else 210) + noise.randint(0, 30),) * 3
    right, bottom = left + width, top + height
    return [[left, top], [right, top], [right, bottom], [left, bottom]]


def ground(height, width, noise):
    return [[(60 + noise.randint(0, 30),) * 3 for _ in range(width)] for _ in range(height)]


def draw_numbers(noise, lengths=(1, 2, 3)):
    return "".join(noise.choice(list(GLYPHS)) for _ in range(noise.choice(lengths)))


def write_photos(folder, split, count, seed):
    """Photographs with a sign or two in each of two lines, and their list; the texts of each in reading order."""
    noise, lines, all_texts = random.Random(seed), [], []
    (folder / split).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        rows, texts, boxes = ground(HEIGHT, WIDTH, noise), [], []
        for top in (noise.randint(4, 16), noise.randint(52, 68)):
            wide = noise.random() < 0.3
            for left in ((noise.randint(4, 30),) if wide else (noise.randint(3, 8), noise.randint(70, 80))):
                texts.append(draw_numbers(noise, (6,) if wide else (2, 3)))
                boxes.append(put_sign(rows, texts[-1], left, top + noise.randint(0, 6), noise))
        (folder / split / f"{number}.png").write_bytes(png(rows))
        items = [{"transcription": text, "points": box} for text, box in zip(texts, boxes)]
        lines.append(f"{split}/{number}.png\t{json.dumps(items)}\n")
        all_texts.append(texts)
    (folder / f"{split}.txt").write_text("".join(lines))
    return all_texts


def write_cuttings(folder, split, count, seed):
    """Single signs with a little around them, as a detector cuts them out, and their list."""
    noise, lines = random.Random(seed), []
    (folder / split).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        text = draw_numbers(noise)
        above, left, below, right = (noise.randint(0, 4) for _ in range(4))
        rows = ground(7 * SCALE + above + below, (4 * len(text) + 1) * SCALE + left + right, noise)
        put_sign(rows, text, left, above, noise)
        (folder / split / f"{number}.png").write_bytes(png(rows))
        lines.append(f"{split}/{number}.png\t{text}\n")
    (folder / f"{split}.txt").write_text("".join(lines))


class Photographs(ProgramTest):
    def learn(self, name, config):
        self.config.write_text(config.format(data=self.folder / f"{name}_data"))
        trained = self.train(name)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        return self.folder / name

    def setUp(self):
        super().setUp()
        write_photos(self.folder / "signs_data", "train", 96, 1)
        self.texts = write_photos(self.folder / "signs_data", "val", 12, 2)
        write_cuttings(self.folder / "numbers_data", "train", 512, 3)
        write_cuttings(self.folder / "numbers_data", "val", 32, 4)
        self.photos = [self.folder / f"signs_data/val/{number}.png" for number in range(12)]

    def draw_large_photo(self):
        """Twice as high and wide, with signs of the same size."""
        noise, texts = random.Random(5), []
        rows = ground(2 * HEIGHT, 2 * WIDTH, noise)
        for top in (10, 60, 110, 160):
            for left in (8, 90, 180):
                texts.append(draw_numbers(noise, (2, 3)))
                put_sign(rows, texts[-1], left, top, noise)
        path = self.folder / "large.png"
        path.write_bytes(png(rows))
        return path, texts

    def test_signs_are_found_and_read(self):
        detector, recognizer = self.learn("signs", SIGNS), self.learn("numbers", NUMBERS)
        asked = run("infer", detector, *self.photos, "--recognizer", recognizer, "--json")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        answers = [json.loads(line) for line in asked.stdout.splitlines()]
        self.assertEqual([one["input"] for one in answers], [str(path) for path in self.photos])
        read = [[one["text"] for one in answer["texts"]] for answer in answers]
        right = sum(found == expected for found, expected in zip(read, self.texts))
        self.assertGreaterEqual(right, 9, f"{read}\n{self.texts}")
        wide = [text for texts in self.texts for text in texts if len(text) == 6]
        self.assertGreaterEqual(sum(text in sum(read, []) for text in wide), 0.8 * len(wide), "lines of twice the width")
        for one in (one for answer in answers for one in answer["texts"]):
            self.assertTrue(0 < one["probability"] <= 1 and 0.6 <= one["score"] <= 1)
            (x0, y0), (x1, y1), (x2, y2), (x3, y3) = one["points"]
            self.assertTrue(0 <= x0 < x1 <= WIDTH and x3 < x2 and 0 <= y0 < y3 <= HEIGHT and y1 < y2, one["points"])

        texts = [one for answer in answers for one in answer["texts"]]
        asked = run("infer", detector, *self.photos, "--recognizer", recognizer, "--format", "csv", "--batch", 1)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        rows = list(csv.DictReader(io.StringIO(asked.stdout)))
        self.assertEqual([row["text"] for row in rows], [one["text"] for one in texts], "whatever the batch")
        self.assertEqual([[float(row["x3"]), float(row["y3"])] for row in rows], [one["points"][2] for one in texts])
        shown = run("infer", detector, self.photos[0], "--recognizer", recognizer)
        self.assertEqual(len(shown.stdout.splitlines()), len(read[0]))
        self.assertTrue(shown.stdout.startswith(f"{self.photos[0]}: {read[0][0]} "), shown.stdout)

        large, expected = self.draw_large_photo()
        asked = run("infer", detector, large, "--recognizer", recognizer, "--longest-side", 2 * WIDTH, "--json")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        found = json.loads(asked.stdout)["texts"]
        self.assertGreaterEqual(sum(one["text"] in expected for one in found), 0.8 * len(expected), found)
        self.assertGreater(max(one["points"][2][0] for one in found), 1.5 * WIDTH)
        small = run("infer", detector, large, "--recognizer", recognizer, "--json")
        self.assertNotEqual(small.stdout, asked.stdout, "in the model's size")

        self.assert_one_line_error(run("infer", recognizer, self.photos[0], "--longest-side", 256), 2,
                                   "--longest-side: needs boxes around text; ")
        self.assert_one_line_error(run("infer", detector, self.photos[0], "--recognizer", detector), 2,
                                   "--recognizer: expected a model that reads lines of text; ")
        self.assert_one_line_error(run("infer", recognizer, self.photos[0], "--recognizer", recognizer), 2,
                                   "--recognizer: needs boxes around text; ")


if __name__ == "__main__":
    unittest.main()
