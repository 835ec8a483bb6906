"""Files that a run reads but did not write: weights, caches, images, documents. What is wrong with them is said in one line."""
import json
import os
import pathlib
import struct
import unittest

from program import ProgramTest, run


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
        return run("eval", self.config, "--output-dir", self.folder / "eval", "--progress", "none", *arguments)

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


if __name__ == "__main__":
    unittest.main()
