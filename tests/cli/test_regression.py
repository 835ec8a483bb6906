"""One value for an answer: STS-B's form, from training to what the trained model is asked."""
import json
import random
import unittest

from program import ROOT, ProgramTest, run

WORDS = ["a", "man", "dog", "is", "eating", "running", "food", "fast", "the", "cat"]
HEADER = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"


def pairs(count, seed):
    """Sentences of four words; the first of all tells the score."""
    draw = random.Random(seed)
    for _ in range(count):
        first, second = draw.choices(WORDS, k=4), draw.choices(WORDS, k=4)
        yield " ".join(first), " ".join(second), WORDS.index(first[0]) / 2


class Regression(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
        for name, count in (("train", 160), ("dev", 37)):
            rows = (f"{i}\tmain\tf\t2012\t{i}\tnone\tnone\t{a}\t{b}\t{score:.3f}\n"
                    for i, (a, b, score) in enumerate(pairs(count, count)))
            (self.folder / f"{name}.tsv").write_text(HEADER + "".join(rows))
        text = (ROOT / "configs/recipes/glue_stsb_bert_base.yaml").read_text()
        for key, value in {"size": "tiny", "path": self.folder, "vocab": self.folder / "vocab.txt", "max_length": "16",
                           "batch_size": "16", "weights": "''", "epochs": "10"}.items():
            begin = text.index(f"\n  {key}: ")
            text = text[:begin] + f"\n  {key}: {value}" + text[text.index("\n", begin + 1):]
        self.config.write_text(text.replace("lr: 2.0e-5", "lr: 2.0e-3").replace("level: auto", "level: O0"))
        self.quick = ("-o", "model.dropout=0", "-o", "train.log_every_steps=1", "-o", "flags.cudnn_exhaustive_search=false")

    def test_glues_columns_train_and_the_best_is_kept(self):
        trained = self.train("own", *self.quick, "-o", "output.predictions=true")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        accuracy = report["accuracy"]
        self.assertEqual((accuracy["top1"], accuracy["f1"], accuracy["eval_samples"]), (None, None, 37))
        self.assertGreater(accuracy["values"]["spearman"], 0.8, "the first word tells the score")
        self.assertAlmostEqual(accuracy["values"]["mse"], accuracy["loss"])
        self.assertNotIn("classification", {key for key, value in report.items() if value})
        self.assertEqual(report["best"]["metric"], "spearman")
        best = max(one["accuracy"]["values"]["spearman"] for one in report["evaluations"])
        self.assertAlmostEqual(report["best"]["value"], best)
        self.assertIn("Pearson 0.", trained.stdout)
        answers = [json.loads(line) for line in (self.folder / "own/predictions.jsonl").read_text().splitlines()]
        self.assertEqual([(one["line"], one["text"], one["second"], one["truth"]) for one in answers],
                         [(i + 2, *row) for i, row in enumerate(pairs(37, 37))])
        error = sum((one["truth"] - one["prediction"]) ** 2 for one in answers) / 37
        self.assertAlmostEqual(error, accuracy["loss"], places=4)
        page = run("table", self.folder / "own", "--format", "html", "--out", self.folder / "page.html")
        self.assertEqual(page.returncode, 0, page.stderr)
        self.assertIn("Worst mistakes", (self.folder / "page.html").read_text())
        self.assertEqual(run("show", self.folder / "own").returncode, 0)

        asked = run("infer", self.folder / "own", self.folder / "dev.tsv", "--json", "--progress", "none",
                    "--column", "sentence1", "--label-column", "score")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertEqual(len(asked.stdout.splitlines()), 37)
        asked = run("infer", self.folder / "own", self.folder / "dev.tsv", "--json", "--progress", "none")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        for line, one in zip(map(json.loads, asked.stdout.splitlines()), answers, strict=True):
            self.assertAlmostEqual(line["value"], one["prediction"], places=3)
            self.assertEqual(line["truth"], one["truth"])
        self.assertIn("Spearman", asked.stderr)
        told = run("infer", self.folder / "own", "a man is eating\ta dog is eating", "--progress", "none")
        self.assertRegex(told.stdout, r"^a man is eating: -?\d\.\d{4}\n$")
        copied = run("export", self.folder / "own", "--out", self.folder / "copy")
        self.assertEqual(copied.returncode, 0, copied.stderr)
        again = run("infer", self.folder / "copy", "a man is eating\ta dog is eating", "--progress", "none")
        self.assertEqual(again.stdout, told.stdout)
        self.assert_one_line_error(run("quantize", self.folder / "own", "--calibrate", self.folder / "dev.tsv", "--out",
                                       self.folder / "q"), 2, "answers with values", "quantize")

    def test_ranks_and_resumed_runs_agree(self):
        constant = ("-o", "train.schedule.name=constant", "-o", "train.schedule.warmup_ratio=0")
        steps = (*constant, "-o", "train.steps=12")
        self.assertEqual(self.train("whole", *self.quick, *steps).returncode, 0)
        figures = self.report("whole")["accuracy"]["values"]
        ranks = self.train("ranks", *self.quick, *steps, "-o", "dist.ranks=2", "-o", "data.batch_size=8")
        self.assertEqual(ranks.returncode, 0, ranks.stderr)
        self.assertAlmostEqual(self.report("ranks")["accuracy"]["values"]["pearson"], figures["pearson"], places=3)
        self.assertEqual(self.train("parts", *self.quick, *constant, "-o", "train.steps=5").returncode, 0)
        resumed = self.train("parts", *self.quick, *steps, "--resume", "auto")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(self.losses("parts"), self.losses("whole"))
        self.assertEqual(self.report("parts")["accuracy"]["values"], figures)

    def test_what_is_wrong_is_said_in_one_line(self):
        for key, parts in {"data.labels=[a, b]": ("data.labels", "regression"),
                           "data.class_weights=balanced": ("data.class_weights", "regression"),
                           "output.keep_best=top1": ("output.keep_best", "of classes"),
                           "model.classes=3": ("model.classes", "1 value"),
                           "data.source=synthetic": ("model.head", "tsv")}.items():
            self.assert_one_line_error(self.train("refused", "-o", key), 2, *parts)
        self.assert_one_line_error(self.train("refused", "-o", "model.head=classification"), 2, "output.keep_best", "spearman")
        self.assert_one_line_error(self.train("refused", "-o", "model.name=resnet18", "-o", "data.source=idx"), 2, "model.head")
        with open(self.folder / "train.tsv", "a") as file:
            file.write("160\tmain\tf\t2012\t1\tnone\tnone\ta man\ta dog\tmuch\n")
        self.assert_one_line_error(self.train("refused"), 1, "train.tsv:162", 'expected a number', '"much"')


if __name__ == "__main__":
    unittest.main()
