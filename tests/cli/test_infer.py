"""From a trained run to answers: ptrain infer and ptrain export."""
import csv
import fcntl
import io
import json
import pathlib
import shutil
import tempfile
import unittest

from data_files import TEN_CLASSES, write_cifar, write_idx
from program import ProgramTest, get_figures, run
from trained import COLOURS, TrainedModels, sentence


def fnv1a64(data):
    value = 14695981039346656037
    for byte in data:
        value = (value ^ byte) * 1099511628211 % 2**64
    return value


class Infer(TrainedModels, ProgramTest):
    def infer(self, model, *inputs, **options):
        return run("infer", self.runs / model, *inputs, "--progress", "none", **options)

    def answers(self, model, *inputs, **options):
        result = self.infer(model, *inputs, "--format", "jsonl", **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_class_folders_give_the_accuracy_of_the_evaluation(self):
        out = self.folder / "report.json"
        answers = self.answers("images", self.data / "images/val", "--report", out)
        trained = get_figures(json.loads((self.runs / "images/report.json").read_text()))
        report = json.loads(out.read_text())
        self.assertEqual(report["schema"], "ptrain.infer/2")
        self.assertAlmostEqual(report["evaluation"]["metrics"]["top1"]["value"], trained["top1"])
        self.assertEqual((report["inputs"], report["evaluation"]["eval_samples"], len(answers)), (12, 12, 12))
        right = sum(cell["count"] for cell in report["confusion"] if cell["truth"] == cell["answer"])
        self.assertEqual(right, round(12 * trained["top1"]))
        self.assertEqual(len(report["mistakes"]), 12 - right)
        self.assertGreater(right, 8, "three colours are learned")
        for answer in answers:
            self.assertEqual(answer["truth"], pathlib.Path(answer["input"]).parent.name)
            self.assertAlmostEqual(sum(one["probability"] for one in answer["classes"]), 1, places=4)
            self.assertEqual({one["name"] for one in answer["classes"]}, set(COLOURS))

    def test_tables_give_the_accuracy_of_the_evaluation(self):
        out = self.folder / "report.json"
        self.answers("texts", self.data / "texts/dev.tsv", "--report", out, "--batch", 7)
        trained = get_figures(json.loads((self.runs / "texts/report.json").read_text()))
        self.assertAlmostEqual(json.loads(out.read_text())["evaluation"]["metrics"]["top1"]["value"], trained["top1"])

    def test_sentences_and_standard_input_are_answered_alike(self):
        texts = [sentence(i % 2, i) for i in range(5)]
        (self.folder / "lines.txt").write_text("\n".join(texts) + "\n")
        (self.folder / "table.csv").write_text("id,remark\n" + "".join(f'{i},"{t}"\n' for i, t in enumerate(texts)))
        expected = self.answers("texts", *texts)
        self.assertEqual([answer["input"] for answer in expected], texts)
        self.assertEqual(self.answers("texts", "-", input="\n".join(texts)), expected)
        self.assertEqual(self.answers("texts", self.folder / "lines.txt"), expected)
        self.assertEqual(self.answers("texts", self.folder / "table.csv", "--column", "remark"), expected)
        self.assertEqual(self.answers("texts", "--batch", 1, *texts), expected)

    def test_paths_of_images_come_by_standard_input(self):
        paths = sorted(map(str, (self.data / "images/val").glob("*/*.png")))
        answers = self.answers("images", "-", input="\n".join(paths))
        self.assertEqual([answer["input"] for answer in answers], paths)
        self.assertNotIn("truth", answers[0])

    def test_formats_say_the_same(self):
        photo = self.data / "images/val/red/0.png"
        (answer,) = self.answers("images", photo, "--top", 2)
        best = answer["classes"][0]
        text = self.infer("images", photo, "--top", 2)
        self.assertTrue(text.stdout.startswith(f"{photo}: {best['name']} {best['probability']:.4f}, "), text.stdout)
        self.assertIn("1 inputs in ", text.stderr)
        rows = list(csv.reader(io.StringIO(self.infer("images", photo, "--top", 2, "--format", "csv").stdout)))
        self.assertEqual(rows[0], ["input", "truth", "class1", "probability1", "class2", "probability2"])
        self.assertEqual(rows[1][:3], [str(photo), "", best["name"]])

    def test_a_path_with_line_ends_stays_one_line(self):
        photo = self.folder / "two\nlines\x1b.png"
        shutil.copy(self.data / "images/val/red/0.png", photo)
        text = self.infer("images", photo)
        self.assertEqual(text.stdout.count("\n"), 1)
        self.assertTrue(text.stdout.startswith(rf"{self.folder}/two\nlines\x1b.png: "), text.stdout)
        self.assertEqual(self.answers("images", photo)[0]["input"], str(photo))

    def test_low_precision_and_one_class_at_a_time(self):
        photo = self.data / "images/val/red/0.png"
        full, low = self.answers("images", photo), self.answers("images", photo, "--amp", "O1")
        self.assertEqual(full[0]["classes"][0]["name"], low[0]["classes"][0]["name"])
        self.assertAlmostEqual(full[0]["classes"][0]["probability"], low[0]["classes"][0]["probability"], delta=0.05)

    def test_what_cannot_be_read_is_named_and_the_rest_answered(self):
        shutil.copy(self.data / "images/val/red/0.png", self.folder / "good.png")
        (self.folder / "bad.png").write_bytes((self.folder / "good.png").read_bytes()[:60])
        (self.folder / "tiny.yaml").unlink()
        result = self.infer("images", self.folder)
        self.assertEqual(result.stdout.count("\n"), 1)
        self.assertIn("good.png: ", result.stdout)
        self.assert_one_line_error(result, 1, "1 of 2 inputs", "bad.png")

    def test_wrong_inputs_are_named(self):
        (self.folder / "labels.tsv").write_text("sentence\tlabel\nthe film is fine\tmaybe\n")
        (self.folder / "empty").mkdir()
        for model, inputs, options, parts in (
                ("images", ["missing.jpg"], {}, ["missing.jpg"]),
                ("images", [self.folder / "empty"], {}, ["empty", ".jpg"]),
                ("images", ["-"], {"input": ""}, ["nothing to infer"]),
                ("texts", ["-"], {"input": ""}, ["nothing to infer"]),
                ("images", ["-"], {"input": "a.jpg\n\n"}, ["standard input:2", "empty"]),
                ("texts", ["missing.tsv"], {}, ["missing.tsv"]),
                ("texts", [self.folder], {}, ["a sentence"]),
                ("texts", [self.folder / "labels.tsv"], {}, ["labels.tsv:2", "maybe"]),
                ("texts", [self.data / "texts/dev.tsv", "--column", "words"], {}, ["words"])):
            with self.subTest(inputs=inputs):
                self.assert_one_line_error(self.infer(model, *inputs, **options), 1, *parts)
        self.assert_one_line_error(self.infer("texts", "x", "--format", "xml"), 2, "xml")
        self.assert_one_line_error(self.infer("texts", "x", "--amp", "O9"), 2, "O9")


class Columns(TrainedModels, ProgramTest):
    """A model of pairs of sentences, in columns and with classes whose names and order are its own."""

    CONFIG = """\
model: {{name: bert, size: tiny, max_positions: 32}}
data: {{source: tsv, path: {data}, train_file: train.csv, dev_file: dev.csv, vocab: {data}/vocab.txt, max_length: 16,
        batch_size: 16, workers: 1, columns: {{text: one, second: two, label: verdict}}}}
train: {{steps: 60, optimizer: {{name: adamw, lr: 1.0e-3}}, schedule: {{name: constant}}}}
amp: {{level: O0}}
flags: {{cudnn_exhaustive_search: false}}
output: {{dir: {out}}}
"""

    def write(self, train):
        for split, count in (("train", train), ("dev", 12)):
            rows = (f"{i},{('worse', 'better')[i % 2]},{sentence(i % 2, i)},{sentence(1 - i % 2, -i)}" for i in range(count))
            (self.folder / f"{split}.csv").write_text("number,verdict,one,two\n" + "\n".join(rows) + "\n")

    def test_columns_and_classes_are_those_of_the_training(self):
        self.write(96)
        shutil.copy(self.data / "texts/vocab.txt", self.folder / "vocab.txt")
        config, model, dev = self.folder / "pairs.yaml", self.folder / "run", self.folder / "dev.csv"
        config.write_text(self.CONFIG.format(data=self.folder, out=model))
        trained = run("run", config, "-o", 'data.labels=["worse", \'better\']', "--progress", "none")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertRegex(trained.stdout + trained.stderr, "F1 of class better 1.0000")
        self.assertEqual(json.loads((model / "model.json").read_text())["text"]["columns"],
                         {"text": "one", "second": "two", "label": "verdict", "pairs": True})

        asked = run("infer", model, dev, "--format", "jsonl", "--progress", "none")
        answers = [json.loads(line) for line in asked.stdout.splitlines()]
        self.assertEqual([one["truth"] for one in answers], ["worse", "better"] * 6, asked.stderr)
        self.assertIn("accuracy: 1.0000 top-1 of 12 inputs", asked.stderr)
        self.assertNotIn("note:", asked.stderr)
        named = run("infer", model, dev, "--column", "one", "--format", "jsonl", "--progress", "none")
        self.assertEqual(named.stdout, asked.stdout)
        lines = run("infer", model, "-", "--progress", "none", "--format", "csv", input="a film is dull\n\nzzz qqq\tyyy\n")
        self.assertEqual(lines.stdout.count("\n"), 4, "a header and three answers")
        self.assertIn("trained on pairs of sentences (columns \"one\" and \"two\")", lines.stderr)
        self.assertIn("1 of 3 inputs have only words that are not in", lines.stderr)

        for report, part in ((dev, "is an input"), (model / "report.json", "is in"), (config, "is weights, data or a conf")):
            kept = report.read_bytes()
            self.assert_one_line_error(run("infer", model, dev, "--report", report), 2, f"--report {report}: ", part)
            self.assertEqual(report.read_bytes(), kept)
        self.write(10)  # fewer than a batch, and the names sorted: another order than the model's
        evaluated = run("eval", config, "-o", f"model.weights={model}/model.safetensors", "--out", self.folder / "eval",
                        "--progress", "none")
        self.assertEqual(evaluated.returncode, 0, evaluated.stderr)
        report = json.loads((self.folder / "eval/report.json").read_text())
        self.assertEqual(report["evaluation"]["metrics"]["top1"]["value"], 1)
        self.assertTrue(any("matched by name" in note for note in report["notes"]), report["notes"])
        refused = run("eval", config, "-o", f"model.weights={model}/model.safetensors", "--report", dev, "--fresh")
        self.assert_one_line_error(refused, 2, "output.report", "is an input")


class DataSets(TrainedModels, ProgramTest):
    """What data.path takes, asked of the run that learned from it: its evaluation samples."""

    def train_on(self, source, folder):
        config, out = self.folder / f"{source}.yaml", self.folder / f"run-{source}"
        config.write_text(TEN_CLASSES.format(source=source, data=folder, out=out))
        result = run("run", config, "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        return out, json.loads((out / "report.json").read_text())["evaluation"]

    def ask(self, model, *inputs):
        out = self.folder / "infer.json"
        result = run("infer", model, *inputs, "--progress", "none", "--report", out, "--format", "jsonl")
        self.assertEqual(result.returncode, 0, result.stderr)
        return list(map(json.loads, result.stdout.splitlines())), json.loads(out.read_text())["evaluation"]

    def test_a_folder_of_data_gives_the_accuracy_of_the_evaluation(self):
        for source, write in (("idx", write_idx), ("cifar", write_cifar)):
            with self.subTest(source):
                folder = self.folder / f"fashion-{source}"
                write(folder)
                model, trained = self.train_on(source, folder)
                answers, accuracy = self.ask(model, folder)
                self.assertEqual((accuracy["eval_samples"], trained["eval_samples"]), (30, 30))
                self.assertAlmostEqual(accuracy["metrics"]["top1"]["value"], trained["metrics"]["top1"]["value"])
                self.assertAlmostEqual(accuracy["metrics"]["top5"]["value"], trained["metrics"]["top5"]["value"])
                self.assertGreater(accuracy["metrics"]["top1"]["value"], 0.2, "brightness is learned")
                self.assertEqual([answer["input"] for answer in answers], [f"{folder}[{i}]" for i in range(30)])
                # Without the names that the folder's own gives idx: by number. Beside other images.
                folder.rename(self.folder / source)
                photo = self.data / "images/val/red/0.png"
                answers, again = self.ask(model, self.folder / source, photo)
                self.assertEqual(again, accuracy)
                self.assertEqual((len(answers), answers[-1]["input"]), (31, str(photo)))

    def test_data_of_other_classes_or_damaged_is_refused(self):
        write_cifar(self.folder / "ten")
        self.assert_one_line_error(run("infer", self.runs / "images", self.folder / "ten"), 1, "ten: has 10 classes",
                                   "the model's 3", "blue")
        write_idx(self.folder / "idx")
        labels = self.folder / "idx/train-labels-idx1-ubyte"
        whole = labels.read_bytes()
        labels.write_bytes(whole[:8] + bytes(9 if label == 4 else label for label in whole[8:]))
        config = self.folder / "idx.yaml"
        config.write_text(TEN_CLASSES.format(source="idx", data=self.folder / "idx", out=self.folder / "out"))
        self.assertIn('1 of 10 classes have no training sample, first "4"', run("validate", config).stderr)
        labels.write_bytes(whole)
        labels = self.folder / "idx/t10k-labels-idx1-ubyte"
        whole = labels.read_bytes()
        labels.write_bytes(whole[:8] + bytes(9 if label == 4 else label for label in whole[8:]))
        self.assertRegex(run("validate", config).stderr, r'1 of 10 classes have no evaluation sample, first "4": macro F1 ')
        labels.unlink()
        self.assert_one_line_error(run("infer", self.runs / "images", self.folder / "idx"), 1, "t10k-labels-idx1-ubyte")


class Bench(TrainedModels, ProgramTest):
    """What each scenario counts; no figure is compared with a bound."""

    def bench(self, scenario, *arguments, model="texts"):
        result = run("bench", "infer", self.runs / model, "--scenario", scenario, "--seconds", 0.1, *arguments, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_streams_count_percentiles_of_queries(self):
        single = self.bench("single_stream")
        self.assertEqual((single["batch_size"], single["samples"]), (1, single["queries"]))
        self.assertGreaterEqual(single["samples"], 100)
        self.assertEqual(single["result"], single["latency_ms"]["p90"])
        self.assertTrue(single["early_stopping"]["met"])
        self.assertGreaterEqual(single["early_stopping"]["estimate_ms"], single["latency_ms"]["p90"])
        multi = self.bench("multi_stream", "--batch", 3)
        self.assertEqual((multi["batch_size"], multi["samples"]), (8, 8 * multi["queries"]))
        self.assertEqual((multi["result"], multi["early_stopping"]["least"]), (multi["latency_ms"]["p99"], 662))

    def test_ops_are_timed_where_that_is_asked_for(self):
        self.assertEqual(self.bench("offline", "--batch", 2)["kernels"], [])
        timed = self.bench("offline", "--batch", 2, "--per-op")
        self.assertTrue(all(kernel["calls"] >= timed["queries"] and kernel["implementation"] for kernel in timed["kernels"]))
        milliseconds = sum(kernel["milliseconds"] / kernel["calls"] for kernel in timed["kernels"])
        self.assertLess(milliseconds, 10 * timed["latency_ms"]["mean"])  # of one batch, not of all
        self.assertIn("linear", {kernel["op"] for kernel in timed["kernels"]})
        printed = run("bench", "infer", self.runs / "texts", "--seconds", 0.1, "--per-op").stdout
        self.assertIn("GFLOP/s", printed)

    def test_a_server_holds_its_bound(self):
        for model, bound, default in (("texts", ["--bound", 60000], 60000), ("images", ["--bound", 60000], 60000)):
            report = self.bench("server", "--batch", 4, *bound, model=model)
            test = report["early_stopping"]
            self.assertEqual((report["bound_ms"], report["queries"], test["met"]), (default, test["queries"], True))
            self.assertGreaterEqual(test["queries"], test["least"])
            self.assertGreater(report["result"], 0)

    def test_bounds_that_cannot_be_kept_are_named(self):
        result = run("bench", "infer", self.runs / "texts", "--scenario", "server", "--bound", 0.001)
        self.assert_one_line_error(result, 1, "--bound", "0.001 ms")
        self.assert_one_line_error(run("bench", "infer", self.runs / "texts", "--scenario", "twice"), 2, "multi_stream")
        self.assert_one_line_error(run("bench", "infer", self.runs / "texts", "--scenario", "decode"), 2, "needs a language model")


class Export(TrainedModels, ProgramTest):
    PHOTO = "images/val/green/1.png"

    def ask(self, model, what):
        result = run("infer", model, what, "--format", "jsonl", "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def exported(self, name="images"):
        out = self.folder / f"exported-{name}"
        result = run("export", self.runs / name, "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        return out

    def test_a_folder_that_another_process_writes_is_refused(self):
        out = self.folder / "out"
        out.mkdir()
        with open(out / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assert_one_line_error(run("export", self.runs / "texts", "--out", out), 1, "is writing there")
            self.assert_one_line_error(run("quantize", self.runs / "texts", "--calibrate", self.data / "texts/dev.tsv", "--out", out),
                                       1, "is writing there")
        self.assertEqual(list(out.iterdir()), [out / ".lock"])
        self.assertEqual(run("export", self.runs / "texts", "--out", out).returncode, 0)
        self.assertFalse((out / ".lock").exists())

    def test_other_libraries_learn_of_the_case(self):
        out = self.folder / "cased"
        for lowercase in (True, False):
            result = run("run", self.root / "texts.yaml", "-o", f"data.lowercase={str(lowercase).lower()}", "-o", "train.steps=1",
                         "--out", out, "--fresh", "--progress", "none")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIs(json.loads((out / "tokenizer_config.json").read_text())["do_lower_case"], lowercase)

    def test_an_exported_model_needs_nothing_of_its_run(self):
        for name, what in (("images", self.data / self.PHOTO), ("texts", "the film is dull")):
            expected = self.ask(self.runs / name, what)
            out = self.exported(name)
            hidden = self.runs / f"{name}-hidden"
            (self.runs / name).rename(hidden)
            try:
                self.assertEqual(self.ask(out, what), expected)
            finally:
                hidden.rename(self.runs / name)

    def test_a_configuration_stands_for_its_run(self):
        out = self.folder / "out"
        self.assertEqual(run("export", self.root / "images.yaml", "--out", out).returncode, 0)
        self.assertEqual((out / "model.json").read_bytes(), (self.runs / "images/model.json").read_bytes())

    def test_model_json_fits_its_schema_and_says_what_goes_in(self):
        document = json.loads((self.exported() / "model.json").read_text())
        schema = json.loads(run("schema", "model").stdout)
        self.assertEqual(set(schema["required"]), set(document))
        self.assertEqual(document["class_names"], sorted(COLOURS))
        self.assertEqual((document["image"]["size"], document["image"]["resized_to"]), (16, 16))

    def test_what_was_damaged_or_altered_is_refused(self):
        out = self.exported()
        def alter(name, change):
            content = bytearray((out / name).read_bytes())
            change(content)
            (out / name).write_bytes(content)
        def flip(content):
            content[len(content) // 2] ^= 1
        def halve(content):
            del content[len(content) // 2:]
        def rename_class(content):
            content[:] = content.replace(b'"red"', b'"rad"')
        for name, change, part in (("model.json", halve, "complete JSON"), ("model.json", rename_class, "modified"),
                                   ("model.json", lambda content: content.clear(), "complete JSON"),
                                   ("model.safetensors", halve, "truncated"), ("model.safetensors", flip, "modified")):
            with self.subTest(name=name, part=part):
                kept = (out / name).read_bytes()
                alter(name, change)
                for command in (("infer", out, self.data / self.PHOTO), ("export", out, "--out", self.folder / "x")):
                    self.assert_one_line_error(run(*command), 1, name, part)
                self.assertFalse((self.folder / "x").exists())
                (out / name).write_bytes(kept)
        (out / "model.safetensors").unlink()
        self.assert_one_line_error(run("infer", out, self.data / self.PHOTO), 1, "model.safetensors")

    def assert_document_refused(self, out, change, *parts):
        """That model.json, changed and given a hash that fits, ends infer in one line."""
        path = out / "model.json"
        kept = path.read_text()
        document = json.loads(kept)
        change(document)
        document.pop("hash", None)
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        document["hash"] = f"fnv1a64:{fnv1a64(text.encode()):016x}"
        path.write_text(json.dumps(document))
        self.assert_one_line_error(run("infer", out, self.data / self.PHOTO), 1, "model.json", *parts)
        path.write_text(kept)

    def test_a_document_that_makes_no_sense_is_refused_whatever_its_hash(self):
        images = self.exported("images")
        def put(*path, value):
            def change(document):
                for name in path[:-1]:
                    document = document[name]
                document[path[-1]] = value
            return change
        self.assertEqual(fnv1a64(b""), 14695981039346656037)
        for change, part in ((put("keys", "model.colour", value=1), "model.colour"),
                             (put("keys", "model.classes", value=10**9), "model.classes"),
                             (put("keys", "model.stem", value="big"), "model.stem"),
                             (put("model", value="resnet1"), "resnet1"),
                             (put("signature", value="other"), "other"),
                             (put("class_names", value=["a", "b"]), "2 class names for 3"),
                             (put("class_names", value=7), "class_names"),
                             (put("image", value=None), "image"),
                             (put("image", "size", value=10**6), "data.image_size"),
                             (put("image", "mean", value=[0.5]), "image.mean"),
                             (put("image", "stddev", value=[1, 0, 1]), "image.stddev"),
                             (put("image", "longest_side", value=10**12), "image.longest_side"),
                             (put("files", value={}), "model.safetensors"),
                             (put("files", "../x", value={"bytes": 1, "crc32": "0"}), "another folder"),
                             (lambda document: document.pop("keys"), "keys")):
            with self.subTest(part=part):
                self.assert_document_refused(images, change, part)
        texts = self.exported("texts")
        for change, part in ((put("text", "max_length", value=4), "max_length"),
                             (put("text", "max_length", value=64), "32 positions"),
                             (put("text", "vocabulary", value=10**6), "10000")):
            with self.subTest(part=part):
                self.assert_document_refused(texts, change, part)

    def test_what_is_no_model_is_refused(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assert_one_line_error(run("infer", empty, "x.jpg"), 1, "model.json")
        self.assert_one_line_error(run("infer", self.folder / "nowhere", "x.jpg"), 1, "nowhere")
        self.assert_one_line_error(run("export", self.runs / "images", "--out", self.runs / "images"), 2, "--out")
        document = json.loads((self.runs / "images/model.json").read_text())
        (self.folder / "model.json").write_text(json.dumps({**document, "schema": "ptrain.model/2"}))
        self.assert_one_line_error(run("infer", self.folder, "x.jpg"), 5, "ptrain.model/2")


if __name__ == "__main__":
    unittest.main()
