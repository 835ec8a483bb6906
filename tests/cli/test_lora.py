"""Adapters: training beside frozen weights, PEFT's files in and out, merging; chats as what is learnt."""
import json
import struct
import unittest

from program import ProgramTest, run
from test_heads import sentences, write_chat_vocabulary, write_vocabulary

BASE = """\
model: {{name: llama, size: tiny}}
threads: 1
data: {{source: text, path: {folder}, train_file: train.txt, dev_file: dev.txt, vocab: {folder}/vocab.json,
       max_length: 32, batch_size: 8, workers: 1}}
train:
  steps: 20
  optimizer: {{name: adamw, lr: 2.0e-3, weight_decay: 0.01}}
  schedule: {{name: constant}}
amp: {{level: O0}}
eval: {{every_epochs: 0}}
output: {{dir: {folder}/own}}
"""


def read_tensors(path):
    """{name: (shape, bytes)} of a safetensors file."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    header.pop("__metadata__", None)
    return {name: (one["shape"], data[slice(*one["data_offsets"])]) for name, one in header.items()}


class Lora(ProgramTest):
    def setUp(self):
        super().setUp()
        write_vocabulary(self.folder)
        (self.folder / "train.txt").write_text(sentences(300, "train"))
        (self.folder / "dev.txt").write_text(sentences(60, "dev"))
        self.config.write_text(BASE.format(folder=self.folder))

    def done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def adapt(self, output, *arguments):
        return self.train(output, "-o", f"model.weights={self.folder}/base", "-o", "train.optimizer.lr=0.01", *arguments)

    def continue_text(self, model, *arguments):
        return self.done(run("infer", self.folder / model, "the cat", "--tokens", 20, "--temperature", 0, *arguments)).stdout

    def test_an_adapter_is_trained_exported_loaded_and_merged(self):
        self.done(self.train("base"))
        trained = self.done(run("run", self.config, "--out", self.folder / "lora", "-o", "model.lora.rank=4", "-o",
                                "model.lora.alpha=16", "-o", f"model.weights={self.folder}/base", "-o",
                                "train.optimizer.lr=0.02", "-o", "train.steps=80"))
        self.assertRegex(trained.stdout + trained.stderr, r"model.lora: trains \d+ of \d+ parameters")
        base, lora = (read_tensors(self.folder / name / "model.safetensors") for name in ("base", "lora"))
        for name, tensor in base.items():
            self.assertEqual(lora[name], tensor, name)
        self.done(run("export", self.folder / "lora", "--out", self.folder / "adapter", "--format", "peft"))
        tensors = read_tensors(self.folder / "adapter/adapter_model.safetensors")
        self.assertEqual(len(tensors), 2 * 7 * 2)
        name = "model.layers.1.self_attn.k_proj.lora_B.weight"
        self.assertEqual(tensors["base_model.model." + name], lora[name])
        settings = json.loads((self.folder / "adapter/adapter_config.json").read_text())
        self.assertEqual((settings["peft_type"], settings["r"], settings["lora_alpha"]), ("LORA", 4, 16))
        self.assertEqual(settings["target_modules"],
                         ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"])

        adapted, plain = self.continue_text("lora"), self.continue_text("base")
        self.assertNotEqual(adapted, plain)
        self.assertEqual(self.continue_text("base", "--adapter", self.folder / "adapter"), adapted)
        merged = self.done(run("export", self.folder / "lora", "--out", self.folder / "merged", "--merge", "--check-text",
                               self.folder / "dev.txt"))
        self.assertIn("merged against adapters, after 64 texts: logits' relative error", merged.stdout)
        self.assertEqual(self.continue_text("merged"), adapted)
        self.assertEqual(set(read_tensors(self.folder / "merged/model.safetensors")), set(base))
        drawn = self.done(run("export", self.folder / "lora", "--out", self.folder / "drawn", "--merge"))
        self.assertIn("unchanged for 100.00 %", drawn.stdout)
        self.assert_one_line_error(
            run("export", self.folder / "lora", "--out", self.folder / "no", "--merge", "--max-logit-error", "0"), 1,
            "not written: the logits of the merged weights are off by", "--max-logit-error")
        self.assertFalse((self.folder / "no/model.json").exists())

        # From the adapter, training continues where it ended.
        self.done(self.adapt("again", "-o", f"model.lora.weights={self.folder}/adapter", "-o", "train.steps=1",
                             "-o", "train.log_every_steps=1"))
        self.done(self.train("whole", "-o", f"model.weights={self.folder}/lora", "-o", "model.lora.rank=4", "-o",
                             "model.lora.alpha=16", "-o", "train.optimizer.lr=0.01", "-o", "train.steps=1", "-o",
                             "train.log_every_steps=1"))
        self.assertEqual(self.losses("again"), self.losses("whole"))
        self.done(self.adapt("again", "-o", f"model.lora.weights={self.folder}/adapter", "-o", "train.steps=2",
                             "--resume", "auto"))

        self.done(run("export", self.folder / "base", "--out", self.folder / "kept"))
        before = (self.folder / "kept/model.safetensors").read_bytes()
        self.assert_one_line_error(run("export", self.folder / "lora", "--out", self.folder / "kept", "--merge", "--max-logit-error",
                                       "0"), 1, "not written", "--max-logit-error")
        self.assertEqual((self.folder / "kept/model.safetensors").read_bytes(), before)
        self.done(run("export", self.folder / "base", "--out", self.folder / "kept"))
        for arguments, parts in (
                (("export", self.folder / "base", "--out", self.folder / "x", "--merge"), ("model.lora.rank", "no adapters")),
                (("export", self.folder / "base", "--out", self.folder / "x", "--format", "peft"), ("no adapters",)),
                (("export", self.folder / "lora", "--out", self.folder / "x", "--check-text", "a.txt"), ("--check-text",)),
                (("infer", self.folder / "lora", "the", "--adapter", self.folder / "adapter"), ("has adapters already",))):
            self.assert_one_line_error(run(*arguments), 2, *parts)

    def test_what_is_wrong_with_an_adapter_is_said(self):
        self.done(self.train("base", "-o", "train.steps=1"))
        lora = self.done(self.adapt("lora", "-o", "model.lora.rank=2", "-o", "model.lora.targets=[q_proj,v_proj]", "-o",
                                    "train.steps=1"))
        self.assertIn("model.lora: trains", lora.stderr, "notes are no progress, which is none here")
        folder = self.folder / "adapter"
        self.done(run("export", self.folder / "lora", "--out", folder, "--format", "peft"))
        for kept in ("adapter_config.json", "adapter_model.safetensors"):
            other = self.folder / f"other {kept}"
            other.mkdir()
            (other / kept).write_text("{}")
            export = ("export", self.folder / "lora", "--format", "peft", "--out")
            self.assert_one_line_error(run(*export, other), 2, kept, "not of an earlier export")
        self.done(run(*export, folder))
        file = folder / "adapter_config.json"
        settings = json.loads(file.read_text())

        def refused(*parts, code=1, rank=(), **changes):
            file.write_text(json.dumps({**settings, **changes}))
            self.assert_one_line_error(self.adapt("x", "-o", f"model.lora.weights={folder}", *rank), code, *parts)

        refused("adapter_config.json: peft_type", '"LOHA"', peft_type="LOHA")
        refused("adapter_config.json: use_dora", use_dora=True)
        refused("adapter_config.json: bias", bias="all")
        refused("adapter_config.json: r: expected an integer from 1 to 4096", r="4")
        refused("adapter_config.json: r: expected an integer from 1 to 4096", r=10**19)
        refused("adapter_config.json: target_modules", target_modules="model.*q")
        refused("adapter_config.json: init_lora_weights", '"pissa"', init_lora_weights="pissa")
        refused("adapter_config.json: alora_invocation_tokens", alora_invocation_tokens=[1])
        refused("adapter_config.json: layers_pattern", layers_pattern="layers")
        refused("adapter_config.json: task_type", task_type="SEQ_CLS")
        for key, value, said in (("alpha", "4", "has alpha 8.0"), ("targets", "[k_proj]", '["k_proj"]'),
                                 ("rslora", "true", "has rslora false")):
            refused(f"model.lora.{key}: is ", said, code=2, rank=("-o", f"model.lora.{key}={value}"))
        refused("adapter_model.safetensors", "lora_A.weight has shape", r=4)
        refused("adapter_model.safetensors: has no tensor", "k_proj", target_modules=["q_proj", "k_proj", "v_proj"])
        refused("adapter_model.safetensors: has base_model.model.", "no adapter", target_modules=["v_proj"])
        refused("model.lora.targets", "c_attn", code=2, target_modules=["c_attn"])
        refused("model.lora.rank: is 8", "rank 2", code=2, rank=("-o", "model.lora.rank=8"))
        file.unlink()
        self.assert_one_line_error(self.adapt("x", "-o", f"model.lora.weights={folder}"), 1, "adapter_config.json")
        self.assert_one_line_error(self.adapt("x", "-o", "model.lora.rank=2", "-o", "model.lora.targets=[qproj]"), 2,
                                   'model.lora.targets: "qproj" matches no linear layer of llama')

    def test_chats_are_learnt_by_their_answers(self):
        lines = [json.dumps({"messages": [{"role": "user", "content": "the cat"},
                                          {"role": "assistant", "content": "sees a bird"}]}) for _ in range(32)]
        (self.folder / "chats.jsonl").write_text("\n".join(lines) + "\n")
        write_chat_vocabulary(self.folder)
        vocabulary = f"data.vocab={self.folder}/tokenizer.json"
        chat = ("-o", vocabulary, "-o", "data.source=chat", "-o", "data.train_file=chats.jsonl", "-o", "data.dev_file=chats.jsonl", "-o",
                "data.max_length=128", "-o", "model.lora.rank=4", "-o", "eval.every_epochs=1")
        self.done(self.train("base", "-o", vocabulary, "-o", "train.steps=1"))
        self.done(self.adapt("chat", *chat, "-o", "train.steps=20", "-o", "train.log_every_steps=1"))
        self.assertLess(self.losses("chat")[-1], 0.8 * self.losses("chat")[0])
        with open(self.folder / "chats.jsonl", "a") as file:
            file.write('{"messages": [{"role": "user", "content": "the cat"}]}\n')
        self.assert_one_line_error(self.adapt("x", *chat), 1, "chats.jsonl:33: messages: none is of the role assistant")
        self.assert_one_line_error(self.adapt("x", *chat, "-o", "data.chat_template=llama3"), 2, "data.chat_template",
                                   "<|start_header_id|>", "tokenizer.json")
        self.assert_one_line_error(self.adapt("x", *chat, "-o", "data.chat_template=jinja"), 2, "data.chat_template")
        self.assert_one_line_error(self.adapt("x", *chat, "-o", "data.vocab="), 2, "data.vocab")


if __name__ == "__main__":
    unittest.main()
