"""Exported ONNX files pass the checker, and ONNX Runtime answers as ptrain does."""
import json
import math
import unittest
from ctypes import c_uint8

import test_heads
import test_lora
import test_translation
import trained
from program import ProgramTest, run
from test_api import library

from ptrain import UINT8, Model

try:
    import numpy
    import onnx
    import onnxruntime
    import tokenizers
    MISSING = None
except ImportError as error:
    MISSING = f"pip install onnx onnxruntime tokenizers: {error}"


class Onnx(trained.TrainedModels, ProgramTest):
    @classmethod
    def setUpClass(cls):
        if MISSING is None:
            super().setUpClass()

    def setUp(self):
        if MISSING:
            self.skipTest(MISSING)
        super().setUp()

    def exported(self, name, folder=None):
        folder = folder or self.runs / name
        result = run("export", folder, "--out", self.folder, "--format", "onnx")
        self.assertEqual(result.returncode, 0, result.stderr)
        path = self.folder / "model.onnx"
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        self.assertEqual([(entry.domain, entry.version) for entry in model.opset_import], [("", 17)])
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        document = json.loads((folder / "model.json").read_text())
        self.assertEqual(json.loads(metadata["ptrain.class_names"]), document["class_names"])
        self.assertEqual(metadata["ptrain.hash"], document["hash"])
        return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def assert_answers(self, name, inputs, logits, folder=None, delta=1e-4):
        """That softmax(logits) are the probabilities of ptrain infer, row by row."""
        result = run("infer", folder or self.runs / name, *inputs, "--format", "jsonl", "--top", 10, "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        answers = [json.loads(line)["classes"] for line in result.stdout.splitlines()]
        self.assertEqual(len(answers), len(logits))
        for classes, row in zip(answers, logits):
            whole = sum(math.exp(value) for value in row)
            for one in classes:
                self.assertAlmostEqual(one["probability"], math.exp(row[one["index"]]) / whole, delta=delta)
            self.assertEqual(classes[0]["index"], int(numpy.argmax(row)))

    def quantized(self, name):
        """Every layer of a model in 8 bits: its folder, and what ONNX Runtime makes of its QDQ form."""
        folder = self.folder / "int8"
        data = self.data / {"images": "images/val", "texts": "texts/dev.tsv"}[name]
        result = run("quantize", self.runs / name, "--calibrate", data, "--out", folder, "--layers", "all", "--max-drop", "20",
                     "--speed-seconds", "0")
        self.assertEqual(result.returncode, 0, result.stderr)
        session = self.exported(name, folder)
        nodes = [node.op_type for node in onnx.load(self.folder / "model.onnx").graph.node]
        layers = json.loads((folder / "model.json").read_text())["quantization"]["layers"]
        self.assertGreaterEqual(nodes.count("DequantizeLinear"), 2 * len(layers))
        self.assertGreater(nodes.count("QuantizeLinear"), 0)
        return folder, session

    def test_quantized_images(self):
        self.check_images(*self.quantized("images"), delta=0.02)

    def test_quantized_texts(self):
        self.check_texts(*self.quantized("texts"), delta=0.02)

    def test_images(self):
        self.check_images(None, self.exported("images"))

    def test_squeezed_and_gated_images(self):
        folder = self.folder / "gated"
        result = run("run", self.root / "images.yaml", "-o", "model.name=mobilenet_v3_large", "-o", "model.dropout=0",
                     "-o", "train.steps=40", "-o", "train.optimizer.lr=1e-2", "-o", f"output.dir={folder}", "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        session = self.exported("images", folder)
        nodes = {node.op_type for node in onnx.load(self.folder / "model.onnx").graph.node}
        self.assertLessEqual({"HardSwish", "HardSigmoid", "Mul"}, nodes)
        self.check_images(folder, session)

    def test_squeezed_images_behind_sigmoids(self):
        folder = self.folder / "silu"
        result = run("run", self.root / "images.yaml", "-o", "model.name=efficientnet_b0", "-o", "model.dropout=0",
                     "-o", "train.steps=20", "-o", f"output.dir={folder}", "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        session = self.exported("images", folder)
        self.assertIn("Sigmoid", {node.op_type for node in onnx.load(self.folder / "model.onnx").graph.node})
        self.check_images(folder, session)

    def test_images_normalised_over_their_channels(self):
        """ConvNeXt's linear layers of each pixel, and a transformer's patches, which attention reads without a mask."""
        for model, parts in (("convnext_tiny", {"LayerNormalization", "Erf"}), ("deit_small", {"Pad", "Softmax"})):
            with self.subTest(model):
                folder = self.folder / model
                result = run("run", self.root / "images.yaml", "-o", f"model.name={model}", "-o", "data.image_size=32",
                             "-o", "train.steps=12", "-o", "train.optimizer.lr=1e-4", "-o", f"output.dir={folder}",
                             "--progress", "none")
                self.assertEqual(result.returncode, 0, result.stderr)
                session = self.exported("images", folder)
                nodes = {node.op_type for node in onnx.load(self.folder / "model.onnx").graph.node}
                self.assertLessEqual(parts, nodes)
                self.check_images(folder, session, enlarged=2)

    def test_blurred_images(self):
        folder = self.folder / "blurred"
        result = run("run", self.root / "images.yaml", "-o", "model.blur_pool=true", "-o", "model.stem=imagenet",
                     "-o", "train.steps=20", "-o", f"output.dir={folder}", "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        session = self.exported("images", folder)
        self.assertIn("Pad", {node.op_type for node in onnx.load(self.folder / "model.onnx").graph.node})
        self.check_images(folder, session)

    def test_grids_of_means(self):
        """Fewer pixels than windows, and a layer after them that reads channels innermost."""
        folder = self.folder / "grid"
        result = run("run", self.root / "images.yaml", "-o", "model.name=vgg16", "-o", "model.dropout=0", "-o", "train.steps=1",
                     "-o", "train.optimizer.lr=1e-5", "-o", "data.image_size=64", "-o", "data.batch_size=4", "-o",
                     "eval.every_epochs=0", "-o", f"output.dir={folder}", "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_images(folder, self.exported("images", folder), enlarged=4)

    def test_images_with_a_class_for_each_pixel(self):
        """Both forms of DeepLab: maps are enlarged, a map's mean is spread over its pixels, maps are concatenated."""
        for model in ("deeplabv3_resnet50", "deeplabv3p_resnet50"):
            with self.subTest(model):
                folder = self.folder / model
                self.config.write_text(
                    f"model: {{name: {model}, classes: 3}}\n"
                    "data: {source: synthetic, image_size: 40x56, batch_size: 2, synthetic_samples: 8, workers: 0}\n"
                    "train: {steps: 3, optimizer: {name: momentum, lr: 0.01}}\neval: {every_epochs: 0}\n")
                result = self.train(model)
                self.assertEqual(result.returncode, 0, result.stderr)
                session = self.exported("images", folder)
                nodes = [node.op_type for node in onnx.load(self.folder / "model.onnx").graph.node]
                self.assertEqual(nodes.count("Resize"), 2 if model == "deeplabv3p_resnet50" else 1)
                self.assertLessEqual({"Expand", "Concat"}, set(nodes))
                pixels = numpy.random.default_rng(0).integers(0, 256, (2, 40, 56, 3), numpy.uint8)
                (logits,) = session.run(None, {"images": pixels})
                answers = Model(folder, library())
                self.addCleanup(answers.close)
                values = (c_uint8 * pixels.size).from_buffer_copy(pixels.tobytes())
                expected = answers.answer({"images": (UINT8, pixels.shape, values)}, "logits")
                difference = numpy.abs(logits - numpy.array(expected, numpy.float32).reshape(2, 40, 56, 3))
                self.assertLess(difference.max(), 1e-4 * numpy.abs(logits).max())

    def test_texts_in_images(self):
        """Recurrent layers and attention that read lines of text, and the map of a detector."""
        for model, output, size, parts in (("crnn_tiny", "logits", (32, 64), {"LSTM", "ReduceMax"}),
                                           ("ppocr_rec_tiny", "logits", (48, 128), {"Slice", "MatMul"}),
                                           ("dbnet_tiny", "text_probabilities", (64, 96), {"ConvTranspose"}),
                                           ("ppocr_det_tiny", "text_probabilities", (64, 96), {"Clip"})):
            with self.subTest(model):
                folder = self.folder / model
                self.config.write_text(
                    f"model: {{name: {model}{', classes: 6' if output == 'logits' else ''}}}\n"
                    f"data: {{source: synthetic, image_size: {size[0]}x{size[1]}, max_length: 8, batch_size: 4,"
                    " synthetic_samples: 16, workers: 0}\n"
                    "train: {steps: 4, optimizer: {name: adamw, lr: 0.001}}\neval: {every_epochs: 0}\n")
                result = self.train(model)
                self.assertEqual(result.returncode, 0, result.stderr)
                session = self.exported("images", folder)
                self.assertLessEqual(parts, {node.op_type for node in onnx.load(self.folder / "model.onnx").graph.node})
                answers = Model(folder, library())
                self.addCleanup(answers.close)
                for rows in (1, 3):
                    pixels = numpy.random.default_rng(rows).integers(0, 256, (rows, *size, 3), numpy.uint8)
                    (found,) = session.run([output], {"images": pixels})
                    values = (c_uint8 * pixels.size).from_buffer_copy(pixels.tobytes())
                    expected = answers.answer({"images": (UINT8, pixels.shape, values)}, output)
                    difference = numpy.abs(found - numpy.array(expected, numpy.float32).reshape(found.shape))
                    self.assertLess(difference.max(), 1e-4 * numpy.abs(found).max())

    def check_sessions(self, model, score, reset_first):
        """Sessions of several lengths, against formulas of a GRU's step and, in `score`, of what follows from its states."""
        self.config.write_text(f"model: {{name: {model}, vocab_size: 50}}\n"
                               "data: {source: synthetic, batch_size: 4, synthetic_samples: 16, max_length: 8, workers: 0}\n"
                               "train: {steps: 4, optimizer: {name: adamw, lr: 0.01}}\neval: {every_epochs: 0}\n")
        result = self.train(model)
        self.assertEqual(result.returncode, 0, result.stderr)
        session = self.exported("images", self.folder / model)
        file = {name: numpy.frombuffer(values, numpy.float32).reshape(shape) for name, (shape, values)
                in test_lora.read_tensors(self.folder / model / "model.safetensors").items()}
        prefix = "gru." if reset_first else "G.0."
        table = file["item_embedding.weight" if reset_first else "Wy.weight"]
        ids, lengths = numpy.random.default_rng(0).integers(0, 50, (3, 8)), (8, 1, 5)
        mask = numpy.array([[step < length for step in range(8)] for length in lengths], numpy.int64)
        (scores,) = session.run(["logits"], {"input_ids": ids, "attention_mask": mask})
        for row, length in enumerate(lengths):
            states = [numpy.zeros(file[prefix + "weight_hh"].shape[1], numpy.float32)]
            for one in ids[row, :length]:
                state = states[-1]
                reset, update, new = numpy.split(file[prefix + "weight_ih"] @ table[one] + file[prefix + "bias_ih"], 3)
                weights = numpy.split(file[prefix + "weight_hh"], 3)
                offsets = numpy.split(file[prefix + "bias_hh"], 3) if not reset_first else (0, 0, 0)
                reset, update = (1 / (1 + numpy.exp(-gate - weights[i] @ state - offsets[i]))
                                 for i, gate in enumerate((reset, update)))
                own = weights[2] @ (reset * state) if reset_first else reset * (weights[2] @ state + offsets[2])
                states.append((1 - update) * numpy.tanh(new + own) + update * state)
            self.assertLess(numpy.abs(scores[row] - score(file, states[1:])).max(), 1e-5, f"of {length} items")

    def test_sessions(self):
        """torch.nn.GRU's steps."""
        self.check_sessions("gru4rec", lambda file, states: file["Wy.weight"] @ states[-1] + file["By.weight"][:, 0], False)

    def test_sessions_and_items_in_one_space(self):
        """The steps of a GRU that resets first."""
        def score(file, states):
            user = file["user_fc.weight"] @ numpy.max(states, axis=0) + file["user_fc.bias"]
            items = file["item_embedding.weight"] @ file["item_fc.weight"].T + file["item_fc.bias"]
            return items @ user / numpy.linalg.norm(user) / numpy.linalg.norm(items, axis=1)
        self.check_sessions("ssr", score, True)

    def check_images(self, folder, session, enlarged=1, **limits):
        paths, pixels = [], []
        for i, colour in enumerate(sorted(trained.COLOURS)):
            picture = trained.picture(colour, i)
            pixels.append([[pixel for pixel in row for _ in range(enlarged)] for row in picture for _ in range(enlarged)])
            paths.append(self.folder / f"{i}.png")
            paths[-1].write_bytes(trained.png(pixels[-1]))
        (logits,) = session.run(None, {"images": numpy.array(pixels, numpy.uint8)})
        self.assert_answers("images", paths, logits, folder, **limits)

    def test_texts_of_several_lengths(self):
        self.check_texts(None, self.exported("texts"))

    def check_texts(self, folder, session, **limits):
        texts = ["the film is lovely", "a story is dull", "fine", "a a a the the film is poor"]
        ids = [[trained.WORDS.index(word) for word in f"[CLS] {text} [SEP]".split()] for text in texts]
        longest = max(map(len, ids))
        rows = numpy.array([row + [0] * (longest - len(row)) for row in ids], numpy.int64)
        mask = numpy.array([[1] * len(row) + [0] * (longest - len(row)) for row in ids], numpy.int64)
        feeds = {"input_ids": rows, "attention_mask": mask, "token_type_ids": numpy.zeros_like(rows)}
        self.assert_answers("texts", texts, session.run(None, feeds)[0], folder, **limits)


class OnnxTexts(ProgramTest):
    """Language models with a cache, named as in Optimum's exports."""

    def setUp(self):
        if MISSING:
            self.skipTest(MISSING)
        super().setUp()
        test_heads.write_vocabulary(self.folder)
        for name in ("train", "dev"):
            (self.folder / f"{name}.txt").write_text(test_heads.sentences(200, name))
        self.config.write_text(test_heads.NEXT_TOKEN.format(folder=self.folder))
        vocabulary = json.loads((self.folder / "vocab.json").read_text())
        self.tokens = sorted(vocabulary, key=vocabulary.get)

    def export(self, model):
        trained = self.train(model, "-o", "eval.every_epochs=0", "-o", f"model.name={model}")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        exported = run("export", self.folder / model, "--out", self.folder, "--format", "onnx")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        onnx.checker.check_model(onnx.load(self.folder / "model.onnx"), full_check=True)
        return onnxruntime.InferenceSession(str(self.folder / "model.onnx"), providers=["CPUExecutionProvider"])

    def encode(self, text):
        ids, text = [], text.replace(" ", "\u0120")
        while text:
            token = next(token for token in ("the", "th", text[0]) if text.startswith(token))
            ids.append(self.tokens.index(token))
            text = text[len(token):]
        return ids

    def decode(self, ids):
        return "".join(self.tokens[i] for i in ids).replace("\u0120", " ").replace("\u010a", "\n")

    @staticmethod
    def step(session, ids, mask, cache):
        """The logits after ids that follow those of the cache, and the cache with them."""
        mask = numpy.array(mask, numpy.int64)
        positions = numpy.maximum(mask.cumsum(1) - 1, 0)[:, -len(ids[0]):]
        names = [one.name for one in session.get_inputs() if one.name.startswith("past_key_values.")]
        if cache is None:
            shape = next(one.shape for one in session.get_inputs() if one.name == names[0])
            cache = [numpy.zeros((len(ids), shape[1], 0, shape[3]), numpy.float32)] * len(names)
        feeds = {"input_ids": numpy.array(ids, numpy.int64), "attention_mask": mask, "position_ids": positions}
        logits, *cache = session.run(None, {**feeds, **dict(zip(names, cache))})
        return logits, cache

    def continue_greedily(self, session, ids, tokens):
        logits, cache = self.step(session, [ids], [[1] * len(ids)], None)
        more = []
        while True:
            more.append(int(logits[0, -1].argmax()))
            if len(more) == tokens:
                return more
            logits, cache = self.step(session, [more[-1:]], [[1] * (len(ids) + len(more))], cache)

    def test_greedy_texts_are_those_of_ptrain(self):
        for model in ("llama", "qwen2", "qwen3", "gpt2"):
            with self.subTest(model):
                session = self.export(model)
                names = [one.name for one in session.get_outputs()]
                self.assertEqual(names, ["logits", *(f"present.{i}.{part}" for i in range(2) for part in ("key", "value"))])
                for prompt in ("the cat", "a dog sees"):
                    answer = run("infer", self.folder / model, prompt, "--tokens", 16, "--temperature", 0, "--json")
                    self.assertEqual(answer.returncode, 0, answer.stderr)
                    expected = json.loads(answer.stdout)["text"]
                    self.assertEqual(self.decode(self.continue_greedily(session, self.encode(prompt), 16)), expected)

    def test_padding_before_a_text_changes_nothing(self):
        session = self.export("llama")
        one, other = self.encode("the cat"), self.encode("a dog sees")
        width = max(len(one), len(other))
        rows = [[0] * (width - len(ids)) + ids for ids in (one, other)]
        mask = [[0] * (width - len(ids)) + [1] * len(ids) for ids in (one, other)]
        together, cache = self.step(session, rows, mask, None)
        next_ids = [[5], [7]]
        after, _ = self.step(session, next_ids, [row + [1] for row in mask], cache)
        for i, ids in enumerate((one, other)):
            alone, own = self.step(session, [ids], [[1] * len(ids)], None)
            self.assertLess(numpy.abs(together[i, -1] - alone[0, -1]).max(), 1e-4)
            alone, _ = self.step(session, [next_ids[i]], [[1] * (len(ids) + 1)], own)
            self.assertLess(numpy.abs(after[i, -1] - alone[0, -1]).max(), 1e-4)

    def test_adapters_are_merged_first(self):
        trained = self.train("own", "-o", "eval.every_epochs=0", "-o", "train.steps=2", "-o", "model.lora.rank=2")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assert_one_line_error(run("export", self.folder / "own", "--out", self.folder, "--format", "onnx"), 2,
                                   "has adapters; merge them first")


class OnnxTranslation(test_translation.Translating):
    """A translator's encoder, and its decoder's step with the caches."""

    def setUp(self):
        if MISSING:
            self.skipTest(MISSING)
        super().setUp()

    def translate(self, sources, most):
        """The ids of each translation, greedily, padding and the end token included."""
        encoder, decoder = (onnxruntime.InferenceSession(str(self.folder / f"{name}_model.onnx"),
                                                         providers=["CPUExecutionProvider"])
                            for name in ("encoder", "decoder"))
        width = max(map(len, sources))
        mask = numpy.array([[1] * len(ids) + [0] * (width - len(ids)) for ids in sources], numpy.int64)
        padded = numpy.array([ids + [0] * (width - len(ids)) for ids in sources], numpy.int64)
        written = [one.name for one in encoder.get_outputs()]
        memory = encoder.run(None, {"input_ids": padded, "attention_mask": mask})
        feeds = {"past_key_values" + name.removeprefix("present"): value for name, value in zip(written, memory)}
        grow = [one.name for one in decoder.get_outputs()][1:]
        for one in decoder.get_inputs():
            if ".decoder." in one.name:
                feeds[one.name] = numpy.zeros((len(sources), one.shape[1], 0, one.shape[3]), numpy.float32)
        feeds |= {"encoder_attention_mask": mask, "input_ids": numpy.full((len(sources), 1), sources[0][-1], numpy.int64)}
        translations = []
        for step in range(most):
            feeds |= {"attention_mask": numpy.ones((len(sources), step + 1), numpy.int64),
                      "position_ids": numpy.full((len(sources), 1), step, numpy.int64)}
            logits, *caches = decoder.run(None, feeds)
            feeds |= {"past_key_values" + name.removeprefix("present"): value for name, value in zip(grow, caches)}
            feeds["input_ids"] = logits[:, -1:].argmax(-1)
            translations.append(feeds["input_ids"][:, 0])
        return numpy.stack(translations, 1).tolist()

    def test_encoder_and_step_translate_as_ptrain_does(self):
        self.assertEqual(run(*self.learn).returncode, 0)
        for norm in ("true", "false"):
            with self.subTest(norm):
                trained = self.train("own", "--fresh", "-o", f"model.norm_first={norm}", "-o", "eval.every_steps=300")
                self.assertEqual(trained.returncode, 0, trained.stderr)
                exported = run("export", self.folder / "own", "--out", self.folder, "--format", "onnx")
                self.assertEqual(exported.returncode, 0, exported.stderr)
                files = [self.folder / f"{name}_model.onnx" for name in ("encoder", "decoder")]
                self.assertEqual(exported.stdout, "".join(f"model: {file}\n" for file in files))
                for file in files:
                    onnx.checker.check_model(onnx.load(file), full_check=True)
                tokenizer = tokenizers.Tokenizer.from_file(str(self.folder / "tokenizer.json"))
                texts = [source for source, _ in test_translation.pairs(20, "more")]
                (self.folder / "texts.txt").write_text("\n".join(texts))
                answer = run("infer", self.folder / "own", self.folder / "texts.txt", "--beams", 1)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                end = tokenizer.token_to_id("</s>")
                found = self.translate([tokenizer.encode(text, add_special_tokens=False).ids + [end] for text in texts], 15)
                for text, ids, expected in zip(texts, found, answer.stdout.splitlines(), strict=True):
                    ids = ids[:ids.index(end)] if end in ids else ids
                    self.assertEqual(tokenizer.decode(ids), expected, text)


if __name__ == "__main__":
    unittest.main()
