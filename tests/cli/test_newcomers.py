"""Four new users' first hour, each by the commands that the documents name and at most three edited keys."""
import csv
import json
import math
import random
import shutil
import unittest

from program import ROOT, ProgramTest, run
from test_serve import Server
from trained import BAD, GOOD, WORDS, png

MOST_EDITS = 3  # keys that a user changes in what the program proposes
SIDE = 32


COLOURS = {"cross": (230, 90, 60), "disc": (70, 200, 90), "square": (80, 110, 240)}


def shape(kind, seed):
    """A photograph in small: a coloured shape somewhere on a noisy ground."""
    draw = random.Random(f"{kind} {seed}")
    colour = [value + draw.randint(-40, 40) for value in COLOURS[kind]]
    ground = [draw.randint(0, 90) for _ in range(3)]
    x, y, size = draw.randint(10, 22), draw.randint(10, 22), draw.randint(6, 9)
    inside = {"disc": lambda dx, dy: math.hypot(dx, dy) <= size, "square": lambda dx, dy: max(abs(dx), abs(dy)) <= 0.85 * size,
              "cross": lambda dx, dy: min(abs(dx), abs(dy)) <= size / 4 and max(abs(dx), abs(dy)) <= size}[kind]
    return [[tuple(max(0, min(255, value + draw.randint(-20, 20))) for value in (colour if inside(i - x, j - y) else ground))
             for i in range(SIDE)] for j in range(SIDE)]


class Newcomers(ProgramTest):
    def setUp(self):
        super().setUp()
        self.edited = []
        self.addCleanup(lambda: self.assertLessEqual(len(self.edited), MOST_EDITS, self.edited))
        shutil.copytree(ROOT / "configs", self.folder / "configs")

    def type(self, line, *edits, codes=(0,)):
        """Types a command in the user's folder, with the keys that the user edits."""
        self.edited += [edit for edit in edits if edit not in self.edited]
        result = run(*line.split(), *(part for edit in edits for part in ("-o", edit)), cwd=self.folder)
        self.assertIn(result.returncode, codes, f"{line}: {result.stderr}")
        return result.stdout

    def test_accept_a_machine_in_ci(self):
        self.type("doctor --check --save machine.yaml")
        self.type("doctor --check --expect machine.yaml", codes=(0, 1))  # of a machine that does other work meanwhile
        short = ["train.steps=12", "eval.max_samples=32", "data.batch_size=4"]
        sweep = "bench configs/bench/ci_smoke.yaml --out runs/smoke --progress none --repeats 4"
        self.type(sweep, *short)
        self.type("baseline save runs/smoke")
        self.type(f"{sweep} --fresh", *short)
        page = self.type("baseline check runs/smoke --format html", codes=(0, 4, 5))
        self.assertRegex(page, "FASTER|SLOWER|SAME|INCONCLUSIVE")
        self.assertRegex(self.type("baseline check runs/smoke", codes=(0, 4, 5)), "(?i)faster|slower|same|inconclusive")

    def test_train_on_photographs_and_serve_them(self):
        for kind in COLOURS:
            folder = self.folder / "photos" / kind
            folder.mkdir(parents=True)
            for i in range(45):
                (folder / f"{i}.png").write_bytes(png(shape(kind, i)))
        (self.folder / "photos/disc/broken.png").write_bytes(b"\x89PNG cut off")
        self.assertIn("121 training samples of 3 classes", self.type("init photos/"))
        short = ["train.epochs=8"]
        self.type("validate photos.yaml", *short)
        self.type("run photos.yaml --progress none", *short)
        report = json.loads((self.folder / "runs/photos/report.json").read_text())
        self.assertGreater(report["evaluation"]["metrics"]["top1"]["value"], 0.85)
        answer = json.loads(self.type("infer runs/photos photos/cross/3.png --json"))
        self.assertIn("cross", json.dumps(answer))
        server = Server(self.folder / "runs/photos")
        self.addCleanup(server.kill)
        status, answer = server.ask("POST", "/v2/models/photos/infer", (self.folder / "photos/cross/3.png").read_bytes(),
                                    **{"Content-Type": "image/png"})
        self.assertEqual(status, 200, answer)
        self.assertIn("cross", json.dumps(answer))

    def test_bert_on_pairs_with_seeds(self):
        draw = random.Random(1)
        with open(self.folder / "pairs.csv", "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["question", "reply", "agree"])
            for i in range(240):
                first, second = (draw.choice((GOOD, BAD)) for _ in range(2))
                rows.writerow([f"the film is {draw.choice(first)}", f"a story is {draw.choice(second)}", ["no", "yes"][first is second]])
        self.assertIn("240 training samples of 2 classes", self.type("init pairs.csv --text question --second reply --label agree"))
        (self.folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
        edits = ["model.weights=", "data.vocab=vocab.txt", "model.size=tiny"]  # no network in this test
        self.type("run pairs.yaml --progress none", *edits)
        self.type("bench pairs.yaml --seeds 3 --progress none --out runs/seeds", *edits)
        row = json.loads(self.type("table runs/seeds --json"))["rows"][0]
        accuracy = next(cell for cell in row["cells"] if cell["column"] == "accuracy")
        self.assertEqual(accuracy["runs"], 3)
        self.assertIn("Bands: one standard deviation", self.type("table runs/seeds --format html"))

    def test_where_the_time_goes(self):
        self.type("run configs/quick/bert_synthetic.yaml --out runs/first --progress none", "output.per_op=true", "train.steps=30")
        self.assertIn("linear", self.type("show runs/first --ops 20"))
        self.assertIn("Ops under the roofline", self.type("table runs/first --format html"))
        self.assertIn("ms", self.type("estimate configs/quick/bert_synthetic.yaml --device h100"))


if __name__ == "__main__":
    unittest.main()
