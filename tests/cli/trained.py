"""Small models that learn within seconds what is drawn and written here; what tests of infer and export ask."""
import atexit
import functools
import pathlib
import random
import struct
import tempfile
import unittest
import zlib

from program import run

COLOURS = {"blue": (40, 60, 220), "green": (50, 200, 60), "red": (220, 50, 40)}
GOOD, BAD = ("fine", "great", "lovely"), ("awful", "dull", "poor")
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "film", "the", "story", "is") + GOOD + BAD
SIDE = 16

IMAGES = """\
model: {{name: resnet18, classes: 3}}
data: {{source: image_folder, path: {data}, image_size: 16, batch_size: 12, workers: 1, augment: none}}
train: {{steps: 20, optimizer: {{name: adamw, lr: 1.0e-3}}, schedule: {{name: cosine}}}}
amp: {{level: O0}}
flags: {{cudnn_exhaustive_search: false}}
output: {{dir: {out}}}
"""
TEXTS = """\
model: {{name: bert, size: tiny, classes: 2, max_positions: 32}}
data: {{source: tsv, path: {data}, vocab: {data}/vocab.txt, max_length: 12, batch_size: 16, workers: 1}}
train: {{steps: 60, optimizer: {{name: adamw, lr: 1.0e-3}}, schedule: {{name: constant}}}}
amp: {{level: O0}}
flags: {{cudnn_exhaustive_search: false}}
output: {{dir: {out}}}
"""


def png(pixels):
    """A PNG file of rows of (r, g, b)."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def picture(colour, seed, side=SIDE):
    draw = random.Random(seed)
    return [[tuple(max(0, min(255, value + draw.randint(-40, 40))) for value in COLOURS[colour]) for _ in range(side)]
            for _ in range(side)]


def sentence(label, seed):
    draw = random.Random(seed)
    return f"{draw.choice(('a', 'the'))} {draw.choice(('film', 'story'))} is {draw.choice((BAD, GOOD)[label])}"


def train_for(case, config):
    """The run of a configuration, in a folder that goes with the test case's class."""
    holder = tempfile.TemporaryDirectory()
    case.addClassCleanup(holder.cleanup)
    own, file = pathlib.Path(holder.name) / "own", pathlib.Path(holder.name) / "run.yaml"
    file.write_text(config)
    trained = run("run", file, "--out", own, "--progress", "none")
    assert trained.returncode == 0, trained.stderr
    return own


def draw_images(folder, side=SIDE):
    for split, count in (("train", 12), ("val", 4)):
        for colour in COLOURS:
            for i in range(count):
                path = folder / split / colour / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(picture(colour, f"{split} {colour} {i}", side)))


def write_texts(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    for split, count in (("train", 128), ("dev", 20)):
        rows = [f"{sentence(i % 2, f'{split} {i}')}\t{i % 2}" for i in range(count)]
        (folder / f"{split}.tsv").write_text("sentence\tlabel\n" + "\n".join(rows) + "\n")


@functools.cache
def train():
    """The folder that holds runs and data of both models, which are trained once for all tests of a process."""
    holder = tempfile.TemporaryDirectory()
    atexit.register(holder.cleanup)
    root = pathlib.Path(holder.name)
    draw_images(root / "data/images")
    write_texts(root / "data/texts")
    for name, text in (("images", IMAGES), ("texts", TEXTS)):
        config = root / f"{name}.yaml"
        config.write_text(text.format(data=root / "data" / name, out=root / "runs" / name))
        result = run("run", config, "--progress", "none")
        assert result.returncode == 0, result.stderr
    return root


class TrainedModels(unittest.TestCase):
    """Knows both models as self.runs / "images" and "texts", and what they learned from in self.data."""

    @classmethod
    def setUpClass(cls):
        cls.root = train()
        cls.runs, cls.data = cls.root / "runs", cls.root / "data"

    def quantized(self, name):
        """The folder of a model with every layer in 8 bits."""
        out = self.root / f"quantized-{name}"
        if not out.exists():
            source = {"images": "images/val", "texts": "texts/dev.tsv"}[name]
            result = run("quantize", self.runs / name, "--calibrate", self.data / source, "--out", out, "--layers", "all",
                         "--max-drop", "100", "--speed-seconds", "0")
            self.assertEqual(result.returncode, 0, result.stderr)
        return out


def open_onnx(test, folder):
    """NumPy, and ONNX Runtime's session of a model that is exported into the test's folder and checked; the test is
    skipped where they are missing."""
    try:
        import numpy
        import onnx
        import onnxruntime
    except ImportError as error:
        test.skipTest(f"pip install onnx onnxruntime: {error}")
    exported = run("export", folder, "--out", test.folder, "--format", "onnx")
    test.assertEqual(exported.returncode, 0, exported.stderr)
    path = test.folder / "model.onnx"
    onnx.checker.check_model(onnx.load(path), full_check=True)
    return numpy, onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
