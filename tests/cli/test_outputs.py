"""What a command writes replaces nothing that it, or an earlier run of it, did not write."""
import unittest

from program import ProgramTest, run
from trained import TrainedModels


class Runs(ProgramTest):
    def setUp(self):
        super().setUp()
        self.config.write_text(self.config.read_text().replace("steps: 60", "steps: 2"))

    def assert_kept(self, file, *arguments):
        """A run refuses to replace `file`, and leaves it as it is."""
        before = file.read_bytes()
        self.assert_one_line_error(self.train(*arguments), 2, file.name, "--out")
        self.assertEqual(file.read_bytes(), before)

    def test_files_that_no_run_left_are_kept(self):
        for name in ("model.safetensors", "config.json", "vocab.txt", "predictions.jsonl", "best/model.safetensors"):
            file = self.folder / "other" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("mine")
            for fresh in ((), ("--fresh",), ("--resume", "auto")):
                self.assert_kept(file, "other", *fresh)
            file.unlink()

    def test_an_earlier_runs_files_are_replaced_but_not_what_was_put_in_their_place(self):
        self.assertEqual(self.train("own").returncode, 0)
        self.assertEqual(self.train("own", "--fresh").returncode, 0)
        weights = self.folder / "own/model.safetensors"
        weights.write_bytes(b"x" + weights.read_bytes()[1:])
        self.assert_kept(weights, "own", "--fresh")

    def test_weights_of_a_run_that_was_killed_before_it_wrote_model_json_are_its_own(self):
        self.assertEqual(self.train("own").returncode, 0)
        weights = self.folder / "own/model.safetensors"
        for again in (("--fresh",), ("--resume", "auto")):
            for file in (weights.parent / "model.json", *weights.parent.glob("ckpt-*")):
                file.unlink()
            result = self.train("own", *again)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue((weights.parent / "model.json").exists())
        (weights.parent / "model.json").unlink()
        weights.write_bytes(weights.read_bytes().replace(b"ptrain", b"others", 1))
        self.assert_kept(weights, "own", "--fresh")

    def test_weights_that_the_run_starts_from_are_kept(self):
        self.assertEqual(self.train("own").returncode, 0)
        weights = self.folder / "own/model.safetensors"
        for start in (weights, weights.parent, *weights.parent.glob("ckpt-*")):
            before = weights.read_bytes()
            result = self.train("own", "--fresh", "-o", f"model.weights={start}")
            self.assert_one_line_error(result, 2, "model.weights", "--out")
            self.assertEqual(weights.read_bytes(), before)

    def test_exports_keep_runs_and_other_files(self):
        for name in ("own", "second"):
            self.assertEqual(self.train(name).returncode, 0)
        export = ("export", self.folder / "own", "--out")
        self.assert_one_line_error(run(*export, self.folder / "second"), 2, "is the folder of a run", "another folder")
        (self.folder / "data").mkdir()
        (self.folder / "data/config.json").write_text("{}")
        self.assert_one_line_error(run(*export, self.folder / "data"), 2, "data/config.json", "another folder")
        for _ in range(2):
            self.assertEqual(run(*export, self.folder / "model").returncode, 0)
        (self.folder / "data/model.onnx").write_text("mine")
        self.assert_one_line_error(run(*export, self.folder / "data", "--format", "onnx"), 2, "model.onnx", "another folder")
        for _ in range(2):
            self.assertEqual(run(*export, self.folder / "onnx", "--format", "onnx").returncode, 0)

    def test_an_export_replaces_another_model_as_a_whole(self):
        other = self.folder / "other.yaml"
        other.write_text("model: {name: resnet18, classes: 2}\n"
                         "data: {source: synthetic, image_size: 8, batch_size: 2, synthetic_samples: 8}\n"
                         "train: {steps: 1}\neval: {every_epochs: 0}\n")
        self.assertEqual(self.train("text", "-o", "train.steps=2").returncode, 0)
        self.assertEqual(self.train("image", config=other).returncode, 0)
        out = self.folder / "model"
        self.assertEqual(run("export", self.folder / "text", "--out", out).returncode, 0)
        texts = {path.name for path in out.iterdir() if not path.name.startswith(".")}
        for _ in range(2):
            replaced = run("export", self.folder / "image", "--out", out)
            self.assertEqual(replaced.returncode, 0, replaced.stderr)
            self.assertEqual({path.name for path in out.iterdir() if not path.name.startswith(".")}, {"model.json", "model.safetensors"})
        self.assertGreater(len(texts), 2)

    def test_an_export_that_was_killed_is_no_obstacle(self):
        self.assertEqual(self.train("own", "-o", "train.steps=2").returncode, 0)
        out = self.folder / "model"
        self.assertEqual(run("export", self.folder / "own", "--out", out).returncode, 0)
        names = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
        (out / ".unfinished_model").mkdir()  # killed while it put the files in their place
        for name in names:
            (out / name).rename(out / ".unfinished_model" / name)
        put = next(name for name in names if name != "model.json")
        (out / put).write_bytes((out / ".unfinished_model" / put).read_bytes())
        again = run("export", self.folder / "own", "--out", out)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(sorted(path.name for path in out.iterdir() if path.name != ".lock"), names)

    def test_tables_keep_data(self):
        self.assertEqual(self.train("own").returncode, 0)
        file = self.folder / "train.tsv"
        file.write_text("sentence\tlabel\nfine\t1\n")
        for format in ("text", "csv", "html"):
            table = ("table", self.folder / "own", "--format", format, "--out")
            self.assert_one_line_error(run(*table, file), 2, "train.tsv", "choose another file")
            for _ in range(2):
                self.assertEqual(run(*table, self.folder / f"table.{format}").returncode, 0)

    def test_a_value_listed_twice_is_refused_before_training(self):
        for listed in ("output.events=[tensorboard,tensorboard]", "amp.custom_white_list=[matmul,matmul]"):
            self.assert_one_line_error(run("validate", self.config, "-o", listed), 2, listed.split("=")[0], "twice")
        self.assertEqual(run("validate", self.config, "-o", "output.events=[tensorboard,visualdl]").returncode, 0)

    def test_a_listed_op_that_the_network_has_not_is_noted(self):
        keys = ("-o", "train.steps=1", "-o", "amp.level=O1", "-o")
        noted = self.train("own", *keys, "amp.custom_black_list=[softmx]")
        self.assertIn("softmx names no op of this network", noted.stdout + noted.stderr)
        silent = self.train("own", *keys, "amp.custom_black_list=[linear]", "--fresh")
        self.assertNotIn("no op of this network", silent.stdout + silent.stderr)


class Pictures(TrainedModels, ProgramTest):
    def test_inputs_are_not_painted_on(self):
        photos = self.data / "images/val/red"
        before = (photos / "0.png").read_bytes()
        for option in ("--boxes", "--masks"):
            for inputs in (photos, photos / "0.png"):
                self.assert_one_line_error(run("infer", self.runs / "images", inputs, option, photos), 2, option,
                                           ".png", "input of this command")
        self.assertEqual((photos / "0.png").read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
