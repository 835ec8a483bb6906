"""Session logs: GRU4Rec and SSR learn made-up sessions of known order, what it reports, and what is refused in one line."""
import random
import unittest

from program import ProgramTest, get_figures, run

SESSIONS = """\
model: {{name: GRU4Rec, embedding_size: 32}}
data: {{source: sessions, path: {data}, train_file: train.csv, dev_file: dev.csv, max_length: 8, batch_size: 32, workers: 1}}
train:
  steps: 150
  optimizer: {{name: adagrad, lr: 0.1, initial_accumulator: 1.0e-6, epsilon: 1.0e-12, weight_decay: 0}}
  schedule: {{name: constant}}
eval: {{every_epochs: 1}}
flags: {{cudnn_exhaustive_search: false}}
threads: 1
"""
ITEMS, AFTER = 200, 10


def write_sessions(path, count, seed):
    """After item i comes one of the ten from 7 i on, all as likely: a perfect recommender's recall@20 is 1, its mean
    reciprocal rank that of ten equals, 0.293."""
    draw = random.Random(seed)
    lines = ["SessionId,ItemId,Time"]
    for session in range(count):
        item = draw.randrange(ITEMS)
        for step in range(draw.randrange(2, 9)):
            lines.append(f"{session},item {item},{step}")
            item = (7 * item + draw.randrange(AFTER)) % ITEMS
    path.write_text("\n".join(lines) + "\n")


class Sessions(ProgramTest):
    def setUp(self):
        super().setUp()
        write_sessions(self.folder / "train.csv", 2000, 1)
        write_sessions(self.folder / "dev.csv", 200, 2)
        self.config.write_text(SESSIONS.format(data=self.folder))

    def test_their_order_is_learned_and_reported(self):
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        self.assertEqual((report["model"]["name"], report["model"]["sample"]), ("gru4rec", "sequence"))
        accuracy = get_figures(report)
        self.assertGreater(accuracy["recall_at_20"], 0.9)
        self.assertTrue(0.2 < accuracy["mrr_at_20"] < 0.33, accuracy)
        self.assertEqual(report["evaluation"]["signature"], "cutoff:20|ties:against|candidates:all")
        again = run("eval", self.config, "-o", f"model.weights={self.folder / 'own/model.safetensors'}", "--out",
                    self.folder / "again", "--progress", "none")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertAlmostEqual(get_figures(self.report("again"))["recall_at_20"], accuracy["recall_at_20"], places=6)

    def test_their_order_is_learned_from_some_items_too(self):
        for name, *settings in (("drawn", "data.negatives=8", "train.logq=1"), ("bpr", "train.loss=bpr", "data.negatives=8"),
                                ("bpr_max", "train.loss=bpr_max", "train.bpr_regularization=0.1"),
                                ("ssr", "model.name=ssr", "train.loss=hinge", "data.negatives=8", "data.negative_power=0")):
            with self.subTest(name):
                trained = self.train(name, *(word for one in settings for word in ("-o", one)))
                self.assertEqual(trained.returncode, 0, trained.stderr)
                self.assertGreater(get_figures(self.report(name))["recall_at_20"], 0.8)

    def test_a_run_goes_on_where_it_stopped(self):
        short = ("-o", "eval.every_epochs=0", "-o", "model.dropout=0.2")
        self.assertEqual(self.train("whole", *short, "-o", "train.steps=20").returncode, 0)
        self.assertEqual(self.train("parts", *short, "-o", "train.steps=9").returncode, 0)
        resumed = self.train("parts", *short, "-o", "train.steps=20", "--resume", "auto")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        whole, parts = ((self.folder / name / "model.safetensors").read_bytes() for name in ("whole", "parts"))
        self.assertEqual(whole, parts)

    def test_what_does_not_fit_is_refused(self):
        (self.folder / "train.csv").write_text("user,item\n1,2\n")
        self.assert_one_line_error(self.train("names"), 1, "train.csv:1: expected a header with a column session_id")
        (self.folder / "train.csv").write_text("session,item\n1,2\n1,2,3\n")
        self.assert_one_line_error(self.train("fields"), 1, "train.csv:3: expected 2 fields")
        for override, key in (("data.train_file=", "data.train_file"), ("model.classes=3", "model.classes"),
                              ("data.max_length=1", "data.max_length"), ("train.mixup=0.2", "train.mixup"),
                              ("data.negatives=65", "data.negatives"), ("train.hinge_margin=-1", "train.hinge_margin"),
                              ("train.logq=1", "train.logq")):
            with self.subTest(override):
                self.assert_one_line_error(run("validate", self.config, "-o", override), 2, key)

    def test_another_language_model_reads_them_too(self):
        trained = self.train("gpt2", "-o", "model.name=gpt2", "-o", "model.size=tiny", "-o", "train.steps=2")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertIn("perplexity", get_figures(self.report("gpt2")))

    def test_what_a_trained_one_is_not_made_for_is_an_error(self):
        self.assertEqual(self.train("own", "-o", "train.steps=2", "-o", "eval.every_epochs=0").returncode, 0)
        self.assert_one_line_error(run("infer", self.folder / "own", "item 3"), 1, "was trained on synthetic tokens or on items")


if __name__ == "__main__":
    unittest.main()
