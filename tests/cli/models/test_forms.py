"""Whatever a model reads, libptrain and the server take it as named tensors and answer alike: clips, rows of tables, and
texts that are answered with a value."""
import json
import random
import unittest
from ctypes import c_float, c_int64, c_uint8

from program import ProgramTest, run
from test_api import library
from test_serve import Server, texts
from trained import png

from ptrain import CLIPS, FLOAT32, IMAGES, INT64, LOGITS, TABLES, UINT8, Model

QUICK = ("-o", "train.steps=2", "-o", "eval.every_epochs=0", "-o", "flags.cudnn_exhaustive_search=false")
CLICKS = "model: {name: WideDeep, hash_buckets: 500}\ndata: {source: synthetic, batch_size: 16, workers: 0}\n"
CLIP = ("model: {name: tsn_resnet50, segments: 3, classes: 2, stem: small}\n"
        "data: {source: synthetic, image_size: 16, batch_size: 4, synthetic_samples: 8, workers: 0}\n")
IMAGE = ("model: {name: resnet18, classes: 2}\n"
         "data: {source: synthetic, image_size: 24x16, batch_size: 4, synthetic_samples: 8, workers: 0}\n")
KINDS = {UINT8: ("UINT8", c_uint8), INT64: ("INT64", c_int64), FLOAT32: ("FP32", c_float)}


class Forms(ProgramTest):
    def model(self, text):
        self.config.write_text(text)
        trained = self.train("own", *QUICK)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        return self.folder / "own"

    def ask(self, folder, rows, tensors):
        """The same rows of numbers from libptrain, at once and one by one, and from the server; `tensors` by name:
        (type, shape of a row, numbers)."""
        model = Model(folder, library(), max_batch=rows)
        self.addCleanup(model.close)

        def part(first, count):
            some = {}
            for name, (kind, shape, values) in tensors.items():
                each = len(values) // rows
                some[name] = (kind, (count, *shape), (KINDS[kind][1] * (each * count))(*values[first * each:(first + count) * each]))
            return model.run(some, LOGITS)

        together = part(0, rows)
        everything = {name: (kind, (rows, *shape), (KINDS[kind][1] * len(values))(*values)) for name, (kind, shape, values) in tensors.items()}
        self.assertEqual(list(model.answers), ["logits", "probabilities"])
        self.assertEqual(model.answers["logits"][:2], (FLOAT32, (-1, model.about.classes)))
        self.assertEqual([number for row in together for number in row], list(model.answer(everything, "logits")))
        with self.assertRaisesRegex(RuntimeError, 'the model has no output "masks", expected logits or probabilities'):
            model.answers["masks"] = model.answers["logits"]
            model.answer(everything, "masks")
        server = Server(folder)
        self.addCleanup(server.kill)
        body = [{"name": name, "datatype": KINDS[kind][0], "shape": [rows, *shape], "data": list(values)}
                for name, (kind, shape, values) in tensors.items()]
        status, answer = server.infer(body)
        self.assertEqual(status, 200, answer)
        logits = next(one for one in answer["outputs"] if one["name"] == "logits")
        served = [logits["data"][i:i + logits["shape"][1]] for i in range(0, len(logits["data"]), logits["shape"][1])]
        for row in range(rows):
            for one in (part(row, 1)[0], served[row]):
                self.assertEqual(len(one), len(together[row]))
                for a, b in zip(one, together[row]):
                    self.assertAlmostEqual(a, b, delta=1e-5 * max(1, abs(b)))
        about = {one["name"]: one for one in server.ask("GET", f"/v2/models/{server.name}")[1]["inputs"]}
        for name, (kind, shape, _) in tensors.items():
            self.assertEqual((about[name]["datatype"], about[name]["shape"]), (KINDS[kind][0], [-1, *shape]))
            self.assertEqual(model.inputs[name][:2], (kind, (-1, *shape)))
        return model, server

    def test_rows_of_tables(self):
        draw = random.Random(1)
        tensors = {"dense_features": (FLOAT32, (13,), [draw.random() for _ in range(5 * 13)]),
                   "categorical_features": (INT64, (26,), [draw.randrange(500) for _ in range(5 * 26)])}
        model, server = self.ask(self.model(CLICKS), 5, tensors)
        self.assertEqual((model.about.kind, model.inputs["categorical_features"][2]), (TABLES, 500))
        row = [{"name": "dense_features", "datatype": "FP32", "shape": [1, 13], "data": [0.5] * 13},
               {"name": "categorical_features", "datatype": "INT64", "shape": [1, 26], "data": [1] * 25 + [500]}]
        self.assertEqual(server.infer(row), (400, {"error": "categorical_features: value 500 at [0, 25]: expected 0 to 499"}))
        self.assertEqual(server.infer(row[:1]), (400, {"error": "expected an input categorical_features, which is missing"}))
        row[1]["data"][-1] = 499
        answers = [server.infer([{**row[0], "name": dense}, {**row[1], "name": categorical}])
                   for dense, categorical in (("dense_features", "categorical_features"), ("numbers", "categories"))]
        self.assertEqual((answers[0][0], answers[1]), (200, answers[0]), "names of version 0.1.0")
        older = {"numbers": tensors["dense_features"], "categories": tensors["categorical_features"]}
        values = {name: (kind, (5, *shape), (KINDS[kind][1] * len(data))(*data)) for name, (kind, shape, data) in older.items()}
        self.assertEqual(len(model.run(values, LOGITS)), 5)

    def test_clips(self):
        draw = random.Random(2)
        tensors = {"images": (UINT8, (3, 16, 16, 3), [draw.randrange(256) for _ in range(2 * 3 * 16 * 16 * 3)])}
        model, server = self.ask(self.model(CLIP), 2, tensors)
        self.assertEqual(model.about.kind, CLIPS)
        image = [{"name": "images", "datatype": "UINT8", "shape": [1, 16, 16, 3], "data": [0] * (16 * 16 * 3)}]
        self.assertEqual(server.infer(image), (400, {"error": "images: expected shape [1, 3, 16, 16, 3], got [1, 16, 16, 3]"}))

    def test_images_that_are_no_squares(self):
        draw = random.Random(3)
        tensors = {"images": (UINT8, (24, 16, 3), [draw.randrange(256) for _ in range(2 * 24 * 16 * 3)])}
        model, server = self.ask(self.model(IMAGE), 2, tensors)
        self.assertEqual((model.about.kind, model.about.image_size), (IMAGES, 0), "its size is no single number")
        turned = [{"name": "images", "datatype": "UINT8", "shape": [1, 16, 24, 3], "data": [0] * (24 * 16 * 3)}]
        self.assertEqual(server.infer(turned), (400, {"error": "images: expected shape [1, 24, 16, 3], got [1, 16, 24, 3]"}))
        photo = png([[(10 * x, 8 * y, 40) for x in range(16)] for y in range(24)])
        self.assertEqual(bytes(model.encode(photo)["images"]), bytes(v for y in range(24) for x in range(16) for v in (10 * x, 8 * y, 40)))
        self.assertEqual(len(model.ask([photo, photo], LOGITS)), 2)

    def test_texts_that_have_a_value(self):
        (self.folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"]) + "\n")
        for name in ("train", "dev"):
            rows = "".join(f"{a} {b}\t{i}.5\n" for i, (a, b) in enumerate(zip("abcdef" * 3, "fedcba" * 3)))
            (self.folder / f"{name}.tsv").write_text("text\tlabel\n" + rows)
        folder = self.model(
            "model: {name: bert, size: tiny, head: regression, max_positions: 16}\n"
            f"data: {{source: tsv, path: {self.folder}, vocab: {self.folder / 'vocab.txt'}, max_length: 8, batch_size: 4}}\n")
        answered = run("infer", folder, "a f", "b e", "--format", "jsonl", "--progress", "none")
        self.assertEqual(answered.returncode, 0, answered.stderr)
        expected = [json.loads(line)["value"] for line in answered.stdout.splitlines()]
        model, server = Model(folder, library()), Server(folder)
        self.addCleanup(model.close)
        self.addCleanup(server.kill)
        status, answer = server.infer(texts("a f", "b e"))
        self.assertEqual(status, 200, answer)
        for values in ([row[0] for row in model.ask(["a f", "b e"], LOGITS)], answer["outputs"][0]["data"]):
            for a, b in zip(values, expected, strict=True):
                self.assertAlmostEqual(a, b, places=4)


if __name__ == "__main__":
    unittest.main()
