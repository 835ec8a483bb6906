"""Videos as features of their frames: NeXtVLAD learns made-up records of known labels, what it reports and predicts, and
what is refused in one line."""
import json
import unittest

from data_files import video, write_tf_records, write_videos
from program import ProgramTest, get_figures, run

VIDEOS = """\
model: {{name: NeXtVLAD, size: tiny, dropout: 0.2}}
data: {{source: youtube8m, path: {data}, max_frames: 5, batch_size: 16, workers: 1}}
train: {{steps: 50, optimizer: {{name: adam, lr: 4.0e-3, weight_decay: 0}}, schedule: {{name: cosine}}, log_every_steps: 1}}
eval: {{every_epochs: 0, every_steps: 50}}
flags: {{cudnn_exhaustive_search: false}}
threads: 1
"""
CLASSES, VALIDATION = 8, 40


class Videos(ProgramTest):
    def setUp(self):
        super().setUp()
        write_videos(self.folder / "train0000.tfrecord", 1, 128, CLASSES)
        write_videos(self.folder / "validate0000.tfrecord", 2, VALIDATION, CLASSES)
        self.config.write_text(VIDEOS.format(data=self.folder))

    def test_their_labels_are_learned_reported_and_predicted(self):
        trained = self.train("own", "-o", "output.predictions=true")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        self.assertEqual((report["model"]["name"], report["model"]["sample"]), ("nextvlad", "video"))
        self.assertEqual(report["throughput"]["unit"], "videos/s")
        figures = get_figures(report)
        self.assertGreater(figures["gap"], 0.95, "a perfect model's is 1")
        self.assertGreater(figures["hit_at_1"], 0.95)
        self.assertGreater(figures["perr"], 0.9)
        self.assertEqual(report["evaluation"]["eval_samples"], VALIDATION)
        again = run("eval", self.config, "-o", f"model.weights={self.folder / 'own/model.safetensors'}", "-o",
                    "eval.batch_size=7", "--out", self.folder / "again", "--progress", "none")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertAlmostEqual(get_figures(self.report("again"))["gap"], figures["gap"], places=6)
        self.assert_predictions(figures)
        for document in (("table", self.folder / "own", "--format", "html", "--out", self.folder / "page.html"),
                         ("show", self.folder / "own"), ("estimate", self.config)):
            self.assertEqual(run(*document).returncode, 0, document)

    def assert_predictions(self, figures):
        inferred = run("infer", self.folder / "own", self.folder / "validate0000.tfrecord", "--top", "3", "--json")
        self.assertEqual(inferred.returncode, 0, inferred.stderr)
        lines = [json.loads(line) for line in inferred.stdout.splitlines()]
        self.assertEqual([line["input"] for line in lines],
                         [f"{self.folder / 'validate0000.tfrecord'}: record {i}" for i in range(VALIDATION)])
        self.assertEqual({len(line["classes"]) for line in lines}, {3})
        self.assertGreater(max(sum(one["probability"] for one in line["classes"]) for line in lines), 1.5,
                           "probabilities are of each class by itself")
        hits = sum(line["truth"] == line["classes"][0]["name"] for line in lines)
        self.assertAlmostEqual(hits / VALIDATION, figures["hit_at_1"], places=6)

    def test_other_networks_learn_them_too(self):
        for network in ("AttentionCluster", "AttentionLSTM"):
            with self.subTest(network):
                trained = self.train(network, "-o", f"model.name={network}")
                self.assertEqual(trained.returncode, 0, trained.stderr)
                self.assertGreater(get_figures(self.report(network))["gap"], 0.8)

    def test_a_run_goes_on_where_it_stopped(self):
        short = ("-o", "eval.every_steps=0", "-o", "train.schedule.name=constant")
        self.assertEqual(self.train("whole", *short, "-o", "train.steps=12").returncode, 0)
        self.assertEqual(self.train("parts", *short, "-o", "train.steps=5").returncode, 0)
        resumed = self.train("parts", *short, "-o", "train.steps=12", "--resume", "auto")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        whole, parts = ((self.folder / name / "model.safetensors").read_bytes() for name in ("whole", "parts"))
        self.assertEqual(whole, parts)

    def test_what_is_wrong_is_said_in_one_line(self):
        for override, key in (("data.path=", "data.path"), ("train.mixup=0.2", "train.mixup"), ("model.size=large", "model.size"),
                              ("data.class_weights=balanced", "data.class_weights"), ("data.split.dev=0.1", "data.split.dev"),
                              ("train.label_smoothing=0.1", "train.label_smoothing"), ("data.source=idx", "data.source")):
            with self.subTest(override):
                self.assert_one_line_error(run("validate", self.config, "-o", override), 2, key)
        self.assert_one_line_error(self.train("few", "-o", "model.classes=3"), 1, "train0000.tfrecord: record ", "label ")
        frame = (b"r" * 1024, b"a" * 128)
        write_tf_records(self.folder / "train0000.tfrecord", [video("a", [1], [frame]), video("b", [], [frame])])
        self.assert_one_line_error(self.train("none"), 1, "train0000.tfrecord: record 1: has no labels")
        write_tf_records(self.folder / "train0000.tfrecord", [video("a", [1], [frame[:1] + (b"short",)])] * 16)
        self.assert_one_line_error(self.train("short", "-o", "model.classes=8"), 1, "train0000.tfrecord: record ",
                                   "frame 0 of audio: expected one value of 128 bytes, got 1 of 5")

    def test_what_a_trained_one_is_not_made_for_is_an_error(self):
        self.assertEqual(self.train("own", "-o", "train.steps=1", "-o", "eval.every_steps=0").returncode, 0)
        for command in (("export", self.folder / "own", "--format", "onnx", "--out", self.folder / "a.onnx"),
                        ("quantize", self.folder / "own", "--calibrate", self.folder / "validate0000.tfrecord", "--out", self.folder / "q")):
            self.assert_one_line_error(run(*command), 2, "reads features of videos")
        self.assert_one_line_error(run("infer", self.folder / "own", self.folder / "missing.tfrecord"), 1, "missing.tfrecord")


if __name__ == "__main__":
    unittest.main()
