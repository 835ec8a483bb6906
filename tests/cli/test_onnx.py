"""Exported ONNX files pass the checker, and ONNX Runtime answers as ptrain does."""
import json
import math
import unittest

import trained
from program import ProgramTest, run

try:
    import numpy
    import onnx
    import onnxruntime
    MISSING = None
except ImportError as error:
    MISSING = f"pip install onnx onnxruntime: {error}"


class Onnx(trained.TrainedModels, ProgramTest):
    @classmethod
    def setUpClass(cls):
        if MISSING is None:
            super().setUpClass()

    def setUp(self):
        if MISSING:
            self.skipTest(MISSING)
        super().setUp()

    def exported(self, name):
        result = run("export", self.runs / name, "--out", self.folder, "--format", "onnx")
        self.assertEqual(result.returncode, 0, result.stderr)
        path = self.folder / "model.onnx"
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        self.assertEqual([(entry.domain, entry.version) for entry in model.opset_import], [("", 17)])
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        document = json.loads((self.runs / name / "model.json").read_text())
        self.assertEqual(json.loads(metadata["ptrain.class_names"]), document["class_names"])
        self.assertEqual(metadata["ptrain.hash"], document["hash"])
        return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def assert_answers(self, name, inputs, logits):
        """That softmax(logits) are the probabilities of ptrain infer, row by row."""
        result = run("infer", self.runs / name, *inputs, "--format", "jsonl", "--top", 10, "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        answers = [json.loads(line)["classes"] for line in result.stdout.splitlines()]
        self.assertEqual(len(answers), len(logits))
        for classes, row in zip(answers, logits):
            whole = sum(math.exp(value) for value in row)
            for one in classes:
                self.assertAlmostEqual(one["probability"], math.exp(row[one["index"]]) / whole, delta=1e-4)
            self.assertEqual(classes[0]["index"], int(numpy.argmax(row)))

    def test_images(self):
        session = self.exported("images")
        paths, pixels = [], []
        for i, colour in enumerate(sorted(trained.COLOURS)):
            pixels.append(trained.picture(colour, i))
            paths.append(self.folder / f"{i}.png")
            paths[-1].write_bytes(trained.png(pixels[-1]))
        (logits,) = session.run(None, {"images": numpy.array(pixels, numpy.uint8)})
        self.assert_answers("images", paths, logits)

    def test_texts_of_several_lengths(self):
        session = self.exported("texts")
        texts = ["the film is lovely", "a story is dull", "fine", "a a a the the film is poor"]
        ids = [[trained.WORDS.index(word) for word in f"[CLS] {text} [SEP]".split()] for text in texts]
        longest = max(map(len, ids))
        rows = numpy.array([row + [0] * (longest - len(row)) for row in ids], numpy.int64)
        mask = numpy.array([[1] * len(row) + [0] * (longest - len(row)) for row in ids], numpy.int64)
        feeds = {"input_ids": rows, "attention_mask": mask, "token_type_ids": numpy.zeros_like(rows)}
        self.assert_answers("texts", texts, session.run(None, feeds)[0])


if __name__ == "__main__":
    unittest.main()
