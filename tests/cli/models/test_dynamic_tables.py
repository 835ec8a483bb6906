"""Tables that grow (model.dynamic_table) on clicks in Criteo's form: training, resuming, evaluating, predicting."""
import json
import unittest

from data_files import write_criteo, write_slots
from program import ProgramTest, get_figures, run
from test_serve import Server

CLICKS = """\
model: {{name: WideDeep, hash_buckets: 20000, dynamic_table: true}}
data: {{source: criteo, path: {data}, batch_size: 64, workers: 1}}
train: {{steps: 124, optimizer: {{name: adamw, lr: 2.0e-3, weight_decay: 0}}, schedule: {{name: constant}}, log_every_steps: 1}}
eval: {{every_epochs: 1}}
flags: {{cudnn_exhaustive_search: false}}
threads: 1
"""


def count_words(path):
    """Different words of different features, the empty one included."""
    lines = path.read_text().splitlines()
    return len({(i, word) for line in lines for i, word in enumerate(line.split("\t")[14:])})


class DynamicTables(ProgramTest):
    def setUp(self):
        super().setUp()
        for name, count in (("train", 4000), ("dev", 500)):
            write_criteo(self.folder / f"{name}.tsv", name, count)
        self.config.write_text(CLICKS.format(data=self.folder))

    def predict(self, model, *inputs, **options):
        answered = run("infer", model, *inputs, "--progress", "none", "--format", "jsonl", **options)
        self.assertEqual(answered.returncode, 0, answered.stderr)
        return [json.loads(line)["classes"] for line in answered.stdout.splitlines()]

    def test_they_learn_and_the_report_counts_their_rows(self):
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        words = count_words(self.folder / "train.tsv")
        self.assertEqual(report["model"]["table"], {"rows": words, "capacity": 20000, "load": words / 20000, "evicted": 0, "unadmitted": 0})
        self.assertIn(f"table     {words} of 20000 rows in use\n", trained.stdout)
        self.assertGreater(get_figures(report)["auc"], 0.75)
        self.assertLess((self.folder / "own/model.safetensors").stat().st_size, 3_000_000, "rows in use alone are stored")
        again = run("eval", self.config, "-o", f"model.weights={self.folder / 'own/model.safetensors'}", "--out",
                    self.folder / "again", "--progress", "none")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(get_figures(self.report("again"))["auc"], get_figures(report)["auc"])

    def test_a_run_goes_on_where_it_stopped(self):
        sweeps = ("-o", "eval.every_epochs=0", "-o", "model.admit_after=2", "-o", "train.tables.sweep_every_steps=5",
                  "-o", "train.tables.decay=0.5", "-o", "train.tables.evict_below=4")
        self.assertEqual(self.train("whole", *sweeps, "-o", "train.steps=40").returncode, 0)
        self.assertEqual(self.train("parts", *sweeps, "-o", "train.steps=17").returncode, 0)
        resumed = self.train("parts", *sweeps, "-o", "train.steps=40", "--resume", "auto")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(self.losses("parts"), self.losses("whole"))
        for part in ("evicted", "unadmitted", "rows"):
            self.assertGreater(self.report("whole")["model"]["table"][part], 0)
        self.assertEqual(self.report("parts")["model"]["table"], self.report("whole")["model"]["table"])
        whole, parts = ((self.folder / name / "model.safetensors").read_bytes() for name in ("whole", "parts"))
        self.assertEqual(whole, parts)

    def test_unknown_words_count_as_none(self):
        self.assertEqual(self.train("own", "-o", "train.steps=62").returncode, 0)
        model, line = self.folder / "copy", (self.folder / "dev.tsv").read_text().splitlines()[0].split("\t")
        self.assertEqual(run("export", self.folder / "own", "--out", model).returncode, 0)
        some, others = ("\t".join(line[:14] + [word] * 26) + "\n" for word in ("0123abcd", "4567ef01"))
        self.assertEqual(self.predict(model, "-", input=some), self.predict(model, "-", input=others))
        self.assertNotEqual(self.predict(model, "-", input=some), self.predict(model, "-", input="\t".join(line) + "\n"))
        self.assertEqual(len(self.predict(model, self.folder / "dev.tsv")), 500)
        timed = run("bench", "infer", model, "--scenario", "offline", "--seconds", "0.2")
        self.assertEqual(timed.returncode, 0, timed.stderr)

    def test_a_served_one_takes_keys(self):
        self.assertEqual(self.train("own", "-o", "train.steps=3").returncode, 0)
        server = Server(self.folder / "own")
        self.addCleanup(server.kill)
        dense = {"name": "dense_features", "datatype": "FP32", "shape": [1, 13], "data": [0] * 13}
        for keys in ([-1] * 26, [2**62] * 26):
            status, served = server.infer([dense, {"name": "categorical_features", "datatype": "INT64", "shape": [1, 26], "data": keys}])
            self.assertEqual(status, 200, served)
        asked = self.predict(self.folder / "own", "-", input="0\t0" + "\t" * 38 + "\n")
        self.assertEqual(len(asked), 1)

    def test_bags_have_keys_too(self):
        write_slots(self.folder / "train.txt", "train", 4000)
        write_slots(self.folder / "dev.txt", "dev", 500)
        slots = ("-o", "data.source=slots", "-o", "data.train_file=train.txt", "-o", "data.dev_file=dev.txt", "-o", "data.slots=5",
                 "-o", "data.bag_size=3", "-o", "model.bag=mean", "-o", "model.name=dlrm_dcnv2")
        trained = self.train("own", *slots)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertEqual(self.report("own")["model"]["table"]["rows"], 100)
        self.assertGreater(get_figures(self.report("own"))["auc"], 0.75)
        self.assertEqual(len(self.predict(self.folder / "own", self.folder / "dev.txt")), 500)

    def test_a_full_table_ends_the_run(self):
        small = ("-o", "model.hash_buckets=400")
        self.assert_one_line_error(self.train("full", *small), 1, "the embedding table is full", "its 400 rows (model.hash_buckets)")
        fits = self.train("fits", *small, "-o", "model.admit_after=200", "-o", "train.steps=62", "-o", "eval.every_epochs=0")
        self.assertEqual(fits.returncode, 0, fits.stderr)
        self.assertEqual(self.train("none", "-o", "model.admit_after=255", "-o", "train.steps=2").returncode, 0)
        self.assertEqual(self.report("none")["model"]["table"]["rows"], 0)
        self.assertEqual(len(self.predict(self.folder / "none", self.folder / "dev.tsv")), 500)

    def test_rows_that_are_not_used_take_no_memory(self):
        large = self.train("large", "-o", "model.hash_buckets=3000000", "-o", "train.steps=20")
        self.assertEqual(large.returncode, 0, large.stderr)
        memory = self.report("large")["memory"]
        self.assertGreater(memory["planned_peak_bytes"], 3000000 * 3 * (9 + 1) * 4, "the plan is of the capacity")
        self.assertLess(memory["measured_peak_bytes"], 200 * 2**20)
        answer = run("infer", self.folder / "large", self.folder / "dev.tsv", "--progress", "none")
        self.assertEqual(answer.returncode, 0, answer.stderr)

    def test_they_may_lie_in_files(self):
        short = ("-o", "train.steps=30", "-o", "model.hash_buckets=30000")
        files = (*short, "-o", f"train.tables.folder={self.folder / 'tables'}")
        for name, options in (("memory", short), ("files", files)):
            trained = self.train(name, *options)
            self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertEqual(self.losses("files"), self.losses("memory"))
        self.assertEqual(*((self.folder / name / "model.safetensors").read_bytes() for name in ("files", "memory")))
        self.assertEqual(list((self.folder / "tables").iterdir()), [], "the files have no names")
        resumed = self.train("files", *files, "-o", "train.steps=35", "--resume", "auto")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        plans = [json.loads(run("estimate", self.config, *options, "--json").stdout)["memory"] for options in (short, files)]
        rows, slots = 30000 * (3 * (9 + 1) * 4 + 8), 65536 * 4
        self.assertEqual([plan["table_file_bytes"] for plan in plans], [0, rows + slots])
        self.assertEqual(plans[0]["variable_bytes"] - plans[1]["variable_bytes"], rows + slots)
        (self.folder / "file").write_text("")
        elsewhere = self.train("elsewhere", *short, "-o", f"train.tables.folder={self.folder / 'file'}")
        self.assertEqual((elsewhere.returncode, elsewhere.stderr.count("\n")), (1, 1), elsewhere.stderr)
        full = self.train("full", "-o", "model.hash_buckets=2147483647", "-o", "model.embedding_size=4096",
                          "-o", f"train.tables.folder={self.folder / 'tables'}")
        self.assert_one_line_error(full, 1, "train.tables.folder", "MiB are free")

    def test_what_they_cannot_do_is_refused(self):
        for override, key in (("device=cuda", "device: expected cpu with model.dynamic_table"), ("dist.ranks=2", "dist.tables: expected rows"),
                              ("train.average_checkpoints=2", "train.average_checkpoints: expected 0"),
                              ("train.optimizer.name=lars", "train.optimizer.name"), ("train.ema_decay=0.9", "train.ema_decay"),
                              ("model.hash_buckets=3000000000", "model.hash_buckets: expected at most 2147483647, got 3000000000")):
            with self.subTest(override):
                self.assert_one_line_error(run("validate", self.config, "-o", override), 2, key)
        self.assertEqual(self.train("own", "-o", "train.steps=2", "-o", "eval.every_epochs=0").returncode, 0)
        self.assert_one_line_error(run("estimate", self.config, "--device", "h200"), 2, "model.dynamic_table is supported on device cpu only")
        onnx = run("export", self.folder / "own", "--out", self.folder / "copy", "--format", "onnx")
        self.assert_one_line_error(onnx, 2, "reads rows of tables")
        hashed = self.train("hashed", "-o", f"model.weights={self.folder / 'own/model.safetensors'}", "-o", "model.dynamic_table=false")
        self.assert_one_line_error(hashed, 1, "has shape")


if __name__ == "__main__":
    unittest.main()
