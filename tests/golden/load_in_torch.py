#!/usr/bin/env python3
"""Loads what `ptrain run` trained into torchvision or transformers and checks that it is as accurate there.

    .deps/peers/bin/python tests/golden/load_in_torch.py runs/resnet50/report.json [runs/bert_finetune/report.json]...

Reads model.safetensors beside each report with load_state_dict(strict=True), evaluates it in fp32 on the samples that
the run itself evaluated last (idx, tsv or text) and compares with the report's top1, or of running text with its loss. A run evaluated with eval.amp O0 must agree to
within one sample in a thousand (the two sum in other orders), others within one in a hundred.
"""
import argparse
import gzip
import json
import pathlib
import sys

import numpy as np
import safetensors.torch
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/peers"))
import text_data  # noqa: E402


def read_idx(folder, name, header_bytes):
    plain = folder / name
    data = plain.read_bytes() if plain.exists() else gzip.decompress((folder / (name + ".gz")).read_bytes())
    return np.frombuffer(data, np.uint8, offset=header_bytes)


def evaluate_resnet(config, weights, samples):
    """Grey images at their own size, normalised as ptrain's idx source says."""
    import torchvision
    if config["data"]["source"] != "idx" or config["data"]["image_size"] not in (0, 28):
        sys.exit("only Fashion-MNIST or MNIST at 28 px is evaluated here")
    model = getattr(torchvision.models, config["model"]["name"])(num_classes=config["model"]["classes"])
    if weights["conv1.weight"].shape[-1] == 3:  # the stem for small images
        model.conv1 = torch.nn.Conv2d(3, 64, 3, stride=1, padding=1, bias=False)
        model.maxpool = torch.nn.Identity()
    model.load_state_dict(weights, strict=True)
    model.eval()
    folder = pathlib.Path(config["data"]["path"] or "/usr/share/datasets/fashion-mnist")
    labels = torch.from_numpy(read_idx(folder, "t10k-labels-idx1-ubyte", 8).astype(np.int64))[:samples]
    pixels = torch.from_numpy(read_idx(folder, "t10k-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28).copy())
    mean, deviation = (0.2860, 0.3530) if "fashion" in str(folder) else (0.1307, 0.3081)
    correct = 0
    for images, truth in zip(pixels[:samples].split(200), labels.split(200)):
        inputs = ((images.float() / 255 - mean) / deviation).expand(-1, 3, -1, -1)
        correct += (model(inputs.contiguous()).argmax(-1) == truth).sum().item()
    return correct / len(labels)


def evaluate_bert(config, weights, samples):
    import transformers
    data = config["data"]
    if data["source"] != "tsv" or not config["model"]["weights"]:
        sys.exit("only fine-tuned BERT on a tsv file is evaluated here: its sizes are read beside model.weights")
    sizes = transformers.BertConfig.from_pretrained((ROOT / config["model"]["weights"]).parent)
    sizes.num_labels = config["model"]["classes"]
    model = transformers.BertForSequenceClassification(sizes)
    model.load_state_dict(weights, strict=True)
    tensors = text_data.load(ROOT / data["path"] / data["dev_file"], ROOT / data["vocab"], data["max_length"])
    return text_data.accuracy(model, [tensor[:samples] for tensor in tensors])


def evaluate_gpt2(path, config):
    """Mean loss of a token over the blocks of data.dev_file, as transformers reads the run's folder."""
    import transformers
    data = config["data"]
    if data["source"] != "text":
        sys.exit("only running text is evaluated here")
    model = transformers.GPT2LMHeadModel.from_pretrained(path.parent).eval()
    vocabulary = pathlib.Path(data["vocab"])
    tokenizer = transformers.GPT2Tokenizer(str(vocabulary), str(vocabulary.with_name("merges.txt")))
    lines = (pathlib.Path(data["path"]) / data["dev_file"]).read_text(encoding="utf-8").splitlines(keepends=True)
    ids = torch.tensor([token for line in lines for token in tokenizer(line)["input_ids"]])
    blocks = ids[:len(ids) // data["max_length"] * data["max_length"]].view(-1, data["max_length"])
    losses = [model(input_ids=block[None], labels=block[None]).loss.item() for block in blocks]
    return sum(losses) / len(losses)


def check_loss(path, config, accuracy):
    loss = evaluate_gpt2(path, config)
    allowed = 1e-4 if config["eval"]["amp"] == "O0" else 1e-2
    passed = abs(loss - accuracy["loss"]) <= allowed * loss
    print(f"{path}: PyTorch loss {loss:.6f}, ptrain {accuracy['loss']:.6f}, {accuracy['eval_samples']} blocks: "
          + ("same" if passed else "DIFFERENT"))
    return passed


@torch.no_grad()
def check(path):
    report = json.loads(path.read_text())
    config, accuracy = report["config"], report["accuracy"]
    if config["model"]["name"] == "gpt2":
        return check_loss(path, config, accuracy)
    weights = safetensors.torch.load_file(path.with_name("model.safetensors"))
    evaluate = evaluate_bert if config["model"]["name"] == "bert" else evaluate_resnet
    top1 = evaluate(config, weights, accuracy["eval_samples"])
    allowed = 1e-3 if config["eval"]["amp"] == "O0" else 1e-2
    allowed = max(allowed, 1.0 / accuracy["eval_samples"])
    passed = abs(top1 - accuracy["top1"]) <= allowed + 1e-12
    print(f"{path}: PyTorch {top1:.4f}, ptrain {accuracy['top1']:.4f}, {accuracy['eval_samples']} samples: "
          + ("same" if passed else "DIFFERENT"))
    return passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=pathlib.Path)
    return 0 if all([check(path) for path in parser.parse_args().reports]) else 1


if __name__ == "__main__":
    sys.exit(main())
