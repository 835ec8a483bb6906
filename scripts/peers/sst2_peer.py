#!/usr/bin/env python3
"""Fine-tunes the same BERT weights on the same sentences as `ptrain run` with a configuration, in PyTorch on the CPU.

    .deps/peers/bin/python scripts/peers/sst2_peer.py [--config configs/bert_finetune.yaml] [--dtype bf16] [--seed 1]

The recipe is read from ptrain's configuration (linear schedule only). Prints one line of JSON.
"""
import argparse
import contextlib
import json
import pathlib
import time

import torch
import transformers
import yaml

import peer_common
import text_data

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=pathlib.Path, default=ROOT / "configs/bert_finetune.yaml")
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32", help="bf16: autocast (ptrain's O1)")
    parser.add_argument("--threads", type=int, default=0, help="0: all cores this process may use")
    parser.add_argument("--seed", type=int, default=None, help="default: the configuration's")
    return parser.parse_args()


def make_model(config):
    """Weights from the file except the classifier: normal(0, 0.02), bias 0 (transformers' initializer_range)."""
    weights = (ROOT / config["model"]["weights"]).parent
    dropout = config["model"].get("dropout", 0.1)
    return transformers.BertForSequenceClassification.from_pretrained(
        weights, num_labels=config["model"]["classes"], hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout, dtype=torch.float32)


def make_optimizer(model, recipe):
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": recipe["weight_decay"]},
              {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe["lr"], betas=(recipe["beta1"], recipe["beta2"]), eps=recipe["epsilon"],
                             fused=True)


def linear_schedule(warmup, total):
    """ptrain's: rises to 1 over `warmup` steps, the first of which is already 1 / warmup; then falls to 0."""
    return lambda step: (step + 1) / warmup if step < warmup else 1 - (step - warmup) / max(1, total - warmup)


def main():
    options = parse_options()
    config = yaml.safe_load(options.config.read_text())
    options.seed = config["seed"] if options.seed is None else options.seed
    peer_common.prepare(options)
    data, recipe = config["data"], config["train"]
    files = [text_data.load(ROOT / data["path"] / data[key], ROOT / data["vocab"], data["max_length"])
             for key in ("train_file", "dev_file")]
    model = make_model(config)
    optimizer = make_optimizer(model, recipe["optimizer"])
    batch = data["batch_size"]
    steps_per_epoch = len(files[0][2]) // batch
    total = recipe["epochs"] * steps_per_epoch
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, linear_schedule(round(recipe["schedule"]["warmup_ratio"] * total), total))

    accuracies, seconds, loss = [], 0.0, None
    for _ in range(recipe["epochs"]):
        order = torch.randperm(len(files[0][2]))
        model.train()
        start = time.perf_counter()
        for step in range(steps_per_epoch):
            ids, mask, labels = (tensor[order[step * batch:(step + 1) * batch]] for tensor in files[0])
            with torch.autocast("cpu", dtype=torch.bfloat16) if options.dtype == "bf16" else contextlib.nullcontext():
                logits = model(input_ids=ids, attention_mask=mask).logits
                loss = torch.nn.functional.cross_entropy(logits.float(), labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), recipe["clip_norm"])
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
        seconds += time.perf_counter() - start
        accuracies.append(text_data.accuracy(model, files[1]))
    print(json.dumps({
        "framework": "pytorch " + torch.__version__, "dtype": options.dtype, "seed": options.seed,
        "threads": torch.get_num_threads(), "steps": total, "dev_accuracy": accuracies[-1],
        "dev_accuracy_by_epoch": accuracies, "samples_per_second": total * batch / seconds, "last_loss": loss.item(),
        "peak_rss_bytes": peer_common.peak_rss_bytes()}))


if __name__ == "__main__":
    main()
