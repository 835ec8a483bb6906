"""ptrain in Python: predictions of exported models, and the results of runs. Needs Python's standard library alone.

  import ptrain
  model = ptrain.load("runs/model")              # a folder that ptrain export wrote
  model.predict(["photo.jpg"], top=3)            # for images, files; for texts, sentences
  ptrain.load("runs/en-de").translate(["a man sleeps"])
  ptrain.report("runs/resnet50")["throughput"]   # what a run measured
  ptrain.metrics("runs/resnet50")                # a dict for each logged step and evaluation

`pip install ptrain-*.whl` installs it. Elsewhere PTRAIN_LIBRARY is the path of libptrain.so.
`python3 -m ptrain MODEL INPUT...` prints the class of each input.

A Model belongs to one thread at a time; clone() gives another for another thread. ctypes releases Python's lock while
the library computes.
"""
import argparse
import ctypes
import json
import math
import os
import pathlib
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint8, c_void_p

UINT8, INT32, INT64, FLOAT32 = range(4)
ELEMENTS = (c_uint8, c_int32, c_int64, c_float)
IMAGES, TEXTS, TABLES, CLIPS, VIDEOS, TRANSLATIONS = range(6)
LOGITS, PROBABILITIES = range(2)


class Options(Structure):
    _fields_ = [("device", c_char_p), ("precision", c_char_p), ("max_batch", c_int64), ("search", c_int32),
                ("threads", c_int32)]


class Description(Structure):
    _fields_ = [("kind", c_int), ("classes", c_int64), ("max_batch", c_int64), ("image_size", c_int64),
                ("max_length", c_int64), ("vocabulary", c_int64)]


class TensorForm(Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("rank", c_int32), ("shape", POINTER(c_int64)), ("limit", c_int64)]


class Tensor(Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("rank", c_int32), ("shape", POINTER(c_int64)), ("data", c_void_p)]


def find_library():
    """PTRAIN_LIBRARY, else what pip installed in this environment, else what the system finds."""
    installed = pathlib.Path(sys.prefix) / "lib/libptrain.so.0"
    return os.environ.get("PTRAIN_LIBRARY") or (str(installed) if installed.exists() else "libptrain.so.0")


def load_library(path=None):
    """The library, with its functions' argument types."""
    library = ctypes.CDLL(path or find_library())
    for name, result, *arguments in (
            ("version", c_char_p), ("last_error", c_char_p),
            ("open", c_int, c_char_p, POINTER(Options), POINTER(c_void_p)), ("clone", c_int, c_void_p, POINTER(c_void_p)),
            ("close", None, c_void_p), ("describe", c_int, c_void_p, POINTER(Description)),
            ("input_count", c_size_t, c_void_p), ("input", c_int, c_void_p, c_size_t, POINTER(TensorForm)),
            ("answer_count", c_size_t, c_void_p), ("answer", c_int, c_void_p, c_size_t, POINTER(TensorForm)),
            ("class_name", c_char_p, c_void_p, c_int64), ("encode_image", c_int, c_void_p, c_char_p, c_size_t, c_void_p),
            ("encode_text", c_int, c_void_p, c_char_p, c_void_p, c_void_p, c_void_p),
            ("run", c_int, c_void_p, POINTER(Tensor), c_size_t, c_int, c_void_p, c_size_t),
            ("run_answer", c_int, c_void_p, POINTER(Tensor), c_size_t, c_char_p, c_void_p, c_size_t),
            ("translate", c_int, c_void_p, POINTER(c_char_p), c_size_t, c_char_p, c_size_t, POINTER(c_size_t))):
        function = getattr(library, f"ptrain_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def make_options(given):
    """Options, where ctypes would take any name and cut numbers off."""
    kinds = dict(Options._fields_)
    for name, value in given.items():
        if name not in kinds:
            raise TypeError(f"{name}: no such option; there are {', '.join(kinds)}")
        bits = 8 * ctypes.sizeof(kinds[name]) - 1
        if kinds[name] is not c_char_p and not -(1 << bits) <= value < 1 << bits:
            raise ValueError(f"{name}: {value} is too large")
    return Options(**given)


def plain(text):
    """Bytes for C, which would end them at a zero."""
    if b"\0" in text:
        raise ValueError("a text contains a zero byte")
    return text


class Model:
    def __init__(self, folder, library=None, **options):
        """Options as in ptrain_options. Raises RuntimeError with the library's error message."""
        self.library, self.handle = library or load_library(), c_void_p()
        self.check(self.library.ptrain_open(plain(os.fsencode(folder)), byref(make_options(options)), byref(self.handle)))
        self.about = Description()
        self.check(self.library.ptrain_describe(self.handle, byref(self.about)))
        describe = self.library.ptrain_input, self.library.ptrain_answer
        count = self.library.ptrain_input_count(self.handle), self.library.ptrain_answer_count(self.handle)
        self.inputs, self.answers = (dict(self.form(describe[i], at) for at in range(count[i])) for i in range(2))
        self.classes = [self.library.ptrain_class_name(self.handle, i).decode() for i in range(self.about.classes)]

    def form(self, describe, index):
        """A tensor's (name, (type, shape, limit)); -1 in a shape means the rows, or any length."""
        about = TensorForm()
        self.check(describe(self.handle, index, byref(about)))
        return about.name.decode(), (about.type, tuple(about.shape[: about.rank]), about.limit)

    def clone(self):
        other = object.__new__(Model)
        other.__dict__.update(self.__dict__, handle=c_void_p())
        self.check(self.library.ptrain_clone(self.handle, byref(other.handle)))
        return other

    def close(self):
        self.library.ptrain_close(self.handle)
        self.handle = c_void_p()

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.ptrain_last_error().decode(errors="replace"))

    def encode(self, value):
        """Tensors of one input, {name: array}: bytes are an image file's, text is a sentence."""
        if isinstance(value, bytes):
            pixels = (c_uint8 * math.prod(self.inputs["images"][1][-3:] if "images" in self.inputs else (0,)))()
            self.check(self.library.ptrain_encode_image(self.handle, value, len(value), pixels))
            return {"images": pixels}
        row = c_int32 * self.about.max_length
        ids, mask, types = row(), row(), row()
        self.check(self.library.ptrain_encode_text(self.handle, plain(value.encode()), ids, mask, types))
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}

    def packed(self, tensors):
        """{name: (type, shape, array)} for the library, and the objects that must live as long."""
        kept = [(c_int64 * len(shape))(*shape) for _, shape, _ in tensors.values()]
        return (Tensor * len(tensors))(*(
            Tensor(name.encode(), kind, len(shape), kept[i], ctypes.addressof(data))
            for i, (name, (kind, shape, data)) in enumerate(tensors.items()))), kept

    def answer(self, tensors, name):
        """One of self.answers, all rows in one array, of {name: (type, shape, array)}."""
        kind, shape, _ = self.answers[name]
        count = next(iter(tensors.values()))[1][0]
        for side in shape[1:]:
            count *= side
        values = (ELEMENTS[kind] * count)()
        inputs, _ = self.packed(tensors)
        self.check(self.library.ptrain_run_answer(
            self.handle, inputs, len(inputs), name.encode(), values, ctypes.sizeof(values)))
        return values

    def run(self, tensors, output=PROBABILITIES):
        """Rows of numbers, an input each, of {name: (type, shape, array)}."""
        inputs, _ = self.packed(tensors)
        rows, classes = next(iter(tensors.values()))[1][0], self.about.classes
        values = (c_float * max(1, rows * classes))()
        self.check(self.library.ptrain_run(self.handle, inputs, len(inputs), output, values, len(values)))
        return [values[i * classes : (i + 1) * classes] for i in range(rows)]

    def ask(self, values, output=PROBABILITIES):
        """The same of image files' bytes or sentences, at most max_batch."""
        encoded = [self.encode(value) for value in values]
        tensors = {}
        for name, one in encoded[0].items():
            joined = b"".join(bytes(row[name]) for row in encoded)
            images = self.about.kind == IMAGES
            shape = (len(values), *(self.inputs["images"][1][-3:] if images else (self.about.max_length,)))
            kind = UINT8 if images else INT32
            tensors[name] = (kind, shape, (type(one)._type_ * (len(one) * len(values))).from_buffer_copy(joined))
        return self.run(tensors, output)


    def predict(self, inputs, top=1):
        """For each image file (a path, or its bytes) or sentence its most likely classes: {"class", "probability"}, and
        with top > 1 a list of such dicts under "top". Any number of inputs."""
        if isinstance(inputs, (str, bytes, os.PathLike)):
            raise TypeError("inputs: expected a list of them")
        if top < 1:
            raise ValueError(f"top: expected at least 1, got {top}")
        images = self.about.kind == IMAGES
        if not all(isinstance(one, (str, bytes, os.PathLike) if images else str) for one in inputs):
            raise TypeError(f"inputs: expected {'paths or bytes' if images else 'sentences'}")
        values = [pathlib.Path(one).read_bytes() if images and not isinstance(one, bytes) else one for one in inputs]
        predictions = []
        for first in range(0, len(values), self.about.max_batch):
            for row in self.ask(values[first : first + self.about.max_batch]):
                best = sorted(range(len(row)), key=row.__getitem__, reverse=True)[:top]
                ranked = [{"class": self.classes[i], "probability": row[i]} for i in best]
                predictions.append({**ranked[0], "top": ranked} if top > 1 else ranked[0])
        return predictions


    def translate(self, texts):
        """The translation of each text, of which there may be any number."""
        if isinstance(texts, str) or not all(isinstance(one, str) for one in texts):
            raise TypeError("texts: expected a list of str")
        given = (c_char_p * len(texts))(*(plain(one.encode()) for one in texts))
        needed, room = c_size_t(), 64 + 4 * sum(map(len, given))
        while True:
            written = ctypes.create_string_buffer(room)
            status = self.library.ptrain_translate(self.handle, given, len(given), written, room, byref(needed))
            if status == 0 or needed.value <= room:
                break
            room = needed.value
        self.check(status)
        return written.raw[: needed.value].decode().split("\0")[:-1]


def load(folder, **options):
    """The model that ptrain export wrote to `folder`. Options are those of ptrain_options in ptrain.h: device (b"cpu"),
    precision (b"O1"), max_batch, search, threads. Raises RuntimeError with one line that says what is wrong."""
    return Model(folder, **options)


def report(run):
    """The report of a run: a dict of the form that `ptrain schema report` describes. `run` is its folder or file."""
    path = pathlib.Path(run)
    return json.loads((path / "report.json" if path.is_dir() else path).read_text(encoding="utf-8"))


def metrics(run):
    """What a run logged, a dict for each step and evaluation (`ptrain schema metrics`)."""
    lines = (pathlib.Path(run) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]  # the last line of a run in progress may be a part


def main():
    parser = argparse.ArgumentParser(prog="python3 -m ptrain", description=__doc__.splitlines()[0])
    parser.add_argument("model", metavar="MODEL", help="folder that ptrain export wrote")
    parser.add_argument("inputs", metavar="INPUT", nargs="+", help="image files, or sentences")
    arguments = parser.parse_args()
    model = load(arguments.model)
    for name in arguments.inputs:
        (answer,) = model.predict([name])
        print(f"{name}: {answer['class']} {answer['probability']:.9g}")


if __name__ == "__main__":
    main()
