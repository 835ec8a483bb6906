"""A GGUF file as the MODEL of infer, bench infer and serve: its texts are those of the folder it was made from."""
import array
import json
import struct
import sys
import unittest

import test_heads
from program import ROOT, ProgramTest, run
from test_serve import Server

sys.path.insert(0, str(ROOT / "tests/golden"))
import safetensors_file  # noqa: E402

WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm"}
OF_LAYER = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
            "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
            "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
F32, Q8_0, Q6_K = 0, 8, 14


def get_gguf_name(name):
    module = name.removesuffix(".weight")
    if module in WHOLE:
        return f"{WHOLE[module]}.weight"
    _, _, layer, part = module.split(".", 3)
    return f"blk.{layer}.{OF_LAYER[part]}.weight"


def interleave(values, rows, heads):
    """The rows of each head as llama.cpp's conversion orders them."""
    width, half = len(values) // rows, rows // heads // 2
    order = [head * 2 * half + row % 2 * half + row // 2 for head in range(heads) for row in range(2 * half)]
    return array.array("f", [value for row in order for value in values[row * width:(row + 1) * width]])


def to_q8_0(values):
    blocks = b""
    for first in range(0, len(values), 32):
        block = values[first:first + 32]
        scale = max(map(abs, block)) / 127
        blocks += struct.pack("<e32b", scale, *(round(value / scale) if scale else 0 for value in block))
    return blocks


def to_q6_k(values):
    """Simple scales: the largest of sixteen elements is 31 of their steps."""
    data = b""
    for first in range(0, len(values), 256):
        parts = [values[first + i:first + i + 16] for i in range(0, 256, 16)]
        steps = [max(map(abs, part)) / 31 for part in parts]
        unit = struct.unpack("<e", struct.pack("<e", max(steps) / 127))[0]
        scales = [round(step / unit) if unit else 0 for step in steps]
        q = [min(63, max(0, round(value / (unit * scale)) + 32)) if scale else 32
             for part, scale in zip(parts, scales) for value in part]
        low, high = bytearray(128), bytearray(64)
        for half in range(2):
            for i in range(32):
                quarters = [q[half * 128 + quarter * 32 + i] for quarter in range(4)]
                low[half * 64 + i] = quarters[0] & 15 | (quarters[2] & 15) << 4
                low[half * 64 + 32 + i] = quarters[1] & 15 | (quarters[3] & 15) << 4
                high[half * 32 + i] = sum(value >> 4 << 2 * quarter for quarter, value in enumerate(quarters))
        data += bytes(low + high) + struct.pack("<16be", *scales, unit)
    return data


WRITE = {F32: lambda values: values.tobytes(), Q8_0: to_q8_0, Q6_K: to_q6_k}


def write_text(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def write_key(name, value):
    if isinstance(value, str):
        return write_text(name) + struct.pack("<I", 8) + write_text(value)
    if isinstance(value, float):
        return write_text(name) + struct.pack("<If", 6, value)
    if isinstance(value, list):
        texts = isinstance(value[0], str)
        entries = b"".join(write_text(entry) if texts else struct.pack("<i", entry) for entry in value)
        return write_text(name) + struct.pack("<IIQ", 9, 8 if texts else 5, len(value)) + entries
    return write_text(name) + struct.pack("<II", 4, value)


def convert(folder, path, matrices, **changes):
    """A model's folder as a GGUF file whose matrices are of that type, or of that by name; `changes` replaces keys' values."""
    sizes = json.loads((folder / "config.json").read_text())
    heads, kv_heads = sizes["num_attention_heads"], sizes["num_key_value_heads"]
    tokens = json.loads((folder / "vocab.json").read_text())
    keys = {"general.architecture": "llama", "llama.block_count": sizes["num_hidden_layers"],
            "llama.embedding_length": sizes["hidden_size"], "llama.attention.head_count": heads,
            "llama.attention.head_count_kv": kv_heads, "llama.feed_forward_length": sizes["intermediate_size"],
            "llama.context_length": 64, "llama.attention.layer_norm_rms_epsilon": sizes["rms_norm_eps"],
            "llama.rope.freq_base": float(sizes["rope_theta"]), "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.tokens": sorted(tokens, key=tokens.get),
            "tokenizer.ggml.token_type": [3 if token == "<|endoftext|>" else 1 for token in sorted(tokens, key=tokens.get)],
            "tokenizer.ggml.merges": ["t h", "th e"], "tokenizer.ggml.eos_token_id": tokens["<|endoftext|>"], **changes}
    described, data = b"", b""
    tensors, _ = safetensors_file.read(folder / "model.safetensors")
    for name, (_, shape, content) in tensors.items():
        values = array.array("f", content)
        for part, count in (("q_proj", heads), ("k_proj", kv_heads)):
            if part in name:
                values = interleave(values, shape[0], count)
        kind = F32 if len(shape) < 2 else matrices(name) if callable(matrices) else matrices
        described += write_text(get_gguf_name(name)) + struct.pack("<I", len(shape))
        described += struct.pack(f"<{len(shape)}QIQ", *reversed(shape), kind, len(data))
        data += WRITE[kind](values)
        data += bytes(-len(data) % 32)
    start = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(map(write_key, keys, keys.values()))
    start += described
    path.write_bytes(start + bytes(-len(start) % 32) + data)


class GgufModel(ProgramTest):
    def setUp(self):
        super().setUp()
        test_heads.write_vocabulary(self.folder)
        for name in ("train", "dev"):
            (self.folder / f"{name}.txt").write_text(test_heads.sentences(200, name))
        self.config.write_text(test_heads.NEXT_TOKEN.format(folder=self.folder).replace("gpt2, size: tiny, dropout: 0",
                                                                                        "llama, size: tiny"))
        trained = self.train("own", "-o", "eval.every_epochs=0", "-o", "train.steps=30")
        self.assertEqual(trained.returncode, 0, trained.stderr)

    def answer(self, model, *arguments):
        result = run("infer", self.folder / model, "the cat", "a dog", "--tokens", 12, "--temperature", 0, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def measure_weights(self, model, *arguments):
        result = run("bench", "infer", self.folder / model, "--scenario", "decode", "--tokens", 2, "--repeats", 1, "--json",
                     *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["bound"]["weight_bytes"]

    def test_its_texts_are_those_of_the_folder(self):
        convert(self.folder / "own", self.folder / "full.gguf", F32)
        convert(self.folder / "own", self.folder / "q8_0.gguf", Q8_0)
        self.assertEqual(self.answer("full.gguf"), self.answer("own"))
        self.assertEqual(self.answer("q8_0.gguf"), self.answer("own", "--weights", "q8_0"))
        self.assertEqual(self.answer("full.gguf", "--weights", "q4_1"), self.answer("own", "--weights", "q4_1"))
        full = self.measure_weights("own")
        self.assertEqual(self.measure_weights("full.gguf"), full)
        self.assertEqual(self.measure_weights("q8_0.gguf", "--weights", "full"), full)
        self.assertAlmostEqual(self.measure_weights("q8_0.gguf") / full, 34 / 128, delta=0.01)

    def test_blocks_of_256_stay_as_they_are(self):
        wide = self.train("wide", "-o", "eval.every_epochs=0", "-o", "train.steps=10", "-o", "model.size=mini")
        self.assertEqual(wide.returncode, 0, wide.stderr)
        convert(self.folder / "wide", self.folder / "full.gguf", F32)
        convert(self.folder / "wide", self.folder / "q6_k.gguf", Q6_K)
        convert(self.folder / "wide", self.folder / "mixed.gguf", lambda name: Q8_0 if "v_proj" in name else Q6_K)
        full, six, mixed = (self.measure_weights(f"{name}.gguf") for name in ("full", "q6_k", "mixed"))
        self.assertAlmostEqual(six / full, 210 / 1024, delta=0.01)
        self.assertGreater(mixed, six)
        self.assertLess(mixed / full, 34 / 128, "tensors that a layer joins are rounded to the larger type")
        for name in ("q6_k", "mixed"):
            self.assertEqual(self.answer(f"{name}.gguf"), self.answer(f"{name}.gguf", "--weights", "full"))

    def test_adapters_train_beside_its_blocks(self):
        adapters = ("-o", "eval.every_epochs=0", "-o", "model.size=mini")
        wide = self.train("wide", *adapters, "-o", "train.steps=10")
        self.assertEqual(wide.returncode, 0, wide.stderr)
        convert(self.folder / "wide", self.folder / "q6_k.gguf", Q6_K)
        adapters += ("-o", f"model.weights={self.folder}/q6_k.gguf", "-o", "model.lora.rank=4", "-o", "train.steps=20", "-o",
                     "train.optimizer.lr=0.01", "-o", "train.log_every_steps=1")
        variables = {}
        for base in ("stored", "full"):
            trained = self.train(base, *adapters, "-o", f"model.lora.base={base}")
            self.assertEqual(trained.returncode, 0, trained.stderr)
            planned = run("estimate", self.config, "--json", *adapters, "-o", f"model.lora.base={base}")
            variables[base] = json.loads(planned.stdout)["memory"]["variable_bytes"]
        blocks, full = self.losses("stored"), self.losses("full")
        self.assertLess(blocks[-1], 0.9 * blocks[0])
        for one, other in zip(blocks, full):
            self.assertAlmostEqual(one / other, 1, delta=0.02)
        self.assertLess(variables["stored"], 0.5 * variables["full"])
        exported = run("export", self.folder / "stored", "--out", self.folder / "adapter", "--format", "peft")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        beside = ("--adapter", self.folder / "adapter", "--weights", "full", "--max-length", 32)
        self.assertEqual(self.answer("q6_k.gguf", *beside), self.answer("stored"), "a run's folder has the blocks' values")
        for weights, part in (("wide", "has no weights in blocks"), ("", "there are no model.weights")):
            self.assert_one_line_error(self.train("x", *adapters, "-o", "model.lora.base=stored", "-o", "model.weights=" + (
                weights and str(self.folder / weights))), 2, "model.lora.base: stored:", part)

    def test_it_is_served(self):
        convert(self.folder / "own", self.folder / "tiny.gguf", Q8_0)
        server = Server(self.folder / "tiny.gguf", "--max-length", 40, path="/v1")
        self.addCleanup(server.kill)
        status, answer = server.ask("POST", "/v1/completions",
                                    json.dumps({"prompt": "the cat", "temperature": 0, "max_tokens": 12}))
        self.assertEqual(status, 200, answer)
        self.assertEqual("the cat" + answer["choices"][0]["text"], self.answer("tiny.gguf").splitlines()[0])

    def test_what_is_wrong_is_said_in_one_line(self):
        convert(self.folder / "own", self.folder / "tiny.gguf", Q8_0)
        convert(self.folder / "own", self.folder / "other.gguf", F32, **{"general.architecture": "gemma"})
        content = (self.folder / "tiny.gguf").read_bytes()
        (self.folder / "cut.gguf").write_bytes(content[:-1000])
        for model, code, parts, arguments in (
                ("other.gguf", 1, ("general.architecture", "llama, qwen2, qwen3", "gemma"), ()),
                ("cut.gguf", 1, ("cut.gguf", "truncated"), ()), ("none.gguf", 1, ("none.gguf",), ()),
                ("tiny.gguf", 2, ("--max-length: expected at most 64, got 65",), ("--max-length", 65)),
                ("own", 2, ("--max-length: is for a GGUF file",), ("--max-length", 16)),
                ("tiny.gguf", 2, ("--weights: expected auto|full|q8_0|q4_0|q4_1",), ("--weights", "q2"))):
            self.assert_one_line_error(run("infer", self.folder / model, "the cat", *arguments), code, *parts)
        full = run("infer", self.folder / "tiny.gguf", "the cat", "--tokens", 100, "--max-length", 20)
        self.assertEqual(full.returncode, 0, full.stderr)
        self.assertIn("the model reads at most 20 tokens, the prompt's included (--max-length)", full.stderr)


if __name__ == "__main__":
    unittest.main()
