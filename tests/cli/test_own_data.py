"""Data of one's own: tables and folders as users have them, trained on with few keys."""
import base64
import csv
import io
import html
import json
import random
import shutil
import unittest

from program import ROOT, ProgramTest, get_figures, run
from test_data import png

GOOD, BAD = ("很好看", "真不错", "值得看"), ("太难看", "很无聊", "不推荐")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set("".join(GOOD + BAD) + '这部电影",'))]

# What a user starts from; LINES takes the place of its table's lines.
BERT = """\
model: {name: bert, size: tiny, max_positions: 32}
data:
  source: tsv
  path: FOLDER
  vocab: FOLDER/vocab.txt
LINES
  max_length: 16
  batch_size: 16
  workers: 1
train: {steps: 60, optimizer: {name: adamw, lr: 1.0e-3}, schedule: {name: constant}}
amp: {level: O0}
flags: {cudnn_exhaustive_search: false}
output: {dir: runs/own}
"""
OWN = """\
  train_file: reviews.csv
  columns: {text: 评论, label: 态度}
  split: {dev: 0.2}"""
RESNET = """\
model: {name: resnet18}
data: {source: image_folder, path: FOLDER, image_size: 16, batch_size: 4, workers: 1, split: {dev: 0.25}}
train: {steps: 2, optimizer: {name: momentum, lr: 1.0e-3}, schedule: {name: constant}}
output: {dir: runs/own, save: false}
"""


def reviews(count, bad_of_five=2):
    """Rows of (number, review, attitude), quoted where a comma or a quote asks for it."""
    draw = random.Random(count)
    for i in range(count):
        bad = i % 5 < bad_of_five
        yield i, f'这部"电影", {draw.choice(BAD if bad else GOOD)}', "差评" if bad else "好评"


class OwnData(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")

    def table(self, name="reviews.csv", encoding="gbk", count=120):
        text = io.StringIO()
        csv.writer(text).writerows([("编号", "评论", "态度"), *reviews(count)])
        (self.folder / name).write_bytes(text.getvalue().encode(encoding))

    def photos(self, folder, count=8):
        """Pictures of two classes that only their colours tell apart, in train/CLASS."""
        for number, name in enumerate(("cat", "d<o>g")):
            (folder / "train" / name).mkdir(parents=True)
            for i in range(count):
                (folder / "train" / name / f"{i}.png").write_bytes(png(20 + i, 30, (200 * number, 30 * i, 90)))

    def recipe(self, name, **lines):
        """A shipped configuration in which these keys' lines are changed."""
        text = (ROOT / "configs/recipes" / name).read_text()
        for key, value in lines.items():
            begin = text.index(f"  {key}: ")
            text = text[:begin] + f"  {key}: {value}" + text[text.index("\n", begin):]
        self.config.write_text(text)

    def predictions(self, output):
        lines = (self.folder / output / "predictions.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def page(self, output):
        file = self.folder / "page.html"
        shown = run("table", self.folder / output, "--format", "html", "--out", file)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return file.read_text()

    def configured(self, lines=OWN, base=BERT):
        self.config.write_text(base.replace("FOLDER", str(self.folder)).replace("LINES", lines))
        return self.config

    def test_a_gbk_table_with_columns_of_its_own_trains_by_three_keys(self):
        self.table()
        self.configured()
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        self.assertTrue(report["notes"][0].endswith("reviews.csv: is not UTF-8, read as gb18030 (data.encoding overrides this)"))
        self.assertEqual(report["model"]["labels"], ["好评", "差评"])
        self.assertEqual(json.loads((self.folder / "own/model.json").read_text())["class_names"], ["好评", "差评"])
        self.assertEqual(report["data"], {"training_samples": 96, "evaluation_samples": 24, "unknown_tokens": 0,
                                          "split": {"dev": 0.2, "seed": 42}})
        self.assertTrue(any("data.split.dev 0.2: 96 samples train, 24 evaluate" in note for note in report["notes"]))
        accuracy = get_figures(report)
        self.assertEqual(accuracy["top1"], 1.0, "the words distinguish the classes")
        self.assertAlmostEqual(accuracy["majority"], 14 / 24)
        self.assertEqual((accuracy["macro_f1"], accuracy["mcc"], accuracy["auc"]), (1.0, 1.0, 1.0))
        self.assertEqual([(c["name"], c["samples"]) for c in report["classification"]["classes"]],
                         [("好评", 14), ("差评", 10)])
        self.assertIn("top-1 1.0000 (majority class 0.5833)", trained.stdout)

        out = self.folder / "infer.json"
        asked = run("infer", self.folder / "own", self.folder / "reviews.csv", "--column", "评论", "--label-column", "态度",
                    "--report", out, "--progress", "none")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertIn("read as gb18030", asked.stderr)
        self.assertIn("accuracy: 1.0000 top-1 of 120 inputs with a known class (majority class 0.6000)", asked.stderr)
        answered = json.loads(out.read_text())
        self.assertEqual(answered["evaluation"]["metrics"]["mcc"]["value"], 1.0)
        self.assertEqual([(c["name"], c["samples"], c["f1"]) for c in answered["classes"]], [("好评", 72, 1), ("差评", 48, 1)])

    def test_every_form_gives_the_same_losses(self):
        rows = list(reviews(120))
        self.table("reviews.csv", "utf-8")
        self.table("gbk.csv", "gbk")
        self.table("utf16.csv", "utf-16")
        lines = [json.dumps({"评论": review, "态度": attitude}) for _, review, attitude in rows]
        (self.folder / "reviews.jsonl").write_text("\n".join(lines) + "\n")
        (self.folder / "reviews.tsv").write_text(
            "".join("\t".join(row) + "\n" for row in (("态度", "评论"), *((a, r) for _, r, a in rows))))
        losses = {}
        for name in ("reviews.csv", "gbk.csv", "utf16.csv", "reviews.jsonl", "reviews.tsv"):
            self.configured(OWN.replace("reviews.csv", name))
            trained = self.train(f"run-{name}", "-o", "train.steps=3", "-o", "train.log_every_steps=1", "-o", "output.save=false")
            self.assertEqual(trained.returncode, 0, trained.stderr)
            losses[name] = self.losses(f"run-{name}")
        self.assertEqual(list(losses.values()), [losses["reviews.csv"]] * 5)

    def test_labels_are_numbered_in_the_order_given(self):
        self.table()
        self.configured(OWN + "\n  labels: [差评, 好评]")
        self.assertEqual(self.train("own", "-o", "train.steps=1").returncode, 0)
        self.assertEqual(self.report("own")["model"]["labels"], ["差评", "好评"])
        self.configured(OWN + "\n  labels: [差评, 中评]")
        self.assert_one_line_error(run("validate", self.config), 1, "reviews.csv:4", "好评", "data.labels (差评, 中评)")

    def test_ranks_and_a_resumed_run_see_the_same_split(self):
        self.table()
        self.configured()
        common = ("-o", "train.steps=12", "-o", "train.log_every_steps=1", "-o", "model.dropout=0")
        self.assertEqual(self.train("whole", *common).returncode, 0)
        ranks = self.train("ranks", *common, "-o", "dist.ranks=2", "-o", "data.batch_size=8")
        self.assertEqual(ranks.returncode, 0, ranks.stderr)
        for one, two in zip(self.losses("whole"), self.losses("ranks"), strict=True):
            self.assertAlmostEqual(one, two, places=4)
        classes = [self.report(name)["classification"]["classes"] for name in ("whole", "ranks")]
        self.assertEqual([c["samples"] for c in classes[0]], [c["samples"] for c in classes[1]])
        self.assertEqual(self.train("parts", *common, "-o", "train.steps=5").returncode, 0)
        resumed = self.train("parts", *common, "--resume", "auto")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(self.losses("parts"), self.losses("whole"))
        self.assertEqual(self.report("parts")["evaluation"]["metrics"]["loss"]["value"], self.report("whole")["evaluation"]["metrics"]["loss"]["value"])

    def test_a_vocabulary_of_other_words_is_noted(self):
        self.table()
        (self.folder / "vocab.txt").write_text("\n".join(WORDS[:5] + ["movie", "film"]) + "\n")
        self.configured()
        checked = run("validate", self.config)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertRegex(checked.stderr, r"note: \d+\.\d % of the training text's tokens are \[UNK\]: .*vocab.txt")
        self.assertIn("96 training and 24 evaluation samples, 2 classes", checked.stdout)

    def test_what_is_wrong_is_said_in_one_line(self):
        self.table()
        self.configured(OWN.replace("text: 评论", "text: 评语"))
        self.assert_one_line_error(run("validate", self.config), 1,
                                   'reviews.csv: has no column "评语"; its columns are "编号", "评论", "态度"')
        self.configured(OWN.replace("  split: {dev: 0.2}", "  encoding: utf-8"))
        self.assert_one_line_error(run("validate", self.config), 1, "reviews.csv:1: not UTF-8")
        self.configured(OWN.replace("\n  split: {dev: 0.2}", ""))
        self.assert_one_line_error(run("validate", self.config), 1, "dev.tsv: not found", "data.split.dev")
        shutil.copy(self.folder / "reviews.csv", self.folder / "dev.tsv")
        self.configured()
        self.assert_one_line_error(run("validate", self.config), 2, "data.split.dev", "dev.tsv exists")

    def test_a_folder_without_val_is_parted(self):
        for number, name in enumerate(("cat", "dog")):
            (self.folder / "train" / name).mkdir(parents=True)
            for i in range(8):
                (self.folder / "train" / name / f"{i}.png").write_bytes(png(20 + i, 30, (200 * number, 30 * i, 90)))
        self.configured(base=RESNET)
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        self.assertEqual((report["data"]["training_samples"], report["data"]["evaluation_samples"]), (12, 4))
        self.assertEqual([c["samples"] for c in report["classification"]["classes"]], [2, 2])
        (self.folder / "val/cat").mkdir(parents=True)
        self.assert_one_line_error(self.train("again"), 2, "data.split.dev", "val exists")
        self.configured(base=RESNET.replace(", split: {dev: 0.25}", ""))
        shutil.rmtree(self.folder / "val")
        self.assert_one_line_error(self.train("without"), 1, "has no directory val", "data.split.dev")

    def test_photos_of_ones_own_lead_to_the_worst_mistakes(self):
        self.photos(self.folder / "photos")
        for name, other in (("cat", "d<o>g"), ("d<o>g", "cat")):  # half of the labels are wrong: no model is right always
            for i in range(8):
                shutil.copy(self.folder / "photos/train" / name / f"{i}.png",
                            self.folder / "photos/train" / other / f"wrong-{i}.png")
        self.recipe("own_photos.yaml", path=self.folder / "photos", image_size=16, epochs=1)
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        self.assertEqual(report["best"]["metric"], "top1")
        self.assertTrue((self.folder / "own/best/model.json").exists())
        answers = self.predictions("own")
        self.assertEqual([one["index"] for one in answers], list(range(report["evaluation"]["eval_samples"])))
        right = sum(one["truth"] == one["prediction"] for one in answers)
        self.assertAlmostEqual(right / len(answers), report["evaluation"]["metrics"]["top1"]["value"])
        for one in answers:
            self.assertIn(f"photos/train/{one['truth']}/", one["picture"])
            self.assertTrue(0.5 <= one["probability"] <= 1, one)
        page = self.page("own")
        self.assertIn("Confusion matrix", page)
        self.assertIn("Worst errors", page)
        self.assertNotIn("d<o>g", page)
        wrong = [one for one in answers if one["truth"] != one["prediction"]]
        self.assertGreater(len(wrong), 0)
        for one in wrong:
            with open(one["picture"], "rb") as file:
                self.assertIn("data:image/png;base64," + base64.b64encode(file.read()).decode(), page)
            self.assertIn(html.escape(one["picture"]), page)

    def test_reviews_of_ones_own_lead_to_the_worst_mistakes(self):
        rows = [(i, f"{review}<{i}>", {"好评": "差评", "差评": "好评"}[attitude] if i % 4 == 0 else attitude)
                for i, review, attitude in reviews(120)]
        (self.folder / "train.csv").write_text(
            "编号,评论,态度\n" + "".join(f'{i},"{review.replace(chr(34), chr(34) * 2)}",{attitude}\n'
                                       for i, review, attitude in rows), encoding="gbk")
        self.recipe("own_reviews.yaml", path=self.folder, vocab=self.folder / "vocab.txt",
                    columns="{text: 评论, label: 态度}")
        trained = self.train("own", "-o", "model.size=tiny", "-o", "data.max_length=32")  # for the test to be quick
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        self.assertTrue((self.folder / "own/best/model.json").exists())
        answers = self.predictions("own")
        self.assertEqual([one["index"] for one in answers], list(range(24)))
        right = sum(one["truth"] == one["prediction"] for one in answers)
        self.assertAlmostEqual(right / 24, report["evaluation"]["metrics"]["top1"]["value"])
        for one in answers:
            _, review, attitude = rows[one["line"] - 2]  # after the header
            self.assertEqual((one["file"], one["text"], one["truth"]), (str(self.folder / "train.csv"), review, attitude))
        page = self.page("own")
        wrong = [one for one in answers if one["truth"] != one["prediction"]]
        self.assertGreater(len(wrong), 0)
        for one in sorted(wrong, key=lambda one: -one["probability"])[:20]:
            self.assertIn(f"<td data-title=\"Sample\">{breakable(one['text'])}</td>", page)
            self.assertIn(f"{self.folder}/train.csv:{one['line']}", page)

    def test_answers_do_not_depend_on_how_many_ranks_gave_them(self):
        self.table()
        self.configured(OWN)
        self.assertEqual(self.train("own", "-o", "train.steps=5").returncode, 0)
        self.assertFalse((self.folder / "own/predictions.jsonl").exists())
        answers = []
        for ranks in (1, 3):
            out = self.folder / f"eval-{ranks}"
            evaluated = run("eval", self.config, "--out", out, "--progress", "none",
                            "-o", f"model.weights={self.folder}/own/model.safetensors",
                            "-o", "output.predictions=true", "-o", f"dist.ranks={ranks}", "-o", "data.batch_size=4",
                            "-o", "threads=3")
            self.assertEqual(evaluated.returncode, 0, evaluated.stderr)
            answers.append(self.predictions(f"eval-{ranks}"))
        self.assertEqual([one["index"] for one in answers[1]], list(range(24)))
        for one, three in zip(*answers, strict=True):
            self.assertAlmostEqual(one.pop("probability"), three.pop("probability"), places=5)
            self.assertEqual(one, three)
        self.assert_one_line_error(
            self.train("none", "-o", "output.predictions=true", "-o", "eval.every_epochs=0"), 2, "output.predictions")

    def test_classes_of_few_samples_can_be_made_up_for(self):
        self.table()  # 58 of one class train, 38 of the other
        self.configured(OWN)
        few = ("-o", "train.steps=9", "-o", "train.log_every_steps=1", "-o", "model.dropout=0")
        losses = {}
        for name, keys in {"plain": [], "ones": ["data.class_weights=[1, 1]"], "given": ["data.class_weights=[0.5, 2]"],
                           "scaled": ["data.class_weights=[5, 20]"], "balanced": ["data.class_weights=balanced"],
                           "by_hand": [f"data.class_weights=[{96 / 2 / 58}, {96 / 2 / 38}]"],
                           "sampled": ["data.sampling=balanced"]}.items():
            trained = self.train(name, *few, *(part for key in keys for part in ("-o", key)))
            self.assertEqual(trained.returncode, 0, trained.stderr)
            losses[name] = self.losses(name)
        self.assertEqual(losses["plain"], losses["ones"])
        for same in (("given", "scaled"), ("balanced", "by_hand")):
            for one, other in zip(*(losses[name] for name in same), strict=True):
                self.assertAlmostEqual(one, other, places=4)
        self.assertEqual(len({tuple(losses[name]) for name in ("plain", "given", "balanced", "sampled")}), 4)
        self.assertEqual(self.report("balanced")["config"]["data"]["class_weights"], "balanced")

        keys = (*few, "-o", "data.sampling=balanced")
        self.assertEqual(self.train("parts", *keys, "-o", "train.steps=4").returncode, 0)
        self.assertEqual(self.train("parts", *keys, "--resume", "auto").returncode, 0)
        self.assertEqual(self.losses("parts"), losses["sampled"])
        self.assertEqual(self.report("parts")["evaluation"], self.report("sampled")["evaluation"])
        ranks = self.train("ranks", *keys, "-o", "dist.ranks=2", "-o", "data.batch_size=8")
        self.assertEqual(ranks.returncode, 0, ranks.stderr)
        for one, two in zip(losses["sampled"], self.losses("ranks"), strict=True):
            self.assertAlmostEqual(one, two, places=4)

        for key, part in (("data.class_weights=[1, 2, 3]", "has 3 weights for 2 classes"),
                          ("data.class_weights=[1, 0]", "expected balanced or a list of numbers"),
                          ("data.class_weights=even", "data.class_weights"),
                          ("data.class_weights=[2]", "expected a weight for each class, got 1")):
            self.assert_one_line_error(self.train("refused", "-o", key), 2, "data.class_weights", part)
        self.assert_one_line_error(self.train("refused", *keys, "-o", "data.shuffle=false"), 2, "data.sampling")

    def test_pictures_in_files_of_many_are_shown_too(self):
        self.config.write_text(RESNET.replace("image_folder, path: FOLDER", "synthetic, synthetic_samples: 64")
                               .replace(", split: {dev: 0.25}", "").replace("save: false", "predictions: true"))
        trained = self.train("own", "-o", "train.steps=1")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        wrong = [one for one in self.predictions("own") if one["truth"] != one["prediction"]]
        shown = [one for one in wrong if "picture" in one]
        self.assertEqual(len(shown), min(20, len(wrong)))
        self.assertGreaterEqual(min(one["probability"] for one in shown),
                                max((one["probability"] for one in wrong if "picture" not in one), default=0))
        self.assertTrue(base64.b64decode(shown[0]["picture"].removeprefix("data:image/png;base64,")).startswith(b"\x89PNG"))
        self.assertIn(shown[0]["picture"], self.page("own"))


def breakable(text):
    """As a cell of a page shows it."""
    return html.escape(text).replace("&#x27;", "&#39;").replace(",", ",<wbr>")


if __name__ == "__main__":
    unittest.main()
