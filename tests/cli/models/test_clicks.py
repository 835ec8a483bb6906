"""Clicks in Criteo's form and with bags of keys: training, what it reports, and what is refused in one line."""
import json
import unittest

from data_files import write_criteo, write_slots
from program import ROOT, ProgramTest, get_figures, run
from test_serve import Server

CLICKS = """\
model: {{name: WideDeep, hash_buckets: 5000}}
data: {{source: criteo, path: {data}, batch_size: 64, workers: 1}}
train: {{steps: 124, optimizer: {{name: adamw, lr: 2.0e-3, weight_decay: 0}}, schedule: {{name: constant}}, log_every_steps: 1}}
eval: {{every_epochs: 1}}
flags: {{cudnn_exhaustive_search: false}}
threads: 1
"""


def infer(model, *inputs, **options):
    return run("infer", model, *inputs, "--progress", "none", "--format", "jsonl", **options)


class ClickTest(ProgramTest):
    def answers(self, answered):
        """Of a run of infer that must end well."""
        self.assertEqual(answered.returncode, 0, answered.stderr)
        return [json.loads(line) for line in answered.stdout.splitlines()]


class Clicks(ClickTest):
    def setUp(self):
        super().setUp()
        for name, count in (("train", 4000), ("dev", 500)):
            write_criteo(self.folder / f"{name}.tsv", name, count)
        self.config.write_text(CLICKS.format(data=self.folder))

    def damage(self, line, text):
        lines = (self.folder / "train.tsv").read_text().splitlines()
        lines[line - 1] = text
        (self.folder / "train.tsv").write_text("\n".join(lines) + "\n")

    def test_they_are_learned_and_reported(self):
        trained = self.train("own", "-o", "output.predictions=true")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        self.assertEqual((report["model"]["name"], report["model"]["sample"]), ("wide_deep", "sample"))
        self.assertEqual(report["throughput"]["unit"], "samples/s")
        accuracy = get_figures(report)
        self.assertEqual(report["evaluation"]["eval_samples"], 500)
        self.assertGreater(accuracy["auc"], 0.75)
        self.assertLess(accuracy["loss"], 0.62, "the log loss of answers at random is 0.69")
        self.assertEqual([one["name"] for one in report["classification"]["classes"]], ["0", "1"])
        page = run("table", self.folder / "own", "--format", "html", "--out", self.folder / "page.html")
        self.assertEqual(page.returncode, 0, page.stderr)
        self.assertEqual(run("show", self.folder / "own").returncode, 0)
        again = run("eval", self.config, "-o", f"model.weights={self.folder / 'own/model.safetensors'}", "--out",
                    self.folder / "again", "--progress", "none")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertAlmostEqual(self.report("again")["evaluation"]["metrics"]["auc"]["value"], accuracy["auc"], places=6)

    def test_every_network_learns_them(self):
        for model in ("ctr_dnn", "deepfm", "dlrm_dcnv2"):
            with self.subTest(model):
                trained = self.train(model, "-o", f"model.name={model}")
                self.assertEqual(trained.returncode, 0, trained.stderr)
                self.assertGreater(get_figures(self.report(model))["auc"], 0.7)
                answer = run("infer", self.folder / model, self.folder / "dev.tsv", "--progress", "none")
                self.assertEqual(answer.returncode, 0, answer.stderr)

    def test_a_run_goes_on_where_it_stopped(self):
        short = ("-o", "eval.every_epochs=0")
        self.assertEqual(self.train("whole", *short, "-o", "train.steps=40").returncode, 0)
        self.assertEqual(self.train("parts", *short, "-o", "train.steps=17").returncode, 0)
        resumed = self.train("parts", *short, "-o", "train.steps=40", "--resume", "auto")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(self.losses("parts"), self.losses("whole"))
        whole, parts = ((self.folder / name / "model.safetensors").read_bytes() for name in ("whole", "parts"))
        self.assertEqual(whole, parts)

    def test_ranks_update_tables_alike(self):
        for model in ("wide_deep", "deepfm"):
            shared = ("-o", f"model.name={model}", "-o", "train.steps=20", "-o", "train.optimizer.name=adam")
            one, two, parts, four = (f"{model}-{name}" for name in ("one", "two", "parts", "four"))
            self.assertEqual(self.train(one, *shared).returncode, 0)
            for ranks, shard, name in ((2, "none", two), (2, "optimizer", parts), (4, "none", four)):
                options = ("-o", f"dist.ranks={ranks}", "-o", f"dist.shard={shard}", "-o", f"data.batch_size={64 // ranks}",
                           "-o", f"threads={ranks}")
                trained = self.train(name, *shared, *options)
                self.assertEqual(trained.returncode, 0, trained.stderr)
                for own, expected in zip(self.losses(name), self.losses(one), strict=True):
                    self.assertAlmostEqual(own, expected, delta=2e-4)
            whole, shared = ((self.folder / name / "model.safetensors").read_bytes() for name in (two, parts))
            self.assertEqual(whole, shared, "shards of the optimizer's state change no weight")

    def test_ranks_resume_on_another_number(self):
        short = ("-o", "eval.every_epochs=0", "-o", "train.optimizer.name=adagrad")
        two = ("-o", "dist.ranks=2", "-o", "data.batch_size=32", "-o", "threads=2")
        self.assertEqual(self.train("whole", *short, *two, "-o", "train.steps=30").returncode, 0)
        self.assertEqual(self.train("parts", *short, *two, "-o", "train.steps=13").returncode, 0)
        resumed = self.train("parts", *short, "-o", "train.steps=30", "--resume", "auto")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        for own, expected in zip(self.losses("parts"), self.losses("whole"), strict=True):
            self.assertAlmostEqual(own, expected, delta=2e-4)

    def test_ranks_divide_tables(self):
        three = ("-o", "dist.ranks=3", "-o", "data.batch_size=20", "-o", "threads=3", "-o", "train.steps=20", "-o",
                 "dist.reproducible=true")
        reports = {}
        for tables in ("replicated", "rows"):
            trained = self.train(tables, *three, "-o", f"dist.tables={tables}", "-o", "output.predictions=true")
            self.assertEqual(trained.returncode, 0, trained.stderr)
            reports[tables] = self.report(tables)
        self.assertEqual(self.losses("rows"), self.losses("replicated"))
        for file in ("model.safetensors", "predictions.jsonl"):
            self.assertEqual((self.folder / "rows" / file).read_bytes(), (self.folder / "replicated" / file).read_bytes())
        memory = {tables: report["memory"]["optimizer_bytes"] for tables, report in reports.items()}
        self.assertEqual(memory["replicated"] - memory["rows"], 2 * (5000 - 1667) * (9 + 1) * 4, "moments of other ranks' rows")
        answer = run("infer", self.folder / "rows", self.folder / "dev.tsv", "--progress", "none")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        for tables in ("replicated", "rows"):
            resumed = self.train(tables, "-o", "train.steps=25", "--resume", "auto")
            self.assertEqual(resumed.returncode, 0, resumed.stderr)
        whole, shared = ((self.folder / tables / "model.safetensors").read_bytes() for tables in ("replicated", "rows"))
        self.assertEqual(whole, shared)

    def test_divided_tables_are_in_estimates(self):
        def estimate(*options):
            made = run("estimate", self.config, "-o", "model.hash_buckets=300000", "-o", "dist.ranks=4", *options, "--json")
            self.assertEqual(made.returncode, 0, made.stderr)
            return json.loads(made.stdout)

        divided = ("-o", "dist.tables=rows")
        saved = estimate()["memory"]["variable_bytes"] - estimate(*divided)["memory"]["variable_bytes"]
        tables = 3 * 300000 * (9 + 1) * 4  # with two moments
        self.assertTrue(0.75 * tables < saved < 0.78 * tables, "three quarters, and buffers for all ranks' samples")
        scaling = ("--device", "h100", "--ranks", "4", "--links", ROOT / "configs/links/ethernet_100g.yaml")
        whole, rows = (estimate(*scaling, *options)["scaling"][0] for options in ((), divided))
        self.assertLess(rows["exchange_ms"], whole["exchange_ms"], "each row travels once, not to all ranks")
        self.assertGreater(rows["exposed_ms"], 0)

    def test_bad_lines_are_passed_over_or_named(self):
        self.damage(7, "1\tonly\tthree")
        passed = self.train("passed", "-o", "train.steps=63", "-o", "eval.every_epochs=0")
        self.assertEqual(passed.returncode, 0, passed.stderr)
        self.assertEqual(self.report("passed")["progress"]["bad_samples"], 1)
        strict = self.train("strict", "-o", "train.steps=63", "-o", "eval.every_epochs=0", "-o", "data.max_bad_samples=0")
        self.assert_one_line_error(strict, 1, "train.tsv:7: expected 40 fields", "got 3")
        self.damage(1, "label,I1,I2")
        self.assert_one_line_error(self.train("header"), 1, "train.tsv:1: expected 40 fields", "got 1")

    def test_what_takes_whole_tables_is_refused(self):
        for override, key in (("train.optimizer.name=lamb", "train.optimizer.name"), ("train.accumulate_steps=2", "train.accumulate_steps"), ("train.ema_decay=0.9", "train.ema_decay"),
                              ("model.classes=3", "model.classes"), ("data.source=idx", "criteo|slots|synthetic"),
                              ("train.mixup=0.2", "reads tables"), ("model.hash_buckets=0", "model.hash_buckets")):
            with self.subTest(override):
                self.assert_one_line_error(run("validate", self.config, "-o", override), 2, key)

    def test_lines_are_answered_with_a_label_and_without(self):
        self.assertEqual(self.train("own", "-o", "train.steps=62").returncode, 0)
        model, clicks = self.folder / "copy", self.folder / "dev.tsv"
        self.assertEqual(run("export", self.folder / "own", "--out", model).returncode, 0)
        answers = self.answers(infer(model, clicks, "--report", self.folder / "report.json"))
        accuracy = get_figures(json.loads((self.folder / "report.json").read_text()))
        self.assertAlmostEqual(accuracy["top1"], self.report("own")["evaluation"]["metrics"]["top1"]["value"])
        self.assertEqual(answers[4]["input"], f"{clicks}:5")
        for answer in answers:
            self.assertAlmostEqual(sum(one["probability"] for one in answer["classes"]), 1, places=5)
        bare = "".join(line.split("\t", 1)[1] + "\n" for line in clicks.read_text().splitlines())
        unlabelled = self.answers(infer(model, "-", input=bare))
        self.assertNotIn("truth", unlabelled[0])
        self.assertEqual([one["classes"] for one in unlabelled], [one["classes"] for one in answers])
        self.assert_one_line_error(infer(model, "-", input="1\t2\n"), 1, "standard input:1: expected 40 fields", "got 2")

    def test_what_else_a_trained_one_is_not_made_for_is_an_error(self):
        self.assertEqual(self.train("own", "-o", "train.steps=2", "-o", "eval.every_epochs=0").returncode, 0)
        model = self.folder / "own"
        for command in (("export", model, "--out", self.folder / "copy", "--format", "onnx"),
                        ("quantize", model, "--calibrate", self.folder, "--out", self.folder / "q")):
            with self.subTest(command[0]):
                self.assert_one_line_error(run(*command), 2, "reads rows of tables")
        timed = run("bench", "infer", model, "--scenario", "offline", "--seconds", "0.2")
        self.assertEqual(timed.returncode, 0, timed.stderr)

    def test_the_recipe_reads_criteos_files(self):
        text = (ROOT / "configs/recipes/criteo_wide_deep.yaml").read_text()
        self.config.write_text(text.replace("path: data/criteo", f"path: {self.folder}"))
        trained = self.train("recipe", "-o", "train.steps=3", "-o", "model.hash_buckets=1000")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertEqual(self.report("recipe")["evaluation"]["eval_samples"], 500)


SLOTS = """\
model: {{name: WideDeep, hash_buckets: 5000}}
data: {{source: slots, path: {data}, train_file: train.txt.gz, dev_file: dev.txt, slots: 5, bag_size: 3, batch_size: 64, workers: 1}}
train: {{steps: 250, optimizer: {{name: adamw, lr: 2.0e-3, weight_decay: 0}}, schedule: {{name: constant}}, log_every_steps: 1}}
eval: {{every_epochs: 1}}
flags: {{cudnn_exhaustive_search: false}}
threads: 1
"""


def area_under_curve(told):
    """Of pairs of a label and a score."""
    clicks, others = ([score for label, score in told if label == wanted] for wanted in (1, 0))
    return sum((a > b) + (a == b) / 2 for a in clicks for b in others) / len(clicks) / len(others)


class Slots(ClickTest):
    def setUp(self):
        super().setUp()
        write_slots(self.folder / "train.txt.gz", "train", 8000)
        self.told = write_slots(self.folder / "dev.txt", "dev", 1000)
        self.config.write_text(SLOTS.format(data=self.folder))

    def test_bags_are_learned_nearly_to_the_optimum(self):
        best = area_under_curve(self.told)
        self.assertGreater(best, 0.8)
        for model, bag in (("wide_deep", "sum"), ("wide_deep", "mean"), ("dlrm_dcnv2", "sum")):
            with self.subTest(model=model, bag=bag):
                name = f"{model}-{bag}"
                trained = self.train(name, "-o", f"model.name={model}", "-o", f"model.bag={bag}")
                self.assertEqual(trained.returncode, 0, trained.stderr)
                learnt = get_figures(self.report(name))["auc"]
                self.assertGreater(learnt, best - (0.03 if bag == "sum" else 0.06))
                self.assertLess(learnt, best + 0.02, "no model ranks better than the true odds")

    def test_a_trained_one_is_exported_and_answers(self):
        self.assertEqual(self.train("own", "-o", "train.steps=125").returncode, 0)
        model, clicks = self.folder / "copy", self.folder / "dev.txt"
        self.assertEqual(run("export", self.folder / "own", "--out", model).returncode, 0)
        answers = self.answers(infer(model, clicks, "--report", self.folder / "report.json"))
        accuracy = get_figures(json.loads((self.folder / "report.json").read_text()))
        self.assertAlmostEqual(accuracy["auc"], get_figures(self.report("own"))["auc"], places=6)
        bare = "".join(line.partition(" ")[2] + "\n" for line in clicks.read_text().splitlines() if " " in line)
        unlabelled = self.answers(infer(model, "-", input=bare))
        self.assertNotIn("truth", unlabelled[0])
        with_keys = [answer for answer, line in zip(answers, clicks.read_text().splitlines()) if " " in line]
        self.assertEqual([one["classes"] for one in unlabelled], [one["classes"] for one in with_keys])
        self.assert_one_line_error(infer(model, "-", input="1 9:shoes\n"), 1, "standard input:1: expected a slot from 1 to 5 (data.slots)")
        timed = run("bench", "infer", model, "--scenario", "offline", "--seconds", "0.2")
        self.assertEqual(timed.returncode, 0, timed.stderr)

    def test_a_served_one_takes_bags_that_are_padded(self):
        self.assertEqual(self.train("own", "-o", "train.steps=3").returncode, 0)
        server = Server(self.folder / "own")
        self.addCleanup(server.kill)

        def ask(ids):
            return server.infer([{"name": "categorical_features", "datatype": "INT64", "shape": [1, 5, 3], "data": ids}])

        status, served = ask([-1] * 15)
        self.assertEqual(status, 200, served)
        asked = run("infer", self.folder / "own", "-", "--progress", "none", "--format", "jsonl", input="0\n")
        classes = sorted(json.loads(asked.stdout)["classes"], key=lambda one: one["index"])
        self.assertEqual(served["outputs"][1]["data"], [one["probability"] for one in classes])
        self.assertEqual(ask([-1] * 14 + [-2]),
                         (400, {"error": "categorical_features: value -2 at [0, 4, 2]: expected -1 to 4999"}))
        self.assertEqual(ask([-1] * 14 + [5000])[0], 400)

    def test_lines_may_have_numbers(self):
        for name in ("train.txt.gz", "dev.txt"):
            write_slots(self.folder / name, name, 200, numbers=2)
        trained = self.train("numbers", "-o", "train.steps=3", "-o", "data.dense_features=2")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assert_one_line_error(self.train("none", "-o", "train.steps=3"), 1, "train.txt.gz:1: expected SLOT:KEY, got \"0.")
        self.assert_one_line_error(self.train("three", "-o", "train.steps=3", "-o", "data.dense_features=3"), 1,
                                   "train.txt.gz:1: number 3 of 3 (data.dense_features): expected a finite number")

    def test_bad_lines_are_passed_over_or_named(self):
        lines = (self.folder / "dev.txt").read_text().splitlines()
        lines[6] = "1 1:a 1:b 1:c 1:d"
        (self.folder / "train.txt").write_text("\n".join(lines) + "\n")
        whole_epoch = ("-o", "data.train_file=train.txt", "-o", "train.steps=16", "-o", "data.drop_last=false", "-o", "eval.every_epochs=0")
        passed = self.train("passed", *whole_epoch)
        self.assertEqual(passed.returncode, 0, passed.stderr)
        self.assertEqual(self.report("passed")["progress"]["bad_samples"], 1)
        strict = self.train("strict", *whole_epoch, "-o", "data.max_bad_samples=0")
        self.assert_one_line_error(strict, 1, "train.txt:7: slot 1: has more than 3 keys (data.bag_size)")
        (self.folder / "train.txt").write_text("")
        self.assert_one_line_error(self.train("empty", *whole_epoch), 1, "train.txt: has no lines")
        self.assert_one_line_error(self.train("none", "-o", "data.slots=0"), 2, "data.slots: expected 1 or more")

    def test_the_recipe_reads_such_files(self):
        text = (ROOT / "configs/recipes/slots_dlrm.yaml").read_text()
        for name in ("train.txt", "dev.txt"):
            write_slots(self.folder / name, name, 100, numbers=13)
        self.config.write_text(text.replace("path: data/slots", f"path: {self.folder}"))
        trained = self.train("recipe", "-o", "train.steps=2", "-o", "data.batch_size=32", "-o", "model.hash_buckets=1000")
        self.assertEqual(trained.returncode, 0, trained.stderr)


if __name__ == "__main__":
    unittest.main()
