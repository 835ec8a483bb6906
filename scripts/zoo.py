#!/usr/bin/env python3
"""Trains every network of the zoo: compares its loss at each AMP level, or runs one epoch on local data.

  scripts/zoo.py levels [--out results/MACHINE/zoo_levels.json]     # 200 steps at O0, O1 and O2 from the same seed
  scripts/zoo.py epochs --images FOLDER --texts FILE.tsv [--out results/MACHINE/zoo_epochs.json]
  scripts/zoo.py --table FILE.json                                  # only prints the table of a saved file

levels: synthetic, learnable data, images of 64 px, texts of 32 tokens, text networks in a small size, no dropout; the
loss is the mean of the last 20 steps of --seeds trainings, and labels are smoothed, so that it ends above zero. A loss
more than 2 % above O0's fails. epochs: networks in their published size over a folder of images, each its own class,
and a TSV of sentences; networks that can use neither (clips, clicks, running text, missing vocabularies) read synthetic
data. Also compares the memory that `ptrain estimate` predicts. Results are written after each training; a failure is a
record in them.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEVELS = ("O0", "O1", "O2")
WORSE = 0.02  # than O0's loss, as a fraction of it
LAST = 20     # steps that a loss is averaged over
# Families of depthwise convolutions, which are far from converged after 200 steps at the others' learning rate and
# batch.
SLOW_STARTERS = {"MobileNet", "EfficientNet", "RegNet"}
# Networks that diverge at the others' learning rate, at O0 too: encoders with 768 features or more and post-norm blocks
# (in small batches, since each step takes long), and convolutions without norms.
UNSTEADY = {"distilbert": (4, 5e-5), "roberta": (4, 2e-5), "ernie": (4, 5e-5), "vgg16": (16, 1e-4)}
# Deeper networks of the same blocks as a shallower one.
DEEPER = {"resnet34", "resnet101", "resnet152", "resnet101_vd", "resnext101_32x8d", "wide_resnet101_2"}


def ptrain(options, *arguments):
    return subprocess.run([options.program, *map(str, arguments)], capture_output=True, text=True, check=False)


def last_words(done):
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def networks(options):
    """Entries of `ptrain list models`: the requested ones, or all but the deeper ones of a family."""
    listed = json.loads(ptrain(options, "list", "models", "--json").stdout)
    if options.models:
        return [entry for entry in listed if entry["name"] in options.models]
    return [entry for entry in listed if entry["name"] not in DEEPER]


def read_keys(options, name):
    """Keys that the network reads, found from the errors about its configuration."""
    keys = {}
    for key, value in (("model.stem", "imagenet"), ("model.size", "mini"), ("model.dropout", 0),
                       ("model.stochastic_depth", 0)):
        done = ptrain(options, "validate", options.blank, "-o", f"model.name={name}", "-o", f"{key}={value}")
        if done.returncode == 0:
            keys[key] = value
    return keys


def made_up(entry, samples):
    keys = {"data.source": "synthetic", "data.synthetic_samples": samples, "data.workers": 1}
    if entry["reads"] == "text":
        return {**keys, "model.vocab_size": 1000}
    return keys


def levels_keys(options, entry):
    default = (64, 2e-3) if entry["family"] in SLOW_STARTERS else (16, 5e-4)
    batch, rate = UNSTEADY.get(entry["name"], default)
    keys = {**made_up(entry, 1600), **read_keys(options, entry["name"]), "data.batch_size": batch, "train.steps": 200,
            "train.log_every_steps": 1, "train.optimizer.name": "adamw", "train.optimizer.lr": rate, "train.schedule.name": "cosine",
            "train.schedule.warmup_steps": 20, "train.label_smoothing": 0.1,
            "eval.every_epochs": 0, "output.save": "false", "seed": 1}
    if entry["reads"] in ("images", "clips"):
        return {**keys, "model.classes": 10, "data.image_size": 64, "data.augment": "none"}
    if entry["reads"] == "text":
        return {**keys, "data.max_length": 32, "model.classes": 1 if entry["family"] == "GPT-2" else 2}
    return {**keys, "data.batch_size": 512, "data.synthetic_samples": 51200}


def epochs_keys(options, entry):
    keys = {"train.epochs": 1, "train.log_every_steps": 1, "train.optimizer.name": "adamw", "train.optimizer.lr": 5e-5,
            "train.schedule.name": "constant", "eval.every_epochs": 1, "output.save": "false", "seed": 1}
    if entry["reads"] == "images":
        return {**keys, "data.source": "image_folder", "data.path": options.folder, "data.batch_size": 10,
                "model.classes": len(list((options.folder / "train").iterdir())), "data.image_size": 224}
    if entry["name"] in ("bert", "distilbert"):
        return {**keys, "data.source": "tsv", "data.path": options.texts.parent, "data.train_file": options.texts.name,
                "data.dev_file": options.texts.name, "data.vocab": options.vocab, "data.max_length": 64,
                "data.batch_size": 16, "model.classes": 2}
    keys |= {**made_up(entry, 64), "data.batch_size": 8}
    if entry["reads"] == "clips":
        return {**keys, "model.classes": 10, "data.image_size": 112}
    if entry["reads"] == "text":
        return {**keys, "data.max_length": 64, "model.classes": 1 if entry["family"] == "GPT-2" else 2}
    return {**keys, "data.batch_size": 512, "data.synthetic_samples": 51200}


def train(options, entry, keys):
    """The result of the training, with the losses of its steps, or a record of the failure."""
    with tempfile.TemporaryDirectory() as folder:
        overrides = [part for key, value in {"model.name": entry["name"], **keys}.items() for part in ("-o", f"{key}={value}")]
        done = ptrain(options, "run", options.blank, "--out", folder, "--progress", "none", *overrides)
        if done.returncode != 0:
            return {"error": last_words(done)}
        report = json.loads(pathlib.Path(folder, "report.json").read_text(encoding="utf-8"))
        lines = pathlib.Path(folder, "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        losses = [line["loss"] for line in map(json.loads, lines) if "loss" in line]
    options.machine = {"cpu": report["environment"]["cpu"], "libraries": report["environment"]["libraries"],
                       "ptrain": report["environment"]["ptrain"]}
    return {"losses": [round(loss, 6) for loss in losses], "accuracy": {name: metric["value"] for name, metric in report["evaluation"]["metrics"].items()},
            "precision": f"{report['amp']['level']} {report['amp']['dtype']}",
            "seconds": round(report["progress"]["wall_seconds"], 1), "memory": report["memory"],
            "samples_per_second": round(report["throughput"]["value"], 2)}


def mean_of_seeds(options, entry, keys):
    """The result of a training, with losses averaged over the seeds."""
    outcomes = [train(options, entry, {**keys, "seed": seed + 1}) for seed in range(options.seeds)]
    failed = next((outcome for outcome in outcomes if "error" in outcome), None)
    if failed:
        return failed
    losses = [round(sum(step) / len(step), 6) for step in zip(*(outcome["losses"] for outcome in outcomes), strict=True)]
    return {**outcomes[0], "losses": losses, "last_by_seed": [round(last_loss(outcome), 5) for outcome in outcomes]}


def last_loss(outcome):
    last = outcome["losses"][-LAST:]
    return sum(last) / len(last)


def above(outcome, best):
    """Relative excess of the last loss over that of `best`; infinite if either failed."""
    if "error" in outcome or "error" in best:
        return float("inf")
    return last_loss(outcome) / last_loss(best) - 1


def levels_table(results):
    lines = ["| model | first loss | O0 | O1 | O2 | O1 above O0 | O2 above O0 |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name, of in results["models"].items():
        if "error" in of["O0"]:
            lines.append(f"| {name} | {of['O0']['error']} |")
            continue
        losses = [f"{last_loss(of[level]):.4f}" if "error" not in of[level] else "failed" for level in LEVELS]
        worse = [f"{100 * above(of[level], of['O0']):+.2f} %" for level in LEVELS[1:]]
        lines.append(f"| {name} | {of['O0']['losses'][0]:.3f} | " + " | ".join(losses + worse) + " |")
    return "\n".join(lines)


def epochs_table(results):
    lines = ["| model | data | precision | steps | loss, first and last | samples/s | peak memory | planned |",
             "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for name, of in results["models"].items():
        if "error" in of:
            lines.append(f"| {name} | {of['error']} |")
            continue
        memory = of["memory"]
        lines.append(f"| {name} | {of['data']} | {of['precision']} | {len(of['losses'])} | {of['losses'][0]:.3f}, "
                     f"{of['losses'][-1]:.3f} | {of['samples_per_second']:.1f} | {memory['measured_peak_bytes'] / 2**20:.0f} MiB "
                     f"| {memory['planned_peak_bytes'] / memory['measured_peak_bytes']:.2f}x |")
    return "\n".join(lines)


TABLES = {"levels": levels_table, "epochs": epochs_table}


def class_folders(images, folder):
    """Each image as its own class, for training and evaluation."""
    for image in sorted(images.glob("*.[jJ][pP]*[gG]")):
        for split in ("train", "val"):
            (folder / split / image.stem).mkdir(parents=True)
            (folder / split / image.stem / image.name).symlink_to(image)
    return folder


def measure(options, entry):
    if options.command == "levels":
        keys = levels_keys(options, entry)
        return {level: mean_of_seeds(options, entry, {**keys, "amp.level": level}) for level in LEVELS}
    keys = epochs_keys(options, entry)
    data = "made up" if keys["data.source"] == "synthetic" else keys["data.source"]
    return {"data": data, **train(options, entry, {**keys, "amp.level": "auto"})}


def passed(command, outcome):
    if command == "epochs":
        return "error" not in outcome
    return all(above(outcome[level], outcome["O0"]) <= WORSE for level in LEVELS)


def run_all(options, folder):
    options.blank = folder / "blank.yaml"
    options.blank.write_text("model: {name: resnet18}\ndata: {source: synthetic}\n", encoding="utf-8")
    if options.command == "epochs":
        options.folder = class_folders(options.images.resolve(), folder / "images")
    results = {"schema": "ptrain.zoo/1", "command": options.command, "models": {}}
    for entry in networks(options):
        outcome = results["models"][entry["name"]] = measure(options, entry)
        print(f"{entry['name']}: {'passed' if passed(options.command, outcome) else 'FAILED'}", file=sys.stderr, flush=True)
        results["machine"] = getattr(options, "machine", {})
        if options.out:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", choices=list(TABLES))
    parser.add_argument("--program", default=ROOT / "build/release/bin/ptrain")
    parser.add_argument("--models", nargs="+", help="these alone")
    parser.add_argument("--seeds", type=int, default=3, help="trainings whose losses are averaged, for levels")
    parser.add_argument("--images", type=pathlib.Path, help="a folder of JPEGs, for epochs")
    parser.add_argument("--texts", type=pathlib.Path, help="a TSV of sentences and labels, for epochs")
    parser.add_argument("--vocab", type=pathlib.Path, default=ROOT / "weights/all-minilm-l6-v2/vocab.txt", help="BERT's, for epochs")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for the results")
    parser.add_argument("--table", type=pathlib.Path, help="print the table of this file and do nothing else")
    options = parser.parse_args()
    if options.table:
        results = json.loads(options.table.read_text(encoding="utf-8"))
        print(TABLES[results["command"]](results))
        return 0
    if options.command is None or options.command == "epochs" and not (options.images and options.texts):
        parser.error("expected levels, or epochs with --images and --texts")
    with tempfile.TemporaryDirectory() as folder:
        results = run_all(options, pathlib.Path(folder))
    print(TABLES[options.command](results))
    return 0 if all(passed(options.command, outcome) for outcome in results["models"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
