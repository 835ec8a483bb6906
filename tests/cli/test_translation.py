"""Translation from text files to translated text: a vocabulary, a training with BLEU, the search's options, a server and
the library."""
import concurrent.futures
import ctypes
import gzip
import json
import random
import unittest

from program import ProgramTest, get_figures, run
from test_api import library
from test_serve import Server

from ptrain import INT32, TRANSLATIONS, Model

DICTIONARY = {"the": "der", "a": "ein", "dog": "Hund", "man": "Mann", "sees": "sieht", "hears": "h\u00f6rt", "old": "alte"}
CONFIG = """model: {{name: transformer, size: tiny, dropout: 0.0}}
amp: {{level: O0}}
data: {{source: parallel, path: {folder}, train_file: train, dev_file: val, languages: [en, de],
       vocab: {folder}/tokenizer.json, max_length: 16, batch_size: 32, workers: 0}}
train:
  steps: 300
  label_smoothing: 0.1
  optimizer: {{name: adam, lr: 3.0e-3, beta1: 0.9, beta2: 0.98, epsilon: 1.0e-9, weight_decay: 0.0}}
  schedule: {{name: inverse_sqrt, warmup_steps: 40}}
eval: {{every_steps: 150, batch_size: 24}}
flags: {{cudnn_exhaustive_search: false}}
output: {{keep_best: bleu}}
"""


def pairs(count, seed):
    """Sentences that are translated word by word."""
    draw = random.Random(seed)
    for _ in range(count):
        words = []
        for _ in range(2):
            words += [draw.choice(["the", "a"])] + ["old"] * draw.randrange(2) + [draw.choice(["dog", "man"])]
        words.insert(len(words) // 2, draw.choice(["sees", "hears"]))
        yield " ".join(words), " ".join(DICTIONARY[word] for word in words)


class Translating(ProgramTest):
    """Files of pairs, the command that learns their vocabulary, and a configuration."""

    def setUp(self):
        super().setUp()
        for name, count in (("train", 800), ("val", 50)):
            rows = list(pairs(count, name))
            for side, language in enumerate(("en", "de")):
                (self.folder / f"{name}.{language}").write_text("".join(row[side] + "\n" for row in rows))
        self.files = [self.folder / "train.en", self.folder / "train.de"]
        self.learn = ("data", "vocabulary", *self.files, "--out", self.folder / "tokenizer.json", "--size", 300)
        self.config.write_text(CONFIG.format(folder=self.folder))


class Translation(Translating):
    def test_it_learns_a_vocabulary_trains_and_translates(self):
        learnt = run(*self.learn)
        self.assertEqual(learnt.returncode, 0, learnt.stderr)
        self.assertRegex(learnt.stdout, r"tokenizer\.json: \d+ tokens\n")
        trained = self.train("own")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        figures = get_figures(report)
        self.assertGreater(figures["bleu"], 60)
        self.assertGreater(figures["chrf"], 60)
        self.assertLess(figures["perplexity"], 3)
        self.assertIn("tok:13a", report["evaluation"]["signature"])
        self.assertEqual(report["best"]["metric"], "bleu")

        model, source = self.folder / "own", "the old man sees a dog"
        (self.folder / "text.en").write_text(f"{source}\n\na dog hears the man\n")
        plain = run("infer", model, self.folder / "text.en")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        first, blank, third = plain.stdout.split("\n")[:3]
        self.assertEqual(blank, "")
        self.assertTrue(first and third)
        self.assertRegex(plain.stderr, r"^3 texts in .* s: .*/s, .* tokens/s")
        (line,) = run("infer", model, source, "--json").stdout.splitlines()
        self.assertEqual(json.loads(line)["text"], first, "alone as among others")
        self.assertEqual(json.loads(line)["input"], source)
        greedy = run("infer", model, "-", "--beams", 1, input=source + "\n")
        self.assertEqual(greedy.stdout, first + "\n", "what it is sure of needs no search")
        self.assertEqual(run("infer", model, source, "--format", "csv").stdout, f"input,text\n{source},{first}\n")
        self.assert_one_line_error(run("infer", model, "man " * 40), 1, "expected at most 16")
        self.assert_one_line_error(run("bench", "infer", model), 2, "translate")
        self.is_served(model, source, first, third)
        self.is_a_library(model, source, first, third)

    def is_served(self, model, source, first, third):
        server = Server(model, "--beams", 2)
        self.addCleanup(server.kill)
        status, about = server.ask("GET", f"/v2/models/{server.name}")
        self.assertEqual((status, about["inputs"]), (200, [{"name": "text", "datatype": "BYTES", "shape": [-1]}]))
        self.assertEqual(about["outputs"], [{"name": "translations", "datatype": "BYTES", "shape": [-1]}])

        def ask(*texts, **more):
            return server.infer([{"name": "text", "datatype": "BYTES", "shape": [len(texts)], "data": list(texts)}], **more)

        status, answer = ask(source, " ", "a dog hears the man", outputs=[{"name": "translations"}])
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["outputs"], [{"name": "translations", "datatype": "BYTES", "shape": [3], "data": [first, "", third]}])
        status, answer = ask(*[source] * 20)
        self.assertEqual(answer["outputs"][0]["data"], [first] * 20, "more than are translated at once")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, [source, "a dog hears the man"] * 8))
        self.assertEqual([answer["outputs"][0]["data"] for _, answer in answers], [[first], [third]] * 8)
        for inputs, what in ((("man " * 40,), "text 0: has 42 tokens with the one at its end, expected at most 16"), ((), "at least one")):
            status, answer = ask(*inputs)
            self.assertEqual(status, 400, answer)
            self.assertIn(what, answer["error"])
        status, answer = server.infer([{"name": "ids", "datatype": "INT64", "shape": [1, 2], "data": [3, 1]}])
        self.assertEqual((status, answer["error"]), (400, 'unknown input "ids"; the model has text'))
        self.assertEqual(server.end(), (0, ""))

    def is_a_library(self, model, source, first, third):
        opened = Model(model, library(), max_batch=2)
        self.addCleanup(opened.close)
        self.assertEqual((opened.about.kind, opened.inputs, opened.answers, opened.classes), (TRANSLATIONS, {}, {}, []))
        self.assertEqual(opened.translate([source, "", "a dog hears the man"]), [first, "", third])
        self.assertEqual(opened.translate([source] * 50), [first] * 50)
        self.assertEqual(opened.translate([]), [])
        other = opened.clone()
        self.addCleanup(other.close)
        self.assertEqual(other.translate([source]), [first])
        with self.assertRaisesRegex(RuntimeError, "text 1: has 42 tokens"):
            opened.translate([source, "man " * 40])
        with self.assertRaisesRegex(RuntimeError, "use ptrain_translate"):
            opened.run({"input_ids": (INT32, (1, 2), (ctypes.c_int32 * 2)(3, 1))})

    def test_texts_compressed_by_gzip_are_the_same_texts(self):
        self.assertEqual(run(*self.learn).returncode, 0)
        short = ("-o", "train.steps=4", "-o", "eval.every_steps=4", "-o", "output.keep_best=none", "-o", "output.save=false")
        self.assertEqual(self.train("plain", *short).returncode, 0)
        for file in self.files:
            file.with_name(file.name + ".gz").write_bytes(gzip.compress(file.read_bytes()))
            file.unlink()
        learnt = self.folder / "learnt.json"
        again = run("data", "vocabulary", *(f"{file}.gz" for file in self.files), "--out", learnt, "--size", 300)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(learnt.read_text(), (self.folder / "tokenizer.json").read_text())
        packed = self.train("packed", *short)
        self.assertEqual(packed.returncode, 0, packed.stderr)
        self.assertEqual(get_figures(self.report("packed")), get_figures(self.report("plain")))
        damaged = self.folder / "train.en.gz"
        damaged.write_bytes(damaged.read_bytes()[:-20])
        self.assert_one_line_error(self.train("damaged", *short), 1, "train.en.gz: its compressed data are cut off")

    def test_the_memory_plan_holds_the_translations_of_evaluations(self):
        self.assertEqual(run(*self.learn).returncode, 0)
        short = ("-o", "train.steps=4", "-o", "eval.every_steps=4", "-o", "output.keep_best=none", "-o", "output.save=false",
                 "-o", "data.max_length=128")

        def plan(*keys):
            planned = run("estimate", self.config, "--json", *short, *keys)
            self.assertEqual(planned.returncode, 0, planned.stderr)
            return json.loads(planned.stdout)["memory"]

        one, five = plan("-o", "eval.beams=1"), plan("-o", "eval.beams=5")
        caches = 24 * 4 * 128 * 128 * 2 * 4 * 8  # texts, beams more, tokens, channels, keys and values, bytes, attentions
        self.assertGreaterEqual(five["translator_bytes"], one["translator_bytes"] + caches)
        self.assertGreaterEqual(five["planned_peak_bytes"], one["planned_peak_bytes"] + caches // 2)
        self.assertEqual(plan("-o", "eval.every_steps=0", "-o", "eval.every_epochs=0")["translator_bytes"], 0)
        self.assertEqual(self.train("own", *short, "-o", "eval.beams=5").returncode, 0)
        memory = self.report("own")["memory"]
        self.assertLess(memory["measured_peak_bytes"], memory["planned_peak_bytes"] + (32 << 20))

    def test_what_is_wrong_with_the_files_is_said_in_one_line(self):
        self.assert_one_line_error(self.train("own"), 1, "tokenizer.json")
        self.assertEqual(run(*self.learn).returncode, 0)
        with self.files[0].open("a") as file:
            file.write("one more\n")
        self.assert_one_line_error(self.train("own"), 1, "train.en: has 801 lines")
        self.assert_one_line_error(self.train("own", "-o", "data.languages=[en]"), 2, "data.languages")
        self.assert_one_line_error(self.train("own", "-o", "model.name=gpt2", "-o", "output.keep_best=primary"), 2,
                                   "data.source")
        self.assert_one_line_error(run("data", "vocabulary", self.folder / "none.txt", "--out", self.folder / "v.json"), 1,
                                   "none.txt")


if __name__ == "__main__":
    unittest.main()
