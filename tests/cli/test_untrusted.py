"""Files that a run reads but did not write: weights, caches, images, documents. What is wrong with them is said in one line."""
import json
import os
import pathlib
import resource
import struct
import subprocess
import tempfile
import unittest

from program import BINARY, ROOT, ProgramTest, run


def read_safetensors(path):
    """(header, data) of a file."""
    content = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8:8 + size]), bytearray(content[8 + size:])


def write_safetensors(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Evaluation(ProgramTest):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.train("out", "-o", "train.steps=2", "-o", "eval.every_epochs=0").returncode, 0)
        self.header, self.data = read_safetensors(self.folder / "out/model.safetensors")
        self.changed = self.folder / "changed.safetensors"

    def evaluate(self, *arguments):
        return run("eval", self.config, "--out", self.folder / "eval", "--fresh", "--progress", "none", *arguments)

    def test_weights_that_are_not_numbers_are_an_error(self):
        for value, name in ((float("nan"), "classifier.weight"), (float("inf"), "bert.pooler.dense.bias")):
            with self.subTest(value):
                data = bytearray(self.data)
                begin, _ = self.header[name]["data_offsets"]
                data[begin + 8:begin + 12] = struct.pack("<f", value)
                write_safetensors(self.changed, self.header, data)
                self.assert_one_line_error(self.evaluate("-o", f"model.weights={self.changed}"), 1, str(self.changed),
                                           name, str(value))
                self.assertEqual(self.report("eval")["status"], "error")

    def test_weights_that_give_no_finite_loss_are_an_error(self):
        begin, end = self.header["classifier.weight"]["data_offsets"]
        self.data[begin:end] = struct.pack("<f", 3e38) * ((end - begin) // 4)
        write_safetensors(self.changed, self.header, self.data)
        self.assert_one_line_error(self.evaluate("-o", f"model.weights={self.changed}"), 3, "the loss of the evaluation")
        self.assertEqual(self.report("eval")["status"], "diverged")

    def test_a_classifier_that_was_not_trained_is_not_evaluated(self):
        begin, end = self.header.pop("classifier.weight")["data_offsets"]
        del self.data[begin:end]
        for entry in self.header.values():
            if entry.get("data_offsets", [0])[0] >= end:
                entry["data_offsets"] = [offset - (end - begin) for offset in entry["data_offsets"]]
        write_safetensors(self.changed, self.header, self.data)
        weights = f"model.weights={self.changed}"
        self.assert_one_line_error(self.evaluate("-o", weights), 1, str(self.changed), "classifier.weight")
        self.assertEqual(self.evaluate("-o", weights, "--resume", next((self.folder / "out").glob("ckpt-*"))).returncode, 0)
        self.assertEqual(self.train("tuned", "-o", weights, "-o", "train.steps=2").returncode, 0)

    def test_nothing_to_resume_from_is_nothing_to_evaluate(self):
        self.assert_one_line_error(self.evaluate("--resume", "auto"), 1, str(self.folder / "eval"))



class Cache(ProgramTest):
    """The folder where the choices of a search are kept."""

    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.environment = {**os.environ, "PTRAIN_CACHE_DIR": str(self.cache)}
        self.number = 0

    def notes(self, **environment):
        """Of a run that ends well."""
        self.number += 1
        result = self.train(f"out{self.number}", "-o", "train.steps=1", "-o", "eval.every_epochs=0", "-o", "output.save=false",
                            "-o", "threads=1", env={**self.environment, **environment}, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [note for note in self.report(f"out{self.number}")["notes"] if "search" in note]

    def test_what_is_no_cache_of_the_users_own_is_put_aside(self):
        self.assertEqual(self.notes(), [])
        name, = self.cache.glob("search-*.jsonl")
        good = name.read_text()
        self.assertEqual(self.notes(), [])
        elsewhere = self.folder / "elsewhere"
        elsewhere.write_text(good)
        for make in (lambda: name.write_text('{"schema": 1}'), lambda: name.write_text("["), name.mkdir,
                     lambda: os.mkfifo(name), lambda: name.symlink_to(elsewhere),
                     lambda: (name.write_text(good), name.chmod(0o666))):
            name.unlink()
            make()
            note, = self.notes()
            self.assertIn(f"{name}: not read: ", note)
            self.assertTrue(name.is_file() and not name.is_symlink())
            self.assertEqual(json.loads(name.read_text().splitlines()[0])["schema"], "ptrain.search/2")
            self.assertEqual(self.notes(), [])
            aside = name.with_name(name.name + ".aside")
            aside.rmdir() if aside.is_dir() and not aside.is_symlink() else aside.unlink()
        self.assertEqual(elsewhere.read_text(), good)

    def test_no_folder_is_made_where_none_is_named(self):
        before = set(self.folder.iterdir())
        shared = pathlib.Path(tempfile.gettempdir()) / "ptrain"
        existed = shared.exists()
        for variables in ({}, {"HOME": "", "XDG_CACHE_HOME": ""}, {"HOME": "relative", "XDG_CACHE_HOME": "relative"}):
            for variable in ("PTRAIN_CACHE_DIR", "HOME", "XDG_CACHE_HOME"):
                self.environment.pop(variable, None)
            self.notes(**variables)
        made = {path.name for path in set(self.folder.iterdir()) - before}
        self.assertEqual({name for name in made if not name.startswith("out")}, set())
        self.assertEqual(shared.exists(), existed)


class Documents(ProgramTest):
    def test_what_is_no_file_is_refused_at_once(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        images = self.folder / "images/train"
        for split in ("train", "val"):
            for label in ("a", "b"):
                (self.folder / "images" / split / label).mkdir(parents=True)
                os.mkfifo(self.folder / "images" / split / label / "x.jpg")
        for place in (fifo, "/dev/zero"):
            with self.subTest(place):
                self.assert_one_line_error(run("compare", place, place), 1, str(place), "not a regular file")
                self.assert_one_line_error(
                    run("eval", self.config, "-o", f"model.weights={place}", "--out", self.folder / "e"), 1,
                    str(place), "not a regular file")
        self.assert_one_line_error(
            run("data", "pack", self.folder / "images", "--out", self.folder / "packed"), 1, "1 not a regular file")
        self.assertTrue(images.exists())

    def test_a_link_to_itself_is_named(self):
        loop = self.folder / "loop"
        loop.symlink_to(loop)
        for command, code in ((("table", loop), 1), (("runs", loop), 1), (("infer", loop, "x"), 1),
                              (("compare", loop, loop), 1), (("validate", loop), 2)):
            with self.subTest(command[0]):
                self.assert_one_line_error(run(*command), code, f"error: {loop}: Too many levels of symbolic links")

    def test_deep_documents_are_refused(self):
        (self.folder / "model.json").write_text('{"schema": "ptrain.model/1", "keys": ' + '{"a":' * 300_000 + "1" + "}" * 300_001)
        for command in (("infer", self.folder, "x"), ("table", self.folder / "model.json")):
            self.assert_one_line_error(run(*command), 1, "model.json", "64 levels")

    def test_deep_headers_are_refused_as_they_are_read(self):
        path = self.folder / "deep.safetensors"
        text = b'{"a":' + b"[" * (8 << 20)
        path.write_bytes(struct.pack("<Q", len(text)) + text)
        result = subprocess.run(
            [BINARY, "eval", self.config, "-o", f"model.weights={path}", "--out", self.folder / "e"],
            capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (400 << 20,) * 2))
        self.assert_one_line_error(result, 1, str(path), "levels")

    def test_a_configuration_says_what_is_odd_in_it(self):
        odd = self.folder / "odd.yaml"
        odd.write_bytes(self.config.read_bytes().replace(b"\n", b"\r"))
        self.assert_one_line_error(run("validate", odd), 2, "carriage returns")
        odd.write_bytes(self.config.read_bytes().replace(b"\n", b"\r\n"))
        self.assertEqual(run("validate", odd).returncode, 0)
        self.assert_one_line_error(run("validate", self.config, "-o", "train.steps=017"), 2, "train.steps", "leading zero")
        self.assertEqual(run("validate", self.config, "-o", "train.optimizer.lr=0.5", "-o", "train.steps=10").returncode, 0)

    def test_plans_need_no_batch_of_one(self):
        result = run("estimate", ROOT / "configs/quick/resnet18_synthetic.yaml", "-o", "model.stem=imagenet", "-o",
                     "data.image_size=32", "-o", "data.batch_size=4")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_missing_weights_say_which_script_fetches_them(self):
        for command in ("estimate", "validate"):
            with self.subTest(command):
                result = run(command, ROOT / "configs/bert_finetune.yaml", "-o",
                             f"model.weights={self.folder}/model.safetensors", "-o", "data.source=synthetic")
                self.assertIn("scripts/fetch_weights.sh", result.stderr)


class Resuming(ProgramTest):
    def test_what_differs_is_named(self):
        self.assertEqual(self.train("out", "-o", "train.steps=2", "-o", "eval.every_epochs=0").returncode, 0)
        checkpoint, = (self.folder / "out").glob("ckpt-*")
        resume = ["--resume", checkpoint, "-o", "train.steps=3", "-o", "eval.every_epochs=0"]
        result = self.train("more", *resume, "-o", "train.optimizer.lr=0.002", "-o", "seed=7", "-o", "data.synthetic_samples=640")
        self.assertEqual(result.returncode, 0, result.stderr)
        notes = "\n".join(self.report("more")["notes"])
        for part in ("train.optimizer.lr was 0.001, is 0.002", "seed was 42, is 7", "640"):
            self.assertIn(part, notes)
        self.assertIn("the learning rate jumps to that of schedule linear over the new length", notes)
        constant = ("-o", "train.schedule.name=constant", "-o", "train.schedule.warmup_ratio=0")
        self.assertEqual(self.train("more", "--fresh", *resume, *constant).returncode, 0)
        self.assertNotIn("the learning rate jumps", "\n".join(self.report("more")["notes"]))
        self.assert_one_line_error(self.train("other", *resume, "-o", "train.optimizer.name=momentum"), 1, str(checkpoint),
                                   "train.optimizer.name", '"adamw"', '"momentum"')


if __name__ == "__main__":
    unittest.main()
