"""Texts in images: learnt from made-up words and from lists in PP-OCR's form, read again, and what is refused in one line."""
import json
import random
import unittest

from program import ProgramTest, get_figures, run
from trained import png

# Digits of 3x5 px: a row of bits each.
GLYPHS = {"0": "75557", "1": "26227", "4": "55711", "7": "71122"}
WORDS = """\
model: {{name: crnn_tiny}}
data: {{source: text_images, path: {data}, train_file: train.txt, dev_file: val.txt, image_size: 32x64, max_length: 4,
       batch_size: 16, workers: 1}}
train: {{epochs: 8, optimizer: {{name: adamw, lr: 1.0e-3}}, schedule: {{name: cosine, warmup_steps: 10}}, clip_norm: 5}}
eval: {{every_epochs: 8}}
output: {{dir: {out}, predictions: true}}
"""


def draw(text, seed):
    """A picture of a number, 4 px for each of a digit's, dark on light."""
    noise, scale = random.Random(seed), 4
    width, height = (4 * len(text) + 1) * scale, 7 * scale
    rows = [[(200 + noise.randint(0, 40),) * 3 for _ in range(width)] for _ in range(height)]
    for place, digit in enumerate(text):
        for y, bits in enumerate(GLYPHS[digit]):
            for x in range(3):
                if int(bits) >> (2 - x) & 1:
                    for dy in range(scale):
                        for dx in range(scale):
                            rows[(1 + y) * scale + dy][(4 * place + 1 + x) * scale + dx] = (noise.randint(10, 60),) * 3
    return png(rows)


def write_numbers(folder, split, count, seed):
    """Pictures of numbers and their list; the texts."""
    noise, lines, texts = random.Random(seed), [], []
    (folder / split).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        text = "".join(noise.choice(list(GLYPHS)) for _ in range(noise.randint(1, 3)))
        (folder / split / f"{number}.png").write_bytes(draw(text, seed + number))
        lines.append(f"{split}/{number}.png\t{text}\n")
        texts.append(text)
    (folder / f"{split}.txt").write_text("".join(lines))
    return texts


class Lists(ProgramTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        write_numbers(self.data, "train", 512, 1)
        self.texts = write_numbers(self.data, "val", 64, 100_000)
        self.config.write_text(WORDS.format(data=self.data, out=self.folder / "runs"))

    def test_numbers_are_read(self):
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        self.assertEqual(report["evaluation"]["primary"], "word_accuracy")
        figures = get_figures(report)
        self.assertGreater(figures["word_accuracy"], 0.9)
        self.assertLess(figures["normalized_edit_distance"], 0.05)
        lines = [json.loads(line) for line in (self.folder / "own/predictions.jsonl").read_text().splitlines()]
        self.assertEqual([line["truth"] for line in lines], self.texts)
        self.assertAlmostEqual(sum(line["error"] for line in lines) / len(lines), figures["normalized_edit_distance"], places=6)

        again = run("eval", self.config, "-o", f"model.weights={self.folder / 'own/model.safetensors'}", "--out",
                    self.folder / "again", "--progress", "none")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertAlmostEqual(get_figures(self.report("again"))["word_accuracy"], figures["word_accuracy"], places=6)
        other = run("eval", self.config, "-o", f"model.weights={self.folder / 'own/model.safetensors'}", "-o",
                    f"data.vocab={self.write('characters.txt', '7410')}", "--out", self.folder / "other", "--progress", "none")
        self.assert_one_line_error(other, 1, "model.json: has 5 classes of characters in another order")

        images = [self.data / f"val/{number}.png" for number in range(8)]
        asked = run("infer", self.folder / "own", *images, "--json")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        answers = [json.loads(line) for line in asked.stdout.splitlines()]
        self.assertEqual([one["text"] for one in answers], [line["prediction"] for line in lines[:8]])
        self.assertTrue(all(0 < one["probability"] <= 1 for one in answers))
        shown = run("infer", self.folder / "own", images[0])
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn(answers[0]["text"] + " ", shown.stdout)

    def write(self, name, characters):
        path = self.folder / name
        path.write_text("\n".join(characters) + "\n")
        return path

    def test_refusals_are_one_line(self):
        def with_line(text, *arguments):
            (self.data / "val.txt").write_text(f"val/0.png\t1\n{text}\n")
            return self.train("own", "--fresh", "-o", "train.epochs=1", *arguments)
        self.assert_one_line_error(with_line("val/1.png\t1x"), 1, 'val.txt:2: the text "1x" has the character "x"')
        self.assert_one_line_error(with_line("val/1.png\t"), 1, 'val.txt:2: "val/1.png" has no text')
        self.assert_one_line_error(with_line("val/1.png"), 1, "val.txt:2: expected the path of an image, a tab and its text")
        self.assert_one_line_error(with_line("val/none.png\t1"), 1, "val/none.png")
        self.assert_one_line_error(with_line("val/1.png\t1", "-o", "data.max_length=25"), 2,
                                   "data.max_length: 25 characters need 25 steps, but crnn_tiny makes 15")
        self.assert_one_line_error(with_line("val/1.png\t1", "-o", "data.image_size=40x64"), 2,
                                   "data.image_size: crnn_tiny reads images whose height is a multiple of 16 px")
        self.assert_one_line_error(with_line("val/1.png\t1", "-o", "eval.flip=true"), 2, "eval.flip: ")
        self.assert_one_line_error(with_line("val/1.png\t1", "-o", "data.random_erasing=0.5"), 2, "data.random_erasing: ")
        left_out = with_line("val/1.png\t10471")
        self.assertEqual(left_out.returncode, 0, left_out.stderr)
        self.assertIn("val.txt:2: 1 text left out, longer than data.max_length, 4 characters", left_out.stderr)


if __name__ == "__main__":
    unittest.main()
