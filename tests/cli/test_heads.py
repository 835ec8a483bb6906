"""What models answer with in place of a class: one value (STS-B's form), from training to what the trained model is asked;
the next token of running text."""
import json
import math
import random
import re
import unittest

from program import ROOT, ProgramTest, get_figures, run

WORDS = ["a", "man", "dog", "is", "eating", "running", "food", "fast", "the", "cat"]
HEADER = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"


def pairs(count, seed):
    """Sentences of four words; the first word determines the score."""
    draw = random.Random(seed)
    for _ in range(count):
        first, second = draw.choices(WORDS, k=4), draw.choices(WORDS, k=4)
        yield " ".join(first), " ".join(second), WORDS.index(first[0]) / 2


class Regression(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
        for name, count in (("train", 160), ("dev", 37)):
            rows = (f"{i}\tmain\tf\t2012\t{i}\tnone\tnone\t{a}\t{b}\t{score:.3f}\n"
                    for i, (a, b, score) in enumerate(pairs(count, count)))
            (self.folder / f"{name}.tsv").write_text(HEADER + "".join(rows))
        text = (ROOT / "configs/recipes/glue_stsb_bert_base.yaml").read_text()
        for key, value in {"size": "tiny", "path": self.folder, "vocab": self.folder / "vocab.txt", "max_length": "16",
                           "batch_size": "16", "weights": "''", "epochs": "10"}.items():
            begin = text.index(f"\n  {key}: ")
            text = text[:begin] + f"\n  {key}: {value}" + text[text.index("\n", begin + 1):]
        self.config.write_text(text.replace("lr: 2.0e-5", "lr: 2.0e-3").replace("level: auto", "level: O0"))
        self.quick = ("-o", "model.dropout=0", "-o", "train.log_every_steps=1", "-o", "flags.cudnn_exhaustive_search=false")

    def test_glues_columns_train_and_the_best_is_kept(self):
        trained = self.train("own", *self.quick, "-o", "output.predictions=true")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        accuracy = get_figures(report)
        self.assertEqual((sorted(accuracy), report["evaluation"]["eval_samples"]), (["loss", "mse", "pearson", "spearman"], 37))
        self.assertGreater(accuracy["spearman"], 0.8, "the first word determines the score")
        self.assertAlmostEqual(accuracy["mse"], accuracy["loss"])
        self.assertNotIn("classification", {key for key, value in report.items() if value})
        self.assertEqual(report["best"]["metric"], "spearman")
        best = max(get_figures(one)["spearman"] for one in report["evaluations"])
        self.assertAlmostEqual(report["best"]["value"], best)
        self.assertIn("Pearson 0.", trained.stdout)
        answers = [json.loads(line) for line in (self.folder / "own/predictions.jsonl").read_text().splitlines()]
        self.assertEqual([(one["line"], one["text"], one["second"], one["truth"]) for one in answers],
                         [(i + 2, *row) for i, row in enumerate(pairs(37, 37))])
        error = sum((one["truth"] - one["prediction"]) ** 2 for one in answers) / 37
        self.assertAlmostEqual(error, accuracy["loss"], places=4)
        page = run("table", self.folder / "own", "--format", "html", "--out", self.folder / "page.html")
        self.assertEqual(page.returncode, 0, page.stderr)
        self.assertIn("Worst errors", (self.folder / "page.html").read_text())
        self.assertEqual(run("show", self.folder / "own").returncode, 0)

        asked = run("infer", self.folder / "own", self.folder / "dev.tsv", "--json", "--progress", "none",
                    "--column", "sentence1", "--label-column", "score")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertEqual(len(asked.stdout.splitlines()), 37)
        asked = run("infer", self.folder / "own", self.folder / "dev.tsv", "--json", "--progress", "none")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        for line, one in zip(map(json.loads, asked.stdout.splitlines()), answers, strict=True):
            self.assertAlmostEqual(line["value"], one["prediction"], places=3)
            self.assertEqual(line["truth"], one["truth"])
        self.assertIn("Spearman", asked.stderr)
        printed = run("infer", self.folder / "own", "a man is eating\ta dog is eating", "--progress", "none")
        self.assertRegex(printed.stdout, r"^a man is eating: -?\d\.\d{4}\n$")
        copied = run("export", self.folder / "own", "--out", self.folder / "copy")
        self.assertEqual(copied.returncode, 0, copied.stderr)
        again = run("infer", self.folder / "copy", "a man is eating\ta dog is eating", "--progress", "none")
        self.assertEqual(again.stdout, printed.stdout)
        smaller = run("quantize", self.folder / "own", "--calibrate", self.folder / "dev.tsv", "--out", self.folder / "q",
                      "--layers", "all", "--speed-seconds", 0, "--json")
        self.assertEqual(smaller.returncode, 0, smaller.stderr)
        report = json.loads(smaller.stdout)
        self.assertIsNone(report["accuracy"])
        self.assertLess(report["logits"]["relative"], 0.1)

    def test_ranks_and_resumed_runs_agree(self):
        constant = ("-o", "train.schedule.name=constant", "-o", "train.schedule.warmup_ratio=0")
        steps = (*constant, "-o", "train.steps=12")
        self.assertEqual(self.train("whole", *self.quick, *steps).returncode, 0)
        figures = get_figures(self.report("whole"))
        ranks = self.train("ranks", *self.quick, *steps, "-o", "dist.ranks=2", "-o", "data.batch_size=8")
        self.assertEqual(ranks.returncode, 0, ranks.stderr)
        self.assertAlmostEqual(get_figures(self.report("ranks"))["pearson"], figures["pearson"], places=3)
        self.assertEqual(self.train("parts", *self.quick, *constant, "-o", "train.steps=5").returncode, 0)
        resumed = self.train("parts", *self.quick, *steps, "--resume", "auto")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(self.losses("parts"), self.losses("whole"))
        self.assertEqual(get_figures(self.report("parts")), figures)

    def test_what_is_wrong_is_said_in_one_line(self):
        for key, parts in {"data.labels=[a, b]": ("data.labels", "regression"),
                           "data.class_weights=balanced": ("data.class_weights", "regression"),
                           "output.keep_best=top1": ("output.keep_best", "one of pearson, spearman, mse, loss, got", "top1"),
                           "model.classes=3": ("model.classes", "1 value"),
                           "data.source=synthetic": ("model.head", "tsv")}.items():
            self.assert_one_line_error(self.train("refused", "-o", key), 2, *parts)
        self.assert_one_line_error(self.train("refused", "-o", "model.head=classification"), 2, "output.keep_best", "spearman")
        self.assert_one_line_error(self.train("refused", "-o", "model.name=resnet18", "-o", "data.source=idx"), 2, "model.head")
        with open(self.folder / "train.tsv", "a") as file:
            file.write("160\tmain\tf\t2012\t1\tnone\tnone\ta man\ta dog\tmuch\n")
        self.assert_one_line_error(self.train("refused"), 1, "train.tsv:162", 'expected a number', '"much"')


NEXT_TOKEN = """\
model: {{name: gpt2, size: tiny, dropout: 0}}
threads: 1
data: {{source: text, path: {folder}, train_file: train.txt, dev_file: dev.txt, vocab: {folder}/vocab.json,
       max_length: 32, batch_size: 8, workers: 1}}
train:
  steps: 60
  optimizer: {{name: adamw, lr: 2.0e-3, weight_decay: 0.01}}
  schedule: {{name: constant}}
amp: {{level: O0}}
flags: {{cudnn_exhaustive_search: false}}
eval: {{every_epochs: 1}}
output: {{dir: {folder}/own}}
"""
STORY = ("the", "cat", "dog", "sees", "hears", "a", "bird")


def write_vocabulary(folder):
    """GPT-2's form: bytes as printable characters, two words that are joined, and its one mark."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    tokens = [chr(byte) for byte in printable] + [chr(0x100 + i) for i in range(len(others))]
    tokens += ["th", "the", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\nt h\nth e\n")
    return len(tokens)


CHAT_MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def write_chat_vocabulary(folder):
    """The same as a tokenizer.json, with the marks of chats."""
    write_vocabulary(folder)
    tokens = json.loads((folder / "vocab.json").read_text())
    end = tokens.pop(CHAT_MARKS[0])
    level = {"type": "ByteLevel", "add_prefix_space": False}
    (folder / "tokenizer.json").write_text(json.dumps({
        "model": {"type": "BPE", "vocab": tokens, "merges": [["t", "h"], ["th", "e"]]}, "pre_tokenizer": level,
        "decoder": level, "added_tokens": [{"id": end + i, "content": mark} for i, mark in enumerate(CHAT_MARKS)]}))


def sentences(count, seed):
    draw = random.Random(seed)
    return "".join(" ".join(draw.choices(STORY, k=5)) + ".\n" for _ in range(count))


class RunningText(ProgramTest):
    def setUp(self):
        super().setUp()
        self.vocabulary = write_vocabulary(self.folder)
        (self.folder / "train.txt").write_text(sentences(600, "train"))
        (self.folder / "dev.txt").write_text(sentences(60, "dev"))
        self.config.write_text(NEXT_TOKEN.format(folder=self.folder))

    def test_it_trains_reports_its_perplexity_and_is_no_model_of_classes(self):
        trained = self.train("own", "-o", "output.keep_best=perplexity")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        report = self.report("own")
        accuracy = get_figures(report)
        self.assertAlmostEqual(accuracy["perplexity"], math.exp(accuracy["loss"]), places=6)
        self.assertLess(accuracy["perplexity"], 8, "uniform over the bytes that occur would be 18")
        self.assertGreater(accuracy["perplexity"], 1.4, "the entropy of the words; less: it sees the token it predicts")
        self.assertGreater(report["loss"]["first"], 5, f"about ln {self.vocabulary}")
        self.assertEqual(report["evaluation"]["names"], ["perplexity", "loss"])
        self.assertEqual(report["best"]["metric"], "perplexity")
        self.assertFalse(report.get("classification"))
        self.assertEqual(report["throughput"]["unit"], "sequences/s")
        self.assertIn("perplexity", trained.stdout)
        self.assertIn("perplexity", run("show", self.folder / "own").stdout)
        # Every block counts alike, also those of a batch that is not full.
        other = self.train("other", "-o", "eval.batch_size=3", "-o", "train.steps=0", "-o", "train.epochs=1", "-o",
                           f"model.weights={self.folder}/own/model.safetensors", "-o", "train.optimizer.lr=0")
        self.assertEqual(other.returncode, 0, other.stderr)
        self.assertNotEqual(report["evaluation"]["eval_samples"] % 3, 0)
        self.assertAlmostEqual(self.report("other")["evaluation"]["metrics"]["loss"]["value"], accuracy["loss"], places=5)
        onnx = run("export", self.folder / "own", "--out", self.folder / "out", "--format", "onnx")
        self.assertEqual(onnx.returncode, 0, onnx.stderr)

    def test_it_goes_on_with_texts(self):
        self.assertEqual(self.train("own", "-o", "eval.every_epochs=0").returncode, 0)
        model = self.folder / "copy"
        self.assertEqual(run("export", self.folder / "own", "--out", model).returncode, 0)

        def texts(*arguments, **options):
            result = run("infer", model, *arguments, "--format", "jsonl", **options)
            self.assertEqual(result.returncode, 0, result.stderr)
            return [json.loads(line) for line in result.stdout.splitlines()]

        prompts = ["the cat", "a dog sees", "the"]
        drawn = texts(*prompts, "--tokens", 20)
        self.assertEqual([one["input"] for one in drawn], prompts)
        self.assertTrue(all(one["tokens"] == 20 and not one["ended"] for one in drawn), drawn)
        self.assertEqual({one["reason"] for one in drawn}, {"tokens"})
        surer = texts(*prompts, "--tokens", 20, "--temperature", 0.3)
        words = [word for one in surer for word in re.findall("[a-z]+(?=[ .])", one["text"])]
        known = [word for word in words if word in STORY]
        self.assertGreater(len(known), 0.5 * len(words), f"it has learned the words: {surer}")
        self.assertEqual(texts(*prompts, "--tokens", 20), drawn, "the seed fixes what is drawn")
        self.assertEqual(texts(*prompts, "--tokens", 20, "--batch", 1), drawn, "however many at once")
        self.assertNotEqual(texts(*prompts, "--tokens", 20, "--seed", 2), drawn)
        likeliest = texts("the cat", "--tokens", 20, "--temperature", 0)
        self.assertEqual(texts("-", "--tokens", 20, "--top-k", 1, "--seed", 3, input="the cat\n"), likeliest)
        plain = run("infer", model, "the cat", "--tokens", 20, "--temperature", 0)
        self.assertEqual(plain.stdout, "the cat" + likeliest[0]["text"] + "\n")
        self.assertRegex(plain.stderr, "^20 tokens in .* s: .*/s")
        (full,) = texts("the cat", "--tokens", 500)
        self.assertEqual(full["input_tokens"] + full["tokens"], 32, "as many as it was trained on")
        self.assertEqual(full["reason"], "max_length")
        answer = run("infer", model, "the cat", "--tokens", 500)
        self.assertIn("1 of 1 texts end before --tokens 500: the model reads at most 32 tokens", answer.stderr)
        self.assertIn("model.max_positions, here", answer.stderr)
        for code, error, arguments in ((1, "expected 1 to 31", ["the cat sees a dog " * 3]), (1, "command line:1: is empty", [""]),
                                       (2, "--report", ["the", "--report", "r.json"]), (1, "none.txt", ["none.txt"]),
                                       (1, "expected a .txt file, a text, or - for standard input", [self.config])):
            self.assert_one_line_error(run("infer", model, *arguments), code, error)
        timed = run("bench", "infer", model, "--scenario", "single_stream", "--seconds", "0.2")
        self.assertEqual(timed.returncode, 0, timed.stderr)

    def test_texts_are_drawn_and_end_as_options_say(self):
        self.assertEqual(self.train("own", "-o", "eval.every_epochs=0").returncode, 0)

        def text(*arguments):
            result = run("infer", self.folder / "own", "the cat", "--tokens", 20, "--json", *arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(result.stdout)

        likeliest = text("--temperature", 0)
        for options in (("--top-k", 1), ("--top-k", 0, "--top-p", 0.000001), ("--top-k", 0, "--min-p", 1)):
            self.assertEqual(text(*options), likeliest)
        self.assertNotEqual(text("--top-k", 0), likeliest)
        self.assertNotEqual(text("--temperature", 0, "--repetition-penalty", 50), likeliest)
        self.assertEqual(text("--temperature", 0, "--kv-cache-dtype", "fp32"), likeliest)
        for dtype in ("bf16", "int8"):
            self.assertEqual(text("--temperature", 0, "--kv-cache-dtype", dtype)["tokens"], 20)
        stop = likeliest["text"][6:8]
        stopped = text("--temperature", 0, "--stop", "nowhere", "--stop", stop)
        self.assertEqual(stopped["text"], likeliest["text"].split(stop)[0])
        self.assertEqual((stopped["reason"], stopped["ended"]), ("stop", False))
        self.assertLess(stopped["tokens"], 20)
        for option, value in (("--top-p", 0), ("--top-p", 1.5), ("--min-p", -1), ("--repetition-penalty", 0), ("--stop", ""),
                              ("--kv-cache-dtype", "int4"), ("--temperature", -1), ("--tokens", 0)):
            self.assert_one_line_error(run("infer", self.folder / "own", "the cat", option, value), 2, option)

    def test_weights_in_blocks(self):
        self.assertEqual(self.train("own", "-o", "eval.every_epochs=0").returncode, 0)

        def answer(*arguments):
            result = run("infer", self.folder / "own", "the cat", "a dog", "--tokens", 12, "--temperature", 0, *arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout

        def weight_bytes(weights):
            result = run("bench", "infer", self.folder / "own", "--scenario", "decode", "--tokens", 2, "--repeats", 1,
                         "--weights", weights, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(result.stdout)
            self.assertEqual(report["weights"], weights)
            return report["bound"]["weight_bytes"]

        whole = answer()
        self.assertEqual(answer("--weights", "full"), whole)
        self.assertEqual(len(answer("--weights", "q8_0").splitlines()), 2)
        self.assertEqual(answer("--weights", "q4_1"), answer("--weights", "q4_1", "--batch", 1))
        full = weight_bytes("full")
        for weights, size in (("q8_0", 34), ("q4_0", 18), ("q4_1", 20)):
            self.assertAlmostEqual(weight_bytes(weights) / full, size / 128, delta=0.02, msg="norms and biases are the rest")
        self.assert_one_line_error(run("infer", self.folder / "own", "the cat", "--weights", "q5_0"), 2,
                                   'expected auto|full|q8_0|q4_0|q4_1, got "q5_0"')

    def test_reading_and_writing_are_timed_in_llama_benchs_terms(self):
        self.assertEqual(self.train("own", "-o", "eval.every_epochs=0", "-o", "train.steps=2").returncode, 0)

        def bench(*arguments):
            return run("bench", "infer", self.folder / "own", "--repeats", 2, *arguments)

        def measure(*arguments):
            result = bench(*arguments, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(result.stdout)

        read = measure("--scenario", "prefill", "--tokens", 16)
        self.assertEqual((read["name"], read["batch_size"], read["token_ms"]["count"]), ("pp16", 1, 0))
        self.assertEqual(read["first_token_ms"]["count"], 2)
        self.assertAlmostEqual(read["tokens_per_second"], 16e3 / read["first_token_ms"]["mean"], delta=read["tokens_per_second"])
        written = measure("--scenario", "decode", "--tokens", 8, "--depth", 5, "--batch", 3, "--kv-cache-dtype", "bf16")
        self.assertEqual((written["name"], written["batch_size"], written["cache_dtype"]), ("tg8 @ d5", 3, "bf16"))
        self.assertEqual(written["token_ms"]["count"], 2 * 8)
        bound = written["bound"]
        # GPT-2 tiny: 2 layers of 128 channels, and on average 9.5 tokens of each text.
        self.assertAlmostEqual(bound["cache_bytes"], 2 * 2 * 3 * 9.5 * 128 * 2)
        small = measure("--scenario", "decode", "--tokens", 8, "--depth", 5, "--batch", 3, "--kv-cache-dtype", "int8")
        self.assertEqual(small["cache_dtype"], "s8")
        self.assertAlmostEqual(small["bound"]["cache_bytes"], 2 * 2 * 3 * 9.5 * 2 * (64 + 4), msg="two heads of 64 channels")
        weights = 2 * 12 * 128 * 128 + self.vocabulary * 128
        self.assertLess(abs(bound["weight_bytes"] / (4 * weights) - 1), 0.02, "norms and biases are the rest")
        seconds = max((bound["weight_bytes"] + bound["cache_bytes"]) / bound["bytes_per_second"], bound["flops"] / bound["flops_per_second"])
        self.assertAlmostEqual(bound["tokens_per_second"], 3 / seconds, places=3)
        self.assertRegex(bench("--scenario", "decode", "--tokens", 4, "--per-op").stdout, r"(?s)tg4 of .*tokens/s.*cached_attention")
        self.assert_one_line_error(bench("--scenario", "decode"), 2, "--tokens", "at most 32", "got 128")

    def test_a_tokenizer_json_is_a_vocabulary_that_the_models_folder_keeps(self):
        tokens = json.loads((self.folder / "vocab.json").read_text())
        end = tokens.pop("<|endoftext|>")
        level = {"type": "ByteLevel", "add_prefix_space": False}
        (self.folder / "tokenizer.json").write_text(json.dumps({
            "model": {"type": "BPE", "vocab": tokens, "merges": [["t", "h"], ["th", "e"]]}, "pre_tokenizer": level,
            "decoder": level, "added_tokens": [{"id": end, "content": "<|endoftext|>"}]}))
        few = ("-o", "train.steps=3", "-o", "train.log_every_steps=1", "-o", "eval.every_epochs=0")
        for name, vocabulary in (("own", "vocab.json"), ("other", "tokenizer.json")):
            trained = self.train(name, *few, "-o", f"data.vocab={self.folder}/{vocabulary}")
            self.assertEqual(trained.returncode, 0, trained.stderr)
            self.assertTrue((self.folder / name / vocabulary).exists())
        self.assertEqual(self.losses("other"), self.losses("own"))
        first, second = (run("infer", self.folder / name, "the cat", "--tokens", 9, "--temperature", 0) for name in ("own", "other"))
        self.assertEqual((second.returncode, second.stdout), (0, first.stdout), second.stderr)
        self.assertTrue(first.stdout.startswith("the cat"))

    def test_it_trains_on_made_up_tokens_in_low_precision_and_goes_on_where_it_was(self):
        settings = ("-o", "data.source=synthetic", "-o", "model.vocab_size=200", "-o", "data.synthetic_samples=256",
                    "-o", "train.log_every_steps=1", "-o", "output.checkpoint_every_steps=30")
        for name, level in (("fp32", "O0"), ("white", "O1"), ("all", "O2")):
            trained = self.train(name, *settings, "-o", f"amp.level={level}", "-o", "amp.dtype=bf16")
            self.assertEqual(trained.returncode, 0, trained.stderr)
            self.assertLess(self.report(name)["evaluation"]["metrics"]["perplexity"]["value"], 25, "of 200 uniform ones, 64 that occur")
        half = self.train("half", *settings, "-o", "train.steps=30", "-o", "eval.every_epochs=0")
        self.assertEqual(half.returncode, 0, half.stderr)
        rest = self.train("half", *settings, "--resume", "auto")
        self.assertEqual(rest.returncode, 0, rest.stderr)
        self.assertEqual(self.losses("half")[-30:], self.losses("fp32")[-30:])

    def test_what_is_wrong_is_printed_in_a_line(self):
        def refused(code, *parts, **settings):
            overrides = [part for key, value in settings.items() for part in ("-o", f"{key.replace('__', '.')}={value}")]
            self.assert_one_line_error(self.train("bad", *overrides), code, *parts)
        (self.folder / "short.txt").write_text("the cat\n")
        refused(1, "short.txt: has 6 tokens, fewer than one block of data.max_length 32", data__dev_file="short.txt")
        refused(2, "data.max_length: 1025 tokens exceed the model's 1024 positions", data__max_length=1025,
                data__dev_file="train.txt")
        refused(2, "data.vocab", "byte-level BPE's vocab.json", data__vocab=self.folder / "train.txt")
        refused(2, "data.source: gpt2 reads text|chat|sessions|synthetic, got tsv", data__source="tsv")
        refused(2, "data.source: bert reads tsv or synthetic, got text", model__name="bert")
        refused(2, "model.classes: gpt2 predicts the next token", model__classes=2)
        refused(2, "output.keep_best: expected primary, one of perplexity, loss, got", output__keep_best="top1")
        (self.folder / "merges.txt").unlink()
        refused(1, "merges.txt")
        (self.folder / "vocab.json").write_text('{"a": 0}')
        (self.folder / "merges.txt").write_text("")
        refused(1, "vocab.json: not a byte-level BPE's vocabulary")

    def test_weights_of_another_variant_are_refused(self):
        trained = self.train("own", "-o", "train.steps=1", "-o", "eval.every_epochs=0")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        weights = self.folder / "own/model.safetensors"
        config = self.folder / "own/config.json"
        sizes = json.loads(config.read_text())
        self.assertEqual((sizes["n_layer"], sizes["n_embd"], sizes["vocab_size"]), (2, 128, self.vocabulary))
        config.unlink()
        other = self.train("other", "-o", f"model.weights={weights}", "-o", "model.size=mini")
        self.assert_one_line_error(other, 1, "transformer.wte.weight has shape", "expected")
        config.write_text(json.dumps({**sizes, "model_type": "opt"}))
        other = self.train("other", "-o", f"model.weights={weights}")
        self.assert_one_line_error(other, 1, 'model_type: expected "gpt2"')


if __name__ == "__main__":
    unittest.main()
