"""Trained models in 8 bits: what `ptrain quantize` writes, reports and refuses."""
import json
import os
import pathlib
import re
import shutil
import struct
import tempfile
import unittest

from data_files import TEN_CLASSES, write_idx
from program import run
from trained import TrainedModels, draw_images

try:
    import jsonschema
except ImportError:
    jsonschema = None

SOURCES = {"images": "images/val", "texts": "texts/dev.tsv"}


def fnv1a64(text):
    state = 14695981039346656037
    for byte in text.encode():
        state = (state ^ byte) * 1099511628211 % 2**64
    return f"fnv1a64:{state:016x}"


def tensors(path):
    """Names, types and shapes of a safetensors file."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    return {name: (entry["dtype"], entry["shape"]) for name, entry in header.items() if name != "__metadata__"}


class Quantize(TrainedModels):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.out = cls.root / "int8"
        cls.reports = {}
        for name, source in SOURCES.items():
            if (cls.out / name).exists():
                cls.reports[name] = json.loads((cls.root / f"{name}.json").read_text())
                continue
            result = cls.quantize(name, cls.out / name, "--report", cls.root / f"{name}.json", data=cls.data / source)
            assert result.returncode == 0, result.stderr
            cls.reports[name] = json.loads((cls.root / f"{name}.json").read_text())

    @classmethod
    def quantize(cls, name, out, *options, data=None, max_drop=20, seconds=0, **more):
        """Every layer, whatever is faster on this machine."""
        source = cls.data / SOURCES[name] if data is None else data
        return run("quantize", cls.runs / name, "--calibrate", source, "--out", out, "--layers", "all",
                   "--speed-seconds", seconds, "--max-drop", max_drop, *options, **more)

    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)
        self.folder = pathlib.Path(self.holder.name)

    def answers(self, model, name, *options):
        report = self.folder / "infer.json"
        result = run("infer", model, self.data / SOURCES[name], "--progress", "none", "--report", report, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(report.read_text())

    def test_a_quantized_model_answers_as_its_own(self):
        for name in SOURCES:
            before, after = self.answers(self.runs / name, name), self.answers(self.out / name, name)
            self.assertGreater(before["evaluation"]["metrics"]["top1"]["value"], 0.7)
            self.assertAlmostEqual(before["evaluation"]["metrics"]["top1"]["value"], after["evaluation"]["metrics"]["top1"]["value"], delta=0.1)
            paired = self.reports[name]["accuracy"]
            self.assertAlmostEqual(paired["before"], before["evaluation"]["metrics"]["top1"]["value"], places=6)
            self.assertAlmostEqual(paired["after"], after["evaluation"]["metrics"]["top1"]["value"], places=6)
            self.assertLess(self.reports[name]["logits"]["relative"], 0.2)
            self.assertGreater(self.reports[name]["logits"]["relative"], 0)

    def test_weights_are_a_quarter_and_what_is_in_8_bits_is_named(self):
        for name, least in (("images", 3.5), ("texts", 1.5)):
            report, document = self.reports[name], json.loads((self.out / name / "model.json").read_text())
            self.assertEqual(report["bytes_after"], (self.out / name / "model.safetensors").stat().st_size)
            self.assertGreater(report["bytes_before"] / report["bytes_after"], least)
            layers = {layer["name"] for layer in report["layers"] if not layer["left_because"]}
            self.assertEqual(set(document["quantization"]["layers"]), layers)
            self.assertEqual(document["quantization"]["calibration_hash"], report["calibration_hash"])
            held = tensors(self.out / name / "model.safetensors")
            self.assertEqual(sum(dtype == "I8" for dtype, _ in held.values()), len(layers))
            for layer in report["layers"]:
                self.assertLess(layer["error"], 0.2, layer["name"])
                self.assertRegex(layer["input"], r"^[us]8\*[0-9.e-]+$")

    def test_it_is_exported_and_measured_as_any_other(self):
        copy = self.folder / "copy"
        self.assertEqual(run("export", self.out / "images", "--out", copy).returncode, 0)
        self.assertEqual(self.answers(copy, "images")["evaluation"], self.answers(self.out / "images", "images")["evaluation"])
        result = run("bench", "infer", copy, "--seconds", "0.01", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.answers(copy, "images", "--amp", "O1")["inputs"], 12)

    def test_the_same_samples_give_the_same_model(self):
        again = self.folder / "again"
        self.assertEqual(self.quantize("images", again).returncode, 0)
        for file in ("model.json", "model.safetensors"):
            self.assertEqual((again / file).read_bytes(), (self.out / "images" / file).read_bytes(), file)

    def test_accuracy_is_of_the_evaluation_data_of_the_run(self):
        data, trained, config = self.folder / "data", self.folder / "run", self.folder / "run.yaml"
        write_idx(data)
        config.write_text(TEN_CLASSES.format(source="idx", data=data, out=trained))
        self.assertEqual(run("run", config, "--progress", "none").returncode, 0)
        result = run("quantize", trained, "--calibrate", data, "--samples", "20", "--evaluate", data, "--out",
                     self.folder / "out", "--layers", "all", "--speed-seconds", "0", "--max-drop", "100", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report, run_report = json.loads(result.stdout), json.loads((trained / "report.json").read_text())
        self.assertEqual((report["calibration_samples"], report["accuracy"]["samples"]), (20, 30))
        self.assertAlmostEqual(report["accuracy"]["before"], run_report["evaluation"]["metrics"]["top1"]["value"], places=6)

    def test_samples_are_spaced_over_classes(self):
        result = self.quantize("images", self.folder / "few", "--samples", "3", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["calibration_samples"], 3)
        self.assertNotIn("one class", " ".join(report["notes"]))
        self.assertNotEqual(report["calibration_hash"], self.reports["images"]["calibration_hash"])

    def test_layers_are_given_back_until_the_limit_holds(self):
        # Without truths, no change of the logits allowed: nothing is left. A change in between leaves some.
        images = self.folder / "images"
        shutil.copytree(self.data / "images/val", images / "unknown")
        for path in list(images.glob("*/*/*.png")):
            path.rename(images / f"{path.parent.name}-{path.name}")
        whole = self.reports["images"]["logits"]["relative"]
        result = self.quantize("images", self.folder / "some", "--max-logit-error", str(0.95 * whole), "--json", data=images)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertIsNone(report["accuracy"])
        self.assertLessEqual(report["logits"]["relative"], 0.95 * whole)
        left = [layer for layer in report["layers"] if layer["left_because"] == "costs accuracy"]
        kept = [layer for layer in report["layers"] if not layer["left_because"]]
        self.assertTrue(left and kept)
        self.assertGreaterEqual(min(layer["error"] for layer in left), max(layer["error"] for layer in kept))
        self.assert_error(self.quantize("images", self.folder / "none", "--max-logit-error", "0", data=images), 1,
                          "--max-logit-error")
        self.assertFalse((self.folder / "none/model.json").exists())

    def test_methods_are_asked_for_by_name(self):
        for method in ("minmax", "percentile", "mse"):
            result = self.quantize("texts", self.folder / method, "--method", method, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual({layer["method"] for layer in json.loads(result.stdout)["layers"]}, {method})

    def test_the_report_fits_its_schema(self):
        if jsonschema is None:
            self.skipTest("the Python package jsonschema is not installed")
        schemas = {name: json.loads(run("schema", name).stdout) for name in ("quantize", "model")}
        for name in SOURCES:
            jsonschema.validate(self.reports[name], schemas["quantize"])
            jsonschema.validate(json.loads((self.out / name / "model.json").read_text()), schemas["model"])

    def test_the_choice_by_speed_and_its_figures_are_reported(self):
        result = run("quantize", self.runs / "texts", "--calibrate", self.data / "texts/dev.tsv", "--out",
                     self.folder / "fast", "--speed-seconds", "0.01", "--max-drop", "100")
        if "no layer is faster" in result.stderr:  # of so small a model; another machine may find some
            self.assert_error(result, 1, "--layers all")
            result = self.quantize("texts", self.folder / "all", seconds=0.01)
        self.assertEqual(result.returncode, 0, result.stderr)
        before, after, factor = map(float, re.search(r"([\d.]+)/s before, ([\d.]+)/s after, .*: ([\d.]+) times",
                                                      result.stdout).groups())
        self.assertAlmostEqual(after / before, factor, delta=0.01)
        for why, real, int8 in re.findall(r"(?m)^  \S+: (.*), error [\d.]+, ([\d.]+) ms and ([\d.]+) ms in 8 bits$",
                                          result.stdout):
            if why == "not faster in 8 bits":
                self.assertGreaterEqual(float(int8), float(real))
            else:
                self.assertLessEqual(float(int8), float(real), why)
        for word in ("in 8 bits", "accuracy:", "McNemar", "size:", "speed:", "model:"):
            self.assertIn(word, result.stdout)

    def test_a_processor_without_vnni_is_noted(self):
        result = self.quantize("texts", self.folder / "old", "--json", max_drop=100,
                               env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("may not be faster", " ".join(json.loads(result.stdout)["notes"]))

    def assert_error(self, result, code, *words):
        self.assertEqual(result.returncode, code, result.stderr)
        last = result.stderr.splitlines()[-1]
        self.assertTrue(last.startswith("error: "), result.stderr)
        for word in words:
            self.assertIn(word, last)

    def test_one_class_is_noted(self):
        result = self.quantize("images", self.folder / "red", "--json", data=self.data / "images/val/red")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("have the same class, red", " ".join(json.loads(result.stdout)["notes"]))

    def test_what_cannot_be_calibrated_on_is_refused(self):
        empty = self.folder / "empty"
        empty.mkdir()
        out = self.folder / "out"
        self.assert_error(self.quantize("images", out, data=empty), 1, "contains no images (*.jpg")
        self.assert_error(self.quantize("images", out, data=self.folder / "missing"), 1, "no such image")
        (empty / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
        self.assert_error(self.quantize("images", out, data=empty), 1, "broken.png")
        self.assert_error(self.quantize("images", out, "--samples", "0"), 2, "--samples")
        self.assert_error(self.quantize("images", out, "--method", "median"), 2, "--method", "minmax|percentile|mse")
        self.assert_error(run("quantize", self.out / "images", "--calibrate", self.data / "images/val", "--out", out), 1,
                          "is quantized already")
        self.assert_error(self.quantize("images", self.runs / "images"), 2, "own folder")
        self.assert_error(self.quantize("images", out, "--report", out / "model.json"), 2, "--report", "the model that --out gets")
        self.assert_error(self.quantize("images", out, "--max-logit-error", "nan"), 2, "--max-logit-error", "is no number")
        self.assertFalse((out / "model.json").exists())

    def altered(self, name, change):
        """A copy of a quantized model whose model.json says something else, and has the hash of that."""
        folder = self.folder / f"altered{len(list(self.folder.iterdir()))}"
        shutil.copytree(self.out / name, folder)
        document = json.loads((folder / "model.json").read_text())
        change(document)
        document.pop("hash")
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        document["hash"] = fnv1a64(text)
        (folder / "model.json").write_text(json.dumps(document))
        return run("infer", folder, self.data / SOURCES[name], "--progress", "none")

    def test_a_scale_that_is_wrong_or_missing_is_named(self):
        self.assertEqual(self.altered("texts", lambda document: None).returncode, 0)
        value = next(iter(json.loads((self.out / "texts/model.json").read_text())["quantization"]["formats"]))

        def formats(document):
            return document["quantization"]["formats"]
        for bad in (0, 1e-60):
            self.assert_error(self.altered("texts", lambda d, b=bad: formats(d)[value].update(scale=b)), 1, value, "scale above 0")
        self.assert_error(self.altered("texts", lambda d: formats(d)[value].update(scale=1e60)), 1, value, "finite")
        self.assert_error(self.altered("texts", lambda d: formats(d).pop(value)), 1, value, "has no scale")
        self.assert_error(self.altered("texts", lambda d: formats(d)[value].update(dtype="u4")), 1, value, '["u8","s8"]')
        self.assert_error(self.altered("texts", lambda d: d["quantization"]["layers"].append("layer99")), 1, "layer99")
        self.assert_error(self.altered("texts", lambda d: d["quantization"]["layers"].append("a\nb")), 1, '"a\\nb"')
        self.assert_error(self.altered("texts", lambda d: d.pop("quantization")), 1, "model.safetensors")


if __name__ == "__main__":
    unittest.main()
