"""libptrain as other programs meet it: installed, compiled against, asked by C and by Python's ctypes.

PTRAIN_BUILD names the build whose library is installed."""
import atexit
import ctypes
import faulthandler
import functools
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from program import BINARY, ROOT, run
from trained import COLOURS, TrainedModels, sentence

EXAMPLES = ROOT / "scripts/examples"
LONGEST = float(os.environ.get("PTRAIN_LONGEST_TEST", "600"))  # seconds; what blocks for longer is a failure
BUILD = pathlib.Path(os.environ.get("PTRAIN_BUILD", pathlib.Path(BINARY).parents[1]))
sys.path.insert(0, str(ROOT / "scripts/python"))
import ptrain  # noqa: E402
from ptrain import FLOAT32, INT32, INT64, LOGITS, UINT8, Model  # noqa: E402


def call(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, **options)


@functools.cache
def installed():
    """The prefix that holds the program's libraries and libptrain."""
    holder = tempfile.TemporaryDirectory()
    atexit.register(holder.cleanup)
    for component in ("program", "library"):
        call("cmake", "--install", BUILD, "--prefix", holder.name, "--component", component, check=True)
    return pathlib.Path(holder.name)


@functools.cache
def library():
    return ptrain.load_library(str(installed() / "lib/libptrain.so"))


class Api(TrainedModels):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = {}
        for name in ("images", "texts"):
            cls.models[name] = cls.root / f"api-{name}"
            result = run("export", cls.runs / name, "--out", cls.models[name])
            assert result.returncode == 0, result.stderr
        cls.photos = sorted((cls.data / "images/val").glob("*/*.png"))
        cls.sentences = [sentence(i % 2, f"api {i}") for i in range(6)] + ["the film is fine\tthe story is dull"]

    def setUp(self):
        """A call that blocks inside of the library ends the whole process, with the stacks of its threads."""
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)

    def open(self, name, **options):
        model = Model(self.models[name], library(), **options)
        self.addCleanup(model.close)
        return model

    def infer(self, name, value):
        """The probabilities of one input in the order of the classes, as ptrain infer has them."""
        result = run("infer", self.models[name], *([value] if name == "images" else ["-"]), "--format", "jsonl",
                     "--progress", "none", input=str(value))
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(result.stdout)
        return [one["probability"] for one in sorted(answer["classes"], key=lambda one: one["index"])]


class Installed(Api):
    def expected(self):
        """Of each model: what is asked, and the line that the examples print."""
        asked = {"images": self.photos[:3], "texts": self.sentences[:3]}
        names = {"images": sorted(COLOURS), "texts": ["0", "1"]}
        for name, values in asked.items():
            lines = []
            for value in values:
                answer = self.infer(name, value)
                best = max(range(len(answer)), key=answer.__getitem__)
                lines.append(f"{value}: {names[name][best]} {answer[best]:.9g}")
            yield name, values, lines

    def assert_example(self, *command, **options):
        for name, values, lines in self.expected():
            result = call(*command, self.models[name], *values, **options)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.splitlines(), lines)

    def test_the_c_example_is_compiled_with_pkg_config_and_answers_as_infer(self):
        program = installed() / "classify"
        found = call("pkg-config", "--cflags", "--libs", "ptrain", check=True,
                     env={**os.environ, "PKG_CONFIG_PATH": str(installed() / "lib/pkgconfig")})
        call("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", EXAMPLES / "classify.c", "-o", program,
             *found.stdout.split(), f"-Wl,-rpath,{installed()}/lib", check=True)
        self.assert_example(program)
        result = call(program, self.folder_of_nothing(), "x")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
        self.assertIn("model.json", result.stderr)

    def folder_of_nothing(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        return holder.name

    def test_the_c_example_is_built_by_find_package(self):
        build = self.folder_of_nothing()
        for command in (["cmake", "-S", EXAMPLES, "-B", build, f"-DCMAKE_PREFIX_PATH={installed()}"],
                        ["cmake", "--build", build]):
            result = call(*command)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assert_example(f"{build}/classify")

    def test_the_python_module_answers_as_infer(self):
        self.assert_example(sys.executable, ROOT / "scripts/python/ptrain.py",
                            env={**os.environ, "PTRAIN_LIBRARY": str(installed() / "lib/libptrain.so")})

    def test_the_python_module_predicts_and_reads_runs(self):
        model = Model(self.models["images"], library(), max_batch=2)
        self.addCleanup(model.close)
        photos = [self.data / f"images/val/{colour}/{i}.png" for colour in COLOURS for i in range(2)]
        predictions = model.predict([*photos, photos[0].read_bytes()], top=2)
        self.assertEqual([one["class"] for one in predictions], [*(photo.parent.name for photo in photos), "blue"])
        self.assertEqual(predictions[0], predictions[-1])
        self.assertEqual([len(one["top"]) for one in predictions], [2] * 7)
        self.assertGreaterEqual(predictions[0]["probability"], predictions[0]["top"][1]["probability"])
        run_folder = self.runs / "images"
        self.assertEqual(ptrain.report(run_folder), ptrain.report(run_folder / "report.json"))
        steps = [line for line in ptrain.metrics(run_folder) if "lr" in line]
        self.assertEqual(steps[-1]["step"], ptrain.report(run_folder)["progress"]["steps"])
        with self.assertRaisesRegex(RuntimeError, "model.json"):
            Model(self.folder_of_nothing(), library())
        for error, call in ((TypeError, lambda: ptrain.Model(self.models["images"], library(), max_bacth=1)),
                            (ValueError, lambda: ptrain.Model(self.models["images"], library(), threads=2**40 + 1)),
                            (ValueError, lambda: ptrain.Model(f"{self.models['images']}\0x", library())),
                            (TypeError, lambda: model.predict(str(photos[0]))), (TypeError, lambda: model.predict([5])),
                            (ValueError, lambda: model.predict(photos, top=0))):
            with self.assertRaises(error):
                call()

    def test_what_the_header_declares_is_exported_and_nothing_else(self):
        header = (installed() / "include/ptrain.h").read_text()
        declared = set(re.findall(r"^PTRAIN_API [\w* ]+?\*?(ptrain_\w+)\(", header, re.M))
        symbols = call("nm", "-D", "--defined-only", installed() / "lib/libptrain.so", check=True).stdout
        self.assertEqual({line.split()[-1] for line in symbols.splitlines()}, declared)
        self.assertLessEqual(len(declared), 16)
        version = run("--version").stdout.split()[1]
        self.assertEqual(library().ptrain_version().decode(), version)


class Answers(Api):
    def asked(self, name):
        return [path.read_bytes() for path in self.photos] if name == "images" else self.sentences

    def test_it_needs_neither_mpi_nor_yaml(self):
        dynamic = call("readelf", "-d", library()._name, check=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", dynamic)
        self.assertIn("libc.so.6", needed)
        self.assertEqual([name for name in needed if "mpi" in name or "yaml" in name], [])

    def test_single_inputs_are_answered_as_by_infer(self):
        for name, values in (("images", self.photos[:4]), ("texts", self.sentences)):
            model = self.open(name)
            for value in values:
                with self.subTest(value=value):
                    asked = value.read_bytes() if name == "images" else value
                    self.assertEqual(model.ask([asked]), [self.infer(name, value)])

    def test_quantized_models_are_answered_as_by_infer(self):
        real = {name: self.open(name).ask(self.asked(name)[:1]) for name in self.models}
        self.models = {name: self.quantized(name) for name in self.models}
        self.test_single_inputs_are_answered_as_by_infer()
        for name, answer in real.items():
            self.assertNotEqual(self.open(name).ask(self.asked(name)[:1]), answer)

    def test_batches_of_any_size_give_each_input_its_answer(self):
        for name in self.models:
            model = self.open(name, max_batch=7)
            values = self.asked(name)[:7]
            alone = [model.ask([value], LOGITS)[0] for value in values]
            for count in range(1, 8):
                for row, expected in zip(model.ask(values[:count], LOGITS), alone):
                    for one, other in zip(row, expected):
                        self.assertAlmostEqual(one, other, places=4, msg=f"{count} {name}")

    def test_clones_on_threads_give_the_same_bits_as_one(self):
        for name in self.models:
            values = self.asked(name)[:5]
            model = self.open(name, max_batch=5)
            expected = [model.ask(values[i:], LOGITS) for i in range(5)]
            clones = [model.clone() for _ in range(2)]
            found = {}
            def work(index):
                found[index] = [clones[index].ask(values[i:], LOGITS) for _ in range(10) for i in range(5)]
            threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for index, clone in enumerate(clones):
                self.assertEqual(found[index], expected * 10)
                clone.close()

    def test_one_model_serves_several_threads_one_after_the_other(self):
        model = self.open("texts")
        expected = [model.ask([value]) for value in self.sentences]
        found = {}
        def work(index):
            found[index] = [model.ask([value]) for value in self.sentences]
        threads = [threading.Thread(target=work, args=(index,)) for index in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(list(found.values()), [expected] * 3)

    def test_images_in_floating_point_are_those_in_bytes(self):
        model = self.open("images")
        side = model.about.image_size
        pixels = model.encode(self.photos[0].read_bytes())["images"]
        scaled = (ctypes.c_float * len(pixels))(*(value / 255 for value in pixels))
        shape = (1, side, side, 3)
        self.assertEqual(model.run({"images": (FLOAT32, shape, scaled)}), model.run({"images": (UINT8, shape, pixels)}))

    def test_tokens_need_no_padding_no_mask_and_no_types(self):
        model = self.open("texts")
        row = model.encode("the film is fine")
        count = sum(row["attention_mask"])
        short = (ctypes.c_int64 * count)(*row["input_ids"][:count])
        self.assertEqual(model.run({"input_ids": (INT64, (1, count), short)}), model.ask(["the film is fine"]))

    def test_what_the_calling_thread_had_is_left_as_it_was(self):
        model = self.open("texts")
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        model.ask(["the film is fine"])
        self.assertEqual(signal.pthread_sigmask(signal.SIG_BLOCK, []), blocked)

    def test_a_forked_child_answers_as_its_parent(self):
        model = self.open("texts", threads=2)
        expected = model.ask(["the film is fine"])
        child = os.fork()
        if child == 0:
            try:
                anew = self.open("texts", threads=2)
                self.open("images", threads=2)  # whose file is large enough to be read by several threads
                os._exit(0 if [one.ask(["the film is fine"]) for one in (model, anew, model)] == [expected] * 3 else 3)
            finally:
                os._exit(4)
        deadline = time.monotonic() + LONGEST / 4
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < deadline:
            time.sleep(0.02)
        if not ended[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            self.fail("the child hangs")
        self.assertEqual(os.waitstatus_to_exitcode(ended[1]), 0)
        self.assertEqual(model.ask(["the film is fine"]), expected)


class Refusals(Api):
    def assert_refused(self, part, call, *arguments, **options):
        with self.assertRaises(RuntimeError) as raised:
            call(*arguments, **options)
        self.assertIn(part, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))

    def test_images_that_are_not_what_the_model_reads(self):
        model = self.open("images", max_batch=4)
        side = model.about.image_size
        floats = (ctypes.c_float * (4 * side * side * 3))()
        bytes_ = (ctypes.c_uint8 * (5 * side * side * 3))()
        odd = {value: (ctypes.c_float * (side * side * 3))(*([value] + [0.5] * (side * side * 3 - 1)))
               for value in (math.nan, math.inf, -0.1, 255.0)}
        shape = (1, side, side, 3)
        for part, tensors in (
                ("expected shape [1, 16, 16, 3], got [1, 3, 16, 16]", {"images": (UINT8, (1, 3, side, side), bytes_)}),
                ("got [1, 16, 16]", {"images": (UINT8, (1, side, side), bytes_)}),
                ("at most 4", {"images": (UINT8, (5, side, side, 3), bytes_)}),
                ("is empty", {"images": (UINT8, (0, side, side, 3), bytes_)}),
                ("expected u8 or f32, got i32", {"images": (INT32, shape, floats)}),
                ("is not a ptrain_type", {"images": (9, shape, bytes_)}),
                ("unknown input \"pixels\"", {"pixels": (UINT8, shape, bytes_)}),
                *((str(value).split(".")[0], {"images": (FLOAT32, shape, data)}) for value, data in odd.items())):
            with self.subTest(part=part):
                self.assert_refused(part, model.run, tensors)
        self.assert_refused("no texts", model.encode, "the film")
        self.assert_refused("the image", model.encode, self.photos[0].read_bytes()[:40])
        self.assert_refused("the image", model.encode, b"")

    def test_tokens_that_are_not_what_the_model_reads(self):
        model = self.open("texts")
        def words(*values):
            return (INT32, (1, len(values)), (ctypes.c_int32 * len(values))(*values))
        for part, tensors in (
                ("value 10000 at [0, 1]", {"input_ids": words(2, 10000, 3)}),
                ("value -1 at", {"input_ids": words(2, -1, 3)}),
                ("S from 1 to 12", {"input_ids": words(*[2] * 13)}),
                ("which is missing", {"attention_mask": words(1, 1)}),
                ("expected shape [1, 3]", {"input_ids": words(2, 5, 3), "attention_mask": words(1, 1)}),
                ("zeros after", {"input_ids": words(2, 5, 3), "attention_mask": words(1, 0, 1)}),
                ("at least one", {"input_ids": words(2, 5, 3), "attention_mask": words(0, 0, 0)}),
                ("expected 0 to 1", {"input_ids": words(2, 5, 3), "token_type_ids": words(0, 2, 0)}),
                ("expected i32 or i64, got f32", {"input_ids": (FLOAT32, (1, 3), (ctypes.c_float * 3)())})):
            with self.subTest(part=part):
                self.assert_refused(part, model.run, tensors)
        self.assert_refused("no images", model.encode, b"\x89PNG")

    def test_null_pointers_and_too_little_room(self):
        model, lib = self.open("texts"), library()
        shape, ids, values = (ctypes.c_int64 * 2)(1, 3), (ctypes.c_int32 * 3)(2, 5, 3), (ctypes.c_float * 2)()
        def tensor(name=b"input_ids", kind=INT32, rank=2, sides=shape, data=ids):
            return ptrain.Tensor(name, kind, rank, sides, ctypes.addressof(data) if data is not None else None)
        def run_(handle=model.handle, inputs=None, count=1, output=LOGITS, out=values, room=2):
            return lib.ptrain_run(handle, inputs, count, output, out, room)
        good = tensor()
        self.assertEqual(run_(inputs=ctypes.byref(good)), 0)
        for part, call in (
                ("model", lambda: run_(handle=None, inputs=ctypes.byref(good))), ("inputs", lambda: run_()),
                ("values", lambda: run_(inputs=ctypes.byref(good), out=None)),
                ("room", lambda: run_(inputs=ctypes.byref(good), room=1)),
                ("ptrain_output", lambda: run_(inputs=ctypes.byref(good), output=7)),
                ("missing", lambda: run_(inputs=ctypes.byref(good), count=0)),
                ("name", lambda: run_(inputs=ctypes.byref(tensor(name=None)))),
                ("input_ids", lambda: run_(inputs=ctypes.byref(tensor(sides=None)))),
                ("rank", lambda: run_(inputs=ctypes.byref(tensor(rank=-1)))),
                ("data is a null pointer", lambda: run_(inputs=ctypes.byref(tensor(data=None)))),
                ("folder", lambda: lib.ptrain_open(None, None, ctypes.byref(ctypes.c_void_p()))),
                ("model", lambda: lib.ptrain_open(b"x", None, None)),
                ("model", lambda: lib.ptrain_clone(None, ctypes.byref(ctypes.c_void_p()))),
                ("description", lambda: lib.ptrain_describe(model.handle, None)),
                ("text", lambda: lib.ptrain_encode_text(model.handle, None, ids, None, None)),
                ("input_ids", lambda: lib.ptrain_encode_text(model.handle, b"x", None, None, None)),
                ("UTF-8", lambda: lib.ptrain_encode_text(model.handle, b"\xff", (ctypes.c_int32 * 12)(), None, None))):
            with self.subTest(part=part):
                self.assertEqual(call(), 2)
                self.assertIn(part, lib.ptrain_last_error().decode())
        self.assertIsNone(lib.ptrain_class_name(model.handle, 2))
        self.assertIsNone(lib.ptrain_class_name(model.handle, -1))
        lib.ptrain_close(None)

    def test_folders_and_options(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assert_refused("model.json", Model, empty, library())
        self.assert_refused("nowhere", Model, "/nowhere", library())
        for part, options in (("device", {"device": b"tpu"}), ("precision", {"precision": b"O9"}),
                              ("max_batch", {"max_batch": -1}), ("threads", {"threads": -1}),
                              ("search", {"search": 7}), ("search", {"search": -1})):
            self.assert_refused(part, Model, self.models["texts"], library(), **options)

    def test_errors_are_a_line_that_fits_into_a_log(self):
        self.assert_refused("a\\nb", Model, "/nowhere/a\nb", library())
        self.assert_refused("is empty", Model, "", library())
        with self.assertRaises(RuntimeError) as raised:
            Model("é" * 70000, library())
        self.assertLess(len(str(raised.exception).encode()), 1100)
        self.assertNotIn("\ufffd", str(raised.exception))

    def test_a_clone_of_a_folder_that_holds_another_model_by_now(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(self.models["texts"], folder, dirs_exist_ok=True)
            model = Model(folder, library())
            expected = model.ask(["the film is fine"])
            self.assertEqual(model.clone().ask(["the film is fine"]), expected)
            shutil.copytree(self.models["images"], folder, dirs_exist_ok=True)
            self.assert_refused("another model", model.clone)
            self.assertEqual(model.ask(["the film is fine"]), expected)

    def test_the_last_error_is_the_threads_own(self):
        library().ptrain_close(None)
        self.assertEqual(library().ptrain_open(None, None, None), 2)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(library().ptrain_last_error()))
        thread.start()
        thread.join()
        self.assertEqual(seen, [b""])
        self.assertNotEqual(library().ptrain_last_error(), b"")


if __name__ == "__main__":
    unittest.main()
