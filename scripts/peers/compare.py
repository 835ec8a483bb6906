#!/usr/bin/env python3
"""Runs the same training in ptrain and in its peers, interleaved, and prints the ratios; needs no packages itself.

    scripts/peers/compare.py --out results/MACHINE/peers.json      # all cases: an hour or two on two cores
    scripts/peers/compare.py --cases resnet50-64 --precisions fp32 --repeats 1
    scripts/peers/compare.py --zoo --precisions fp32 O1 --out results/MACHINE/peers_zoo.json    # the other networks
    scripts/peers/compare.py --table results/MACHINE/peers.json    # only prints the table of a saved file
    scripts/peers/compare.py --table results/MACHINE/peers.json --brief    # its columns for a README

The peers: PyTorch eager and compiled; with --variants also compiled by AMD's zentorch, and JAX (the default four cases),
each in its own environment. Each case and precision is a suite of commands for `ptrain bench`: fresh processes, in
rounds of all, so that drift of the machine affects all alike. Speed: median over rounds, against the fastest peer.
Memory: ptrain's largest peak against the smallest of the peers'. The result is written after every suite; a failure is a
record in it. With --runs the runs are kept, and an interrupted comparison continues.
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# By device: ptrain's AMP level, its dtype and PyTorch's equivalent. fp16 parameters without master weights do not train
# in PyTorch, so that O2 on a GPU is compared with autocast too.
PEERS = ("eager", "compiled", "zentorch", "jax")
AMP = {"cpu": {"fp32": ("O0", "auto", "fp32"), "O1": ("O1", "bf16", "bf16"), "O2": ("O2", "bf16", "pure-bf16")},
       "cuda": {"fp32": ("O0", "auto", "fp32"), "O1": ("O1", "fp16", "fp16"), "O2": ("O2", "fp16", "fp16"),
                "O1-bf16": ("O1", "bf16", "bf16")}}


@dataclasses.dataclass
class Case:
    """One model and size. `keys` are ptrain's, `peer` is the script with equivalent options."""
    name: str
    title: str
    steps: int  # timed
    keys: dict
    peer: list
    warmup: int = 4
    jax: list = dataclasses.field(default_factory=list)  # for jax_peer.py, if it has the network

    def ptrain_keys(self, device, precision, threads):
        level, dtype, _ = AMP[device][precision]
        keys = {"data.source": "synthetic", "amp.level": level, "amp.dtype": dtype, "train.steps": self.steps + self.warmup,
                "train.measure_after_steps": self.warmup, "eval.every_epochs": 0, "train.schedule.name": "constant",
                "data.synthetic_samples": 16 * self.keys["data.batch_size"], "output.save": "false"}
        if device == "cuda":
            keys["data.workers"] = max(2, len(os.sched_getaffinity(0)) - 2)
        if threads:
            keys["threads"] = threads
        return {**keys, **self.keys}


def resnet(size, batch, steps, warmup=4):
    return Case(f"resnet50-{size}", f"ResNet-50, {size} px, batch {batch}", steps,
                {"model.name": "resnet50", "model.classes": 1000, "model.stem": "imagenet", "data.image_size": size,
                 "data.batch_size": batch, "data.augment": "none", "train.optimizer.name": "momentum"},
                ["vision_peer.py", "--size", size, "--batch", batch], warmup,
                ["resnet50", "--size", size, "--batch", batch])


def bert(name, title, size, keys, length, batch, steps, warmup=4):
    return Case(name, f"{title}, length {length}, batch {batch}", steps,
                {"model.name": "bert", "model.classes": 2, "data.max_length": length, "data.batch_size": batch,
                 "train.optimizer.name": "adamw", "train.optimizer.lr": 2e-5, "train.optimizer.weight_decay": 0.01,
                 **keys},
                ["bert_peer.py", "--size", size, "--length", length, "--batch", batch], warmup,
                ["bert", "--size", size, "--length", length, "--batch", batch])


def encoder(name, title, kin, size, vocabulary):
    """A model related to BERT, of BERT-base's width."""
    case = bert(name, title, size, {"model.name": name, "model.vocab_size": vocabulary}, 128, 8, 5, 3)
    return dataclasses.replace(case, peer=[*case.peer, "--kin", kin, "--vocab", vocabulary], jax=[])


def clips(size, batch, steps):
    return Case("tsn_resnet50", f"TSN on ResNet-50, 3 frames, {size} px, batch {batch}", steps,
                {"model.name": "tsn_resnet50", "model.segments": 3, "model.classes": 400, "model.dropout": 0, "data.image_size": size,
                 "data.batch_size": batch, "data.augment": "none", "train.optimizer.name": "momentum"},
                ["vision_peer.py", "--frames", 3, "--classes", 400, "--size", size, "--batch", batch], 3)


def detection(name, title, size, batch, steps):
    """As with pretrained weights: frozen norms and first layers. RetinaNet's classes have no background."""
    frozen, model = ["backbone.body.conv1.*", "backbone.body.layer1.*"], f"{name}_resnet50_fpn"
    return Case(name, f"{title} on ResNet-50, {size} px, batch {batch}", steps,
                {"model.name": model, "model.classes": 91 if name == "retinanet" else 90, "data.image_size": size, "data.batch_size": batch,
                 "data.augment": "none", "train.optimizer.name": "momentum", "train.optimizer.lr": 1e-3,
                 "train.groups.match": json.dumps(frozen), "train.groups.trainable": json.dumps([False] * len(frozen))},
                ["detection_peer.py", "--model", model, "--size", size, "--batch", batch], 3)


def pixels(size, batch, steps):
    """Segmentation of Pascal VOC's 21 classes; dropout as in torchvision, which has no switch for it."""
    return Case("deeplabv3_resnet50", f"DeepLabV3 on ResNet-50 with its auxiliary loss, {size} px, batch {batch}", steps,
                {"model.name": "deeplabv3_resnet50", "model.classes": 21, "model.dropout": 0.5, "data.image_size": size,
                 "data.batch_size": batch, "data.augment": "none", "train.optimizer.name": "momentum"},
                ["vision_peer.py", "--model", "deeplabv3_resnet50", "--classes", 21, "--size", size, "--batch", batch], 2)


def clicks(name, title, width, batch, steps):
    rows = 1000001
    return Case(name, f"{title}, {rows} rows of {width}, batch {batch}", steps,
                {"model.name": name, "model.classes": 2, "model.hash_buckets": rows, "model.embedding_size": width,
                 "data.batch_size": batch, "train.optimizer.name": "adamw", "train.optimizer.weight_decay": 0, "train.optimizer.lr": 1e-3},
                ["click_peer.py", "--model", name, "--rows", rows, "--width", width, "--batch", batch], 20)


def bags(name, title, width, batch, steps, size):
    """Multi-hot clicks; synthetic ones have few words, whose rows are in the caches of either."""
    case = clicks(name, f"{title}, bags of up to {size}", width, batch, steps)
    return dataclasses.replace(case, name=f"{name}_bags", peer=[*case.peer, "--bag-size", size],
                               keys={**case.keys, "data.slots": 26, "data.bag_size": size, "data.dense_features": 13})


def zoo(name, title, peer, batch=16, steps=5, keys=None):
    """A network of the zoo at 224 px; `peer` is its name in torchvision or timm."""
    return Case(name, f"{title}, 224 px, batch {batch}", steps,
                {"model.name": name, "model.classes": 1000, "data.image_size": 224, "data.batch_size": batch,
                 "data.augment": "none", "train.optimizer.name": "momentum", **(keys or {})},
                ["vision_peer.py", "--model", peer, "--size", 224, "--batch", batch], 3)


def gpt2(length, batch, steps):
    return Case("gpt2", f"GPT-2, length {length}, batch {batch}", steps,
                {"model.name": "gpt2", "model.classes": 1, "model.vocab_size": 50257, "data.max_length": length,
                 "data.batch_size": batch, "train.optimizer.name": "adamw", "train.optimizer.lr": 5e-5},
                ["gpt2_peer.py", "--length", length, "--batch", batch], 3)


def llama(name, what, rank, length, batch, steps):
    lora = {"model.lora.rank": rank, "model.lora.alpha": 2 * rank} if rank else {}
    return Case(name, f"SmolLM2-135M, {what}, length {length}, batch {batch}", steps,
                {"model.name": "llama", "model.classes": 1, "model.size": "135m", "model.vocab_size": 49152, "data.max_length": length,
                 "data.batch_size": batch, "train.optimizer.name": "adamw", "train.optimizer.lr": 1e-4, **lora},
                ["llama_peer.py", "--length", length, "--batch", batch, "--lora", rank], 3)


BASE = {"model.size": "base", "model.vocab_size": 30522}
LARGE = {"model.size": "large", "model.vocab_size": 30522}
CASES = {
    "cpu": [
        resnet(224, 16, 8),
        resnet(64, 32, 20),
        bert("bert-base", "BERT-base", "base", BASE, 128, 8, 8),
        bert("minilm-l6", "MiniLM-L6", "minilm-l6",
             {"model.weights": "weights/all-minilm-l6-v2/model.safetensors",  # scripts/fetch_weights.sh
              "data.vocab": "weights/all-minilm-l6-v2/vocab.txt"}, 64, 32, 16),
    ],
    # The other networks, measured with --zoo or --cases.
    "zoo": [
        zoo("resnet50_vd", "ResNet-50-D", "resnet50d", keys={"model.stem": "imagenet"}),
        zoo("resnext50_32x4d", "ResNeXt-50 32x4d", "resnext50_32x4d", keys={"model.stem": "imagenet"}),
        zoo("wide_resnet50_2", "Wide ResNet-50-2", "wide_resnet50_2", keys={"model.stem": "imagenet"}),
        zoo("mobilenet_v1", "MobileNetV1", "mobilenetv1_100", keys={"model.stem": "imagenet"}),
        zoo("mobilenet_v2", "MobileNetV2", "mobilenet_v2", keys={"model.stem": "imagenet"}),
        zoo("mobilenet_v3_large", "MobileNetV3-Large", "mobilenet_v3_large", keys={"model.stem": "imagenet"}),
        zoo("vgg16", "VGG16", "vgg16"),
        zoo("vgg16_bn", "VGG16 with batch norms", "vgg16_bn"),
        zoo("efficientnet_b0", "EfficientNet-B0", "efficientnet_b0", keys={"model.stem": "imagenet"}),
        zoo("regnet_y_400mf", "RegNetY-400MF", "regnet_y_400mf", keys={"model.stem": "imagenet"}),
        zoo("convnext_tiny", "ConvNeXt-T", "convnext_tiny"),
        zoo("vit_b_16", "ViT-B/16", "vit_b_16", batch=8),
        zoo("deit_small", "DeiT-S", "deit_small_patch16_224"),
        encoder("distilbert", "DistilBERT", "DistilBert", "distil", 30522),
        encoder("roberta", "RoBERTa-base", "Roberta", "base", 50265),
        encoder("ernie", "ERNIE 3.0 base", "Ernie", "base", 40000),
        gpt2(256, 4, 5),
        llama("llama", "all weights", 0, 512, 2, 5),
        llama("llama-lora", "LoRA of rank 16", 16, 512, 2, 5),
        clips(112, 8, 5),
        detection("retinanet", "RetinaNet", 320, 2, 8),
        detection("maskrcnn", "Mask R-CNN", 320, 2, 4),
        pixels(256, 4, 5),
        clicks("wide_deep", "Wide & Deep", 9, 512, 200),
        clicks("ctr_dnn", "CTR-DNN", 10, 512, 200),
        clicks("deepfm", "DeepFM", 9, 512, 200),
        clicks("dlrm_dcnv2", "DLRM-DCNv2", 64, 512, 30),
        bags("dlrm_dcnv2", "DLRM-DCNv2", 64, 512, 30, 10),
        bags("deepfm", "DeepFM", 9, 512, 30, 77),  # 1,000 words a sample on average
    ],
    "cuda": [
        resnet(224, 256, 40, 12),
        bert("bert-base", "BERT-base", "base", BASE, 128, 128, 60, 12),
        bert("bert-large", "BERT-large", "large", LARGE, 384, 32, 30, 12),
    ],
}


def read_output(command):
    """What a program prints; empty where it fails or is not installed."""
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def end_on_signal(number, _):
    """The measurement that runs is ended; the table of those before it is printed."""
    raise KeyboardInterrupt(f"signal {number}")


def missing_files(case):
    """Files that a case needs and this machine lacks."""
    return [value for key, value in case.keys.items() if key in ("model.weights", "data.vocab") and not (ROOT / value).exists()]


def ptrain_command(options, case, precision, config):
    """Trains into the folder "run" in the run's own."""
    keys = case.ptrain_keys(options.device, precision, options.threads)
    config.write_text("model: {name: %s, classes: %d}\ndata: {source: synthetic}\n"
                      % (keys["model.name"], keys["model.classes"]))
    overrides = [part for key, value in keys.items() for part in ("-o", f"{key}={value}")]
    return [options.ptrain, "run", config, "--device", options.device, "--out", "{folder}/run", "--progress", "none", *overrides]


def peer_command(options, case, precision, peer):
    """The command of one peer; empty when it does not have this case."""
    common = ["--dtype", AMP[options.device][precision][2], "--steps", case.steps, "--warmup", case.warmup]
    scripts = ROOT / "scripts/peers"
    if peer == "jax":
        return [options.jax_python, scripts / "jax_peer.py", *case.jax, *common] if case.jax and precision != "O2" else []
    command = [options.zentorch_python if peer == "zentorch" else options.python, scripts / case.peer[0], *case.peer[1:],
               *common, "--device", options.device, "--threads", options.threads]
    if peer == "eager":
        return command
    return command + ["--compile", *(["--backend", peer] if peer == "zentorch" else ["--compile-mode", options.compile_mode])]


def join(command):
    """As a line for a shell."""
    return shlex.join(str(part) for part in command)


def make_suite(options, case, precision, config):
    """The suite that `ptrain bench` runs: a command for each contestant."""
    cases = [{"name": "ptrain", "command": join(ptrain_command(options, case, precision, config)),
              "metric": "report:{folder}/run/report.json"}]
    for peer in options.variants:
        command = peer_command(options, case, precision, peer)
        if command:
            preload = ["env", f"LD_PRELOAD={options.preload}"] if options.preload else []
            kept = "{folder}/output.txt"  # ptrain bench keeps the output of runs that fail alone
            cases.append({"name": peer, "command": f"{join([*preload, *command])} > {kept} && cat {kept}",
                          "metric": "json:samples_per_second", "unit": "samples/s"})
    return {"name": f"{case.name}-{precision}", "cases": cases, "repeats": options.repeats,
            "timeout_seconds": options.limit or 7200, "steady": {"required": False}}


def read_run(contestant, folder):
    """A run's figures as this file's results have them, or its error."""
    record = json.loads((folder / "record.json").read_text())
    if record["status"] not in ("ok", "unstable"):
        return {"error": record["message"]}
    if contestant == "ptrain":
        data = json.loads((folder / "run/report.json").read_text())
        return {"samples_per_second": data["throughput"]["value"], "peak_bytes": data["memory"]["measured_peak_bytes"],
                "planned_peak_bytes": data["memory"].get("planned_peak_bytes"),
                "step_ms": data.get("latency_ms", {}).get("step")}
    lines = [line for line in (folder / "output.txt").read_text().splitlines() if line.startswith("{")]
    data = json.loads(lines[-1])
    return {key: data[key] for key in ("samples_per_second", "peak_bytes", "baseline_bytes", "step_ms", "framework")}


def measure(options, case, precision, folder):
    """Runs the suite, as far as it gets, and returns the runs of each contestant and whether it was interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    suite, runs, interrupted = folder / "suite.yaml", folder / "bench", False
    suite.write_text(json.dumps(make_suite(options, case, precision, folder / "run.yaml"), indent=1))  # JSON is YAML
    bench = subprocess.Popen([str(options.ptrain), "bench", str(suite), "--out", str(runs)], stdout=subprocess.DEVNULL, cwd=ROOT)
    try:
        code = bench.wait()
    except KeyboardInterrupt:
        interrupted, code = True, 0
        bench.terminate()  # it ends the run that is under way
        bench.wait()
    found = {contestant: [read_run(contestant, path.parent) for path in sorted(runs.glob(f"runs/{contestant}/*/record.json"))]
             for contestant in ("ptrain", *options.variants)}
    if code and not found["ptrain"]:
        found["ptrain"] = [{"error": f"ptrain bench: exit code {code}"}]
    return found, interrupted


def find_allocator():
    """PyTorch's tuning guide advises tcmalloc or jemalloc; the system's own is kept when neither is installed."""
    listing = read_output(["ldconfig", "-p"])
    for library in ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libjemalloc.so.2"):
        for line in listing.splitlines():
            if line.strip().startswith(library + " "):
                return line.split("=>")[1].strip()
    return ""


def describe_gpu():
    query = ["nvidia-smi", "--id=0", "--query-gpu=name,driver_version,memory.total,power.limit,clocks.max.sm",
             "--format=csv,noheader"]
    return read_output(query) or "unknown: nvidia-smi failed"


def describe_machine(options):
    cpu = {}
    for line in read_output(["lscpu"]).splitlines():
        key, _, value = line.partition(":")
        cpu[key.strip()] = value.strip()
    flags = cpu.get("Flags", "").split()
    memory = next((line.split()[1] for line in open("/proc/meminfo") if line.startswith("MemTotal")), "0")
    gpu = describe_gpu() if options.device == "cuda" else ""
    return {"gpu": gpu, "cpu": cpu.get("Model name", platform.processor()), "cores": len(os.sched_getaffinity(0)),
            "threads": options.threads or len(os.sched_getaffinity(0)),
            "isa": [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16") if flag in flags],
            "memory_bytes": int(memory) * 1024, "kernel": platform.release(), "commit": read_output(["git", "-C", ROOT, "rev-parse", "HEAD"]),
            "pytorch_allocator": options.preload or "glibc", "date": datetime.date.today().isoformat()}


def summary(runs):
    """Per contestant the median speed and the extremes of memory over its good runs; empty when none was good."""
    good = [run for run in runs if "error" not in run]
    if not good:
        return {}
    peaks = [run["peak_bytes"] for run in good if run["peak_bytes"]]
    return {"speed": statistics.median(run["samples_per_second"] for run in good),
            "least": min(peaks, default=None), "most": max(peaks, default=None)}


def get_peers(entry):
    """Summaries of the peers that ran, by name."""
    return {name: summary(entry[name]) for name in PEERS if summary(entry.get(name, []))}


def comparison(entry):
    """(speed, the fastest peer's speed, peak memory over the peers' smallest); None where either failed."""
    ours, peers = summary(entry["ptrain"]), get_peers(entry).values()
    if not ours or not peers:
        return None
    return ours["speed"], max(peer["speed"] for peer in peers), ours["most"] / min(peer["least"] for peer in peers)


def brief_table(results):
    lines = ["| Training | precision | ptrain samples/s | best peer's samples/s | speed | peak memory, ptrain over the least |",
             "| --- | --- | ---: | ---: | ---: | ---: |"]
    for entry in results["cases"]:
        compared = comparison(entry)
        cells = ["-"] * 4
        if compared:
            ours, peer, memory = compared
            cells = [f"{ours:.1f}", f"{peer:.1f}", f"{ours / peer:.2f}x", f"{memory:.2f}x"]
        lines.append("| " + " | ".join([entry["title"], entry["precision"], *cells]) + " |")
    return "\n".join(lines)


def table(results):
    machine = results["machine"]
    frameworks = {run["framework"] for entry in results["cases"] for name in PEERS for run in entry.get(name, [])
                  if "framework" in run}
    shown = [name for name in PEERS if any(entry.get(name) for entry in results["cases"])]
    lines = [f"{machine['gpu'] + '; ' if machine.get('gpu') else ''}{machine['cpu']}, {machine['threads']} threads, {' '.join(machine['isa'])}; "
             f"{', '.join(sorted(frameworks))}, allocator {os.path.basename(machine['pytorch_allocator'])}; "
             f"{machine['date']}", "",
             f"| Training | precision | ptrain /s | peers /s ({', '.join(shown)}) | speed | ptrain memory | least of peers "
             "| memory | planned |", "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for entry in results["cases"]:
        ours, peers, compared = summary(entry["ptrain"]), get_peers(entry), comparison(entry)
        rates = ", ".join(f"{peers[name]['speed']:.1f}" if name in peers else "-" for name in shown)
        cells = [entry["title"], entry["precision"], f"{ours['speed']:.1f}" if ours else "failed", rates]
        if compared:
            _, best, memory = compared
            planned = [run["planned_peak_bytes"] for run in entry["ptrain"] if run.get("planned_peak_bytes")]
            cells += [f"**{ours['speed'] / best:.2f}x**", f"{ours['most'] / 2**20:.0f} MiB",
                      f"{ours['most'] / memory / 2**20:.0f} MiB", f"{memory:.2f}x",
                      f"{max(planned) / ours['most']:.2f}x" if planned else "-"]
        else:
            cells += ["-"] * 5
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def parse_options():
    venv = pathlib.Path(os.environ.get("PTRAIN_PEERS_VENV", ROOT / ".deps/peers"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptrain", default=ROOT / "build/release/bin/ptrain", help="the binary")
    parser.add_argument("--python", default=venv / "bin/python", help="of the environment that setup.sh makes")
    for name in ("zentorch", "jax"):
        parser.add_argument(f"--{name}-python", default=f"{venv}-{name}/bin/python", help="setup.sh --all makes it")
    parser.add_argument("--device", choices=list(AMP), default="cpu")
    parser.add_argument("--cases", nargs="+", choices=sorted({case.name for cases in CASES.values() for case in cases}),
                        help="default: all of the device")
    parser.add_argument("--zoo", action="store_true", help="the other networks instead of the default four")
    parser.add_argument("--precisions", nargs="+", choices=list(AMP["cuda"]), default=list(AMP["cpu"]))
    parser.add_argument("--variants", nargs="+", choices=PEERS, default=PEERS[:2])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="0: all cores")
    parser.add_argument("--preload", default=None, help="allocator library for PyTorch; '' for none; default: the best found")
    parser.add_argument("--limit", type=float, help="seconds for each process; default: two hours")
    parser.add_argument("--compile-mode", help="torch.compile's; default: max-autotune on a GPU, default on a CPU")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for the results")
    parser.add_argument("--runs", type=pathlib.Path, help="folder to keep the runs in, for ptrain table and to continue; default: none")
    parser.add_argument("--table", type=pathlib.Path, help="print the table of this file and do nothing else")
    parser.add_argument("--brief", action="store_true", help="with --table: fewer columns")
    options = parser.parse_args()
    missing = set(options.precisions) - set(AMP[options.device])
    if missing and not options.table:
        parser.error(f"--precisions: {', '.join(sorted(missing))} is of --device cuda alone")
    options.compile_mode = options.compile_mode or ("max-autotune" if options.device == "cuda" else "default")
    options.ptrain, options.python = (pathlib.Path(path).absolute() for path in (options.ptrain, options.python))
    if options.preload is None:
        options.preload = find_allocator()
    return options


def measure_all(options, results):
    """Adds the cases to `results` as they are measured, and keeps its file up to date. Whether all were."""
    cases = CASES[options.device] + CASES["zoo"] if options.cases else CASES["zoo" if options.zoo else options.device]
    for case in (case for case in cases if not options.cases or case.name in options.cases):
        missing = missing_files(case)
        if missing:
            error = f"{', '.join(missing)} not found; scripts/fetch_weights.sh fetches the weights"
            print(f"{case.name}: {error}", file=sys.stderr)
            results["cases"].append({"case": case.name, "title": case.title, "precision": "all", "keys": case.keys,
                                     "peer": case.peer, "ptrain": [{"error": error}]})
            continue
        for precision in options.precisions:
            found, interrupted = measure(options, case, precision, options.runs / f"{case.name}-{precision}")
            results["cases"].append({"case": case.name, "title": case.title, "precision": precision, "keys": case.keys,
                                     "peer": case.peer, **found})
            if options.out:
                options.out.parent.mkdir(parents=True, exist_ok=True)
                options.out.write_text(json.dumps(results, indent=1) + "\n")
            if interrupted:
                return False
    return True


def main():
    options = parse_options()
    if options.table:
        print((brief_table if options.brief else table)(json.loads(options.table.read_text())))
        return 0
    for needed, remedy in ((options.ptrain, "build it first"), (options.python, "run scripts/peers/setup.sh")):
        if not pathlib.Path(needed).exists():
            sys.exit(f"{needed} does not exist: {remedy}")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_on_signal)
    results = {"schema": "ptrain.peers/1", "machine": describe_machine(options), "cases": []}
    with tempfile.TemporaryDirectory() as temporary:
        options.runs = options.runs or pathlib.Path(temporary)
        whole = measure_all(options, results)
    if not whole:
        print("interrupted: the table shows what was measured until then", file=sys.stderr)
    print(table(results))
    failed = any("error" in run for entry in results["cases"] for name in ("ptrain", *PEERS)
                 for run in entry.get(name, []))
    return 0 if whole and not failed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # not while a suite ran
        sys.exit(130)
