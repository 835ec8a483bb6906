#!/usr/bin/env python3
"""Validates ptrain on an NVIDIA GPU that can be had for minutes, rung by rung; each rung leaves evidence.

    gpu_validate.py RUNG... [--out DIR] [--seconds N] [--cache ARCHIVE] [--filter TESTS] [--cases CASES] [--tiny]

Rungs, in the order in which a new machine is climbed (minutes):
    contact (1.5)   every device test, a process for each suite: operations, whole models against the CPU, steps in place
                    and apart, recorded and launched, bit for bit
    headline (5)    ResNet-50 224 px, BERT-base 128 and BERT-large 384 without a search; times by op
    mended (2)      the device tests of --filter alone, after a mend
    search (9)      exhaustive search, fusion, persistent batch norm on and off
    peers (6)       the same work in PyTorch, eager; peers_compiled (9): compiled; --cases: these of compare.py alone
    truth (7)       500 steps beside the CPU's, out of memory, overflows, resuming, compute-sanitizer
    deployed (5)    inference, nvJPEG, other networks

Runs from the folder that scripts/package.sh tar --cuda makes, or from the source tree, without a network. Every step is
a process group of its own with a time limit, and is watched rather than waited for: a step that hangs, crashes or leaves
the GPU in error ends alone. DIR (results/<gpu>) gets summary.txt, device.json, logs.tar.gz (logs and reports) and
cache.tar.gz (what searches chose and compiled, for --cache of the next climb), renewed every 20 seconds, so that nothing
is lost when this script is killed. --seconds N is the time for all rungs together; default: the sum of theirs. Exit code
1: a step failed. Environment: PTRAIN_BUILD, the build folder (build/cuda); PTRAIN_PROGRAM and PTRAIN_DEVICE_TEST, other
programs than that folder's; PTRAIN_PYTHON, the Python for the peers. --tiny: small models and few steps, to try this
script without a GPU.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
MINUTES = {"contact": 1.5, "headline": 5, "mended": 2, "search": 9, "peers": 6, "peers_compiled": 9, "truth": 7, "deployed": 5}
MOST_BYTES = 15 << 20  # of an archive
FIRST = "DeviceMemory|RecordedSequence"  # suites on which everything stands
SHARE_MEMORY = ("LayerNorm|RmsNorm|GroupNorm|CrossEntropy|SquaredError|GradNorm|Reduce|TopK|Detect|Balanced|FocalLoss|Sparse|Embedding|"
                "MuonUpdate|OptimizerUpdate|BatchNorm(Parts)?\\.|NormalizeImage|LinearGradInput|Dropout\\.|Agreement")
OF_LIBRARIES = "Conv2d|Attention|BatchNormGuard|InPlace|RestoredPlans|KernelSearch|Deployment|DeviceDecoder"  # little is ptrain's
RESNET = "model: {name: resnet50, classes: 1000}\ndata: {source: synthetic, augment: none}\ntrain: {optimizer: {name: momentum}}\n"
BERT = ("model: {name: bert, classes: 2, vocab_size: 30522}\ndata: {source: synthetic}\n"
        "train: {optimizer: {name: adamw, lr: 2.0e-5}}\n")


stopped = threading.Event()  # by SIGTERM


def stop(*_):
    stopped.set()
    sys.exit(143)


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Ladder:
    def __init__(self, options):
        self.tiny, self.filter = options.tiny, options.filter
        self.cases = ["--cases", *options.cases] if options.cases else []
        self.begin = time.monotonic()
        self.deadline = self.begin + (options.seconds or 60 * sum(MINUTES[rung] for rung in options.rungs)) - 5
        self.rung_end = self.deadline
        self.out = options.out or ROOT / "results" / gpu_name()
        self.out.mkdir(parents=True, exist_ok=True)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="gpu_validate."))
        self.logs, self.runs = self.work / "logs", self.work / "runs"
        self.logs.mkdir()
        (self.work / "cache").mkdir()
        if options.cache:
            with tarfile.open(options.cache) as archive:
                archive.extractall(self.work, filter="data")
        built = ROOT if (ROOT / "bin/ptrain").exists() else pathlib.Path(os.environ.get("PTRAIN_BUILD", ROOT / "build/cuda"))
        self.ptrain = os.environ.get("PTRAIN_PROGRAM", str(built / "bin/ptrain"))
        self.device_test = os.environ.get("PTRAIN_DEVICE_TEST", str(built / "bin/device_test"))
        self.python = os.environ.get("PTRAIN_PYTHON", "python3")
        self.environment = {**os.environ, "PTRAIN_CACHE_DIR": str(self.work / "cache"), "PTRAIN_SOURCE_DIR": str(ROOT),
                            "CUDA_MODULE_LOADING": "LAZY", "PYTHONUNBUFFERED": "1", "LD_LIBRARY_PATH": library_path()}
        self.lines, self.failed, self.dead = [], [], False
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.packer = threading.Thread(target=self.pack_repeatedly, daemon=True)
        self.packer.start()

    def say(self, state, name, text=""):
        """One line of the summary; a failure is remembered."""
        with self.lock:
            if state in ("FAILED", "TIMEOUT"):
                self.failed.append(name)
            self.lines.append(f"{time.monotonic() - self.begin:5.0f} s  {state:8} {name} {text}".rstrip())
            print(self.lines[-1], flush=True)
            (self.out / "summary.txt").write_text("\n".join(self.lines) + "\n")

    def pack(self):
        for name in ("logs", "cache"):
            part = self.work / f"{name}.part"
            with tarfile.open(part, "w:gz") as archive:
                for file in sorted((self.work / name).rglob("*")):
                    try:
                        archive.add(file, file.relative_to(self.work), recursive=False)
                    except OSError:  # it went meanwhile
                        continue
            if part.stat().st_size <= MOST_BYTES:
                shutil.copy(part, self.out / f".{name}.tar.gz")
                os.replace(self.out / f".{name}.tar.gz", self.out / f"{name}.tar.gz")

    def pack_repeatedly(self):
        while not self.ending.wait(20):
            self.pack()

    def step(self, name, seconds, *command, expect=0, **environment):
        """Runs a command for at most that long, with its output in logs/NAME.log; returns whether it ended with `expect`,
        None when no time was left for it."""
        seconds = min(1000 if self.tiny else seconds, self.rung_end - time.monotonic())
        if self.dead or seconds < 3:
            self.say("no time" if not self.dead else "skipped", name)
            return None
        begin, log = time.monotonic(), self.logs / f"{name}.log"
        try:
            with open(log, "wb") as output:
                process = subprocess.Popen(list(map(str, command)), stdout=output, stderr=subprocess.STDOUT,
                                           stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent, cwd=ROOT,
                                           env={**self.environment, **environment})
        except OSError as error:
            self.say("FAILED", name, str(error))
            return False
        if stopped.is_set():  # while it was forked, when Python only reports what stop() raises
            sys.exit(143)
        status = wait(process, seconds)
        for kill in (signal.SIGTERM, signal.SIGKILL):
            if status is None:
                os.killpg(process.pid, kill)
                if wait(process, 2) is not None:  # where the driver holds it, it stays behind
                    break
        taken = f"({time.monotonic() - begin:.0f} s)"
        if status is None:
            self.say("TIMEOUT", name, f"({seconds:.0f} s)")
        elif status != expect:
            self.say("FAILED", name, f"({describe(status)}) {taken} {first_complaint(log)}")
        else:
            self.say("ok", name, taken)
        return status == expect

    def check(self, name, good, text):
        self.say("ok" if good else "FAILED", name, text)

    def together(self, calls):
        at_once = min(8, max(2, len(os.sched_getaffinity(0)) // 2))
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(lambda call: call(), calls))

    def test(self, name, seconds, tests, *launcher):
        good = self.step(name, seconds, *launcher, self.device_test, f"--gtest_filter={tests}", "--gtest_brief=1")
        alive = lambda again="": self.step(f"alive{again}_after_{name}", 20, self.device_test,
                                           "--gtest_filter=RecordedSequenceOnDevice.IsRecordedOnceAndReplayed")
        if good is False and not self.tiny and not self.dead and alive() is False and alive("_again") is False:
            self.dead = True  # every later step would only say so again
        return good

    def train(self, name, seconds, config, *keys, device="cuda", resume=False):
        """A run on synthetic data; its report is logs/NAME.json, its losses come back (empty: it failed)."""
        file, run = self.work / f"{name}.yaml", self.runs / name
        file.write_text(config)
        overrides = [word for key in ("eval.every_epochs=0", "output.save=false", *keys) for word in ("-o", key)]
        self.step(name, seconds, self.ptrain, "run", file, "--device", device, "--progress", "none", "--out", run, "--report",
                  self.logs / f"{name}.json", *(("--resume", "auto") if resume else ("--fresh",)), *overrides)
        metrics = run / "metrics.jsonl"
        if not metrics.exists():
            return []
        shutil.copy(metrics, self.logs / f"{name}.metrics.jsonl")
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        return [line["loss"] for line in lines if "loss" in line and "step" in line and "eval" not in line]

    def resnet(self, name, seconds, *keys, steps=150):
        return self.train(name, seconds, self.resnet_config(), *self.resnet_size(), *self.long(steps), *keys)

    def resnet_config(self):
        return RESNET.replace("resnet50", "mobilenet_v2") if self.tiny else RESNET

    def resnet_size(self):
        if self.tiny:
            return ["data.image_size=32", "data.batch_size=2"]
        return ["data.image_size=224", "data.batch_size=256", "data.synthetic_samples=1024"]

    def bert(self, name, seconds, size, length, batch, *keys, steps=150):
        if self.tiny:
            sizes = ["model.size=tiny", "model.vocab_size=200", "data.max_length=16", "data.batch_size=2"]
        else:
            sizes = [f"model.size={size}", f"data.max_length={length}", f"data.batch_size={batch}", "data.synthetic_samples=2048"]
        return self.train(name, seconds, BERT, *sizes, *self.long(steps), *keys)

    def long(self, steps):
        """Keys of a run that is timed."""
        if self.tiny:
            return ["train.steps=4", "train.measure_after_steps=2", "data.synthetic_samples=8", "train.schedule.name=constant"]
        return [f"train.steps={steps}", f"train.measure_after_steps={min(30, steps // 3)}", "train.schedule.name=constant",
                f"data.workers={max(2, len(os.sched_getaffinity(0)) - 2)}"]

    def suites(self):
        """The suites of device_test; of those that train whole networks or try many shapes, the tests."""
        listing = subprocess.run([self.device_test, "--gtest_list_tests"], env=self.environment, capture_output=True, text=True,
                                 timeout=60).stdout
        found, suite, apart = [], "", None
        for line in listing.splitlines():
            if not line.startswith(" "):
                suite = line.split("#")[0].strip()
                apart = re.search(r"Training|Golden|LibraryAgreement|Conv2dCases", suite)
                if not apart:
                    found.append(suite + "*")
            elif apart:
                found.append(suite + line.split("#")[0].strip())
        # What everything stands on first, whole networks last.
        return sorted((test for test in found if "." in test),
                      key=lambda test: ("Training" in test, "Golden" in test, not re.match(FIRST, test)))

    def contact(self):
        if shutil.which("nvidia-smi"):
            self.step("nvidia_smi", 10, "nvidia-smi", "-q", "-i", "0")
        if self.step("describe_gpu", 20, self.ptrain, "doctor", "--describe-gpu"):
            shutil.copy(self.logs / "describe_gpu.log", self.out / "device.json")
        tests = self.suites()
        if self.tiny:
            tests = [test for test in tests if re.match(f"{FIRST}|LossScale", test)]
        alone = [test for test in tests if re.match(FIRST, test)]  # one takes all memory
        for test in alone:
            self.test(step_name("test", test), 60, test)
        self.together([lambda test=test: self.test(step_name("test", test), 60, test) for test in tests if test not in alone])
        self.step("doctor", 40, self.ptrain, "doctor")

    def mended(self):
        for test in self.filter:
            self.test(step_name("again", test), 100, test)

    def headline(self):
        fp16, bf16 = ["amp.level=O1", "amp.dtype=fp16"], ["amp.level=O1", "amp.dtype=bf16"]
        plain = ["flags.cudnn_exhaustive_search=false"]
        fused = ["fusion=always", *plain]  # off would leave even a norm, its addition and its ReLU apart
        self.resnet("resnet50_O1_fp16", 75, *fp16, *fused)
        self.bert("bert_base_O1_fp16", 45, "base", 128, 128, *fp16, *plain)
        self.bert("bert_large_O1_fp16", 60, "large", 384, 64, *fp16, *plain)
        self.resnet("resnet50_O1_fp16_ops", 45, *fp16, *fused, "output.per_op=true", steps=60)
        self.bert("bert_base_O1_fp16_ops", 45, "base", 128, 128, *fp16, *plain, "output.per_op=true", steps=60)
        self.resnet("resnet50_O1_bf16", 75, *bf16, *fused)
        self.bert("bert_base_O2_fp16", 45, "base", 128, 128, "amp.level=O2", "amp.dtype=fp16", *plain)
        self.resnet("resnet50_O2_fp16", 75, "amp.level=O2", "amp.dtype=fp16", *fused)
        self.bert("bert_base_O1_bf16", 45, "base", 128, 128, *bf16, *plain)

    def search(self):
        fp16 = ["amp.level=O1", "amp.dtype=fp16"]
        self.resnet("resnet50_search", 240, *fp16, "fusion=off")
        self.sweep("flags", 250, {"flags.cudnn_exhaustive_search": [False, True], "flags.cudnn_batchnorm_spatial_persistent": [False, True]},
                   "fusion=off", *fp16)
        self.sweep("fusion", 200, {"fusion": ["off", "always", "full"]}, "flags.cudnn_exhaustive_search=false", *fp16)
        self.bert("bert_base_search", 60, "base", 128, 128, *fp16)
        self.bert("bert_base_packed", 60, "base", 128, 128, *fp16, "data.padding=none")

    def sweep(self, name, seconds, axes, *keys):
        """`ptrain bench` over ResNet-50; effects_NAME.log has what the axes do, also where time ran out."""
        config, suite = self.work / f"{name}.config.yaml", self.work / f"{name}.yaml"
        config.write_text(self.resnet_config())
        settings = [*self.resnet_size(), *self.long(60), "eval.every_epochs=0", "output.save=false", "device=cuda", *keys]
        plan = {"name": name, "config": str(config), "set": {}, "axes": axes, "repeats": 3, "seed": 1, "timeout_seconds": 200}
        if self.tiny:
            plan |= {"axes": {key: values[:2] for key, values in list(axes.items())[:1]}, "repeats": 1,
                     "steady": {"required": False}}
            settings.append("train.steps=10")
        suite.write_text(json.dumps(plan))  # JSON is YAML
        overrides = [word for key in settings for word in ("-o", key)]
        if self.step(f"bench_{name}", seconds, self.ptrain, "bench", suite, "--out", self.logs / name, *overrides) is not None:
            self.step(f"effects_{name}", 20, self.ptrain, "effects", self.logs / name)

    def compare_peers(self, variant, seconds, precisions):
        script = ROOT / "scripts/peers/compare.py"
        if not self.step(f"peers_{variant}", seconds, self.python, script, "--device", "cuda", "--ptrain", self.ptrain, "--python",
                         shutil.which(self.python) or self.python, "--precisions", *precisions, "--variants", variant, "--repeats",
                         2 if variant == "eager" else 1, "--preload", "", "--limit", 120, "--compile-mode", "reduce-overhead", "--out",
                         self.logs / f"peers_{variant}.json", *self.cases, FLAGS_cudnn_exhaustive_search="false"):
            return
        for line in (self.logs / f"peers_{variant}.log").read_text().splitlines()[-12:]:
            self.say("", line)

    def peers(self):
        self.compare_peers("eager", 340, ("O1", "O1-bf16"))

    def peers_compiled(self):
        self.compare_peers("compiled", 530, ("O1",))

    def truth(self):
        """All at once: nothing is timed."""
        sanitizer = shutil.which("compute-sanitizer", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
        if sanitizer is None:
            self.say("skipped", "compute-sanitizer", "not installed")
        small = [*self.long(8), "train.measure_after_steps=0", "train.log_every_steps=1", "flags.cudnn_exhaustive_search=false",
                 "deterministic=true", "threads=8", "data.workers=2", "model.classes=10",
                 *(("data.image_size=16", "data.batch_size=2", "data.synthetic_samples=4") if self.tiny else
                   ("data.image_size=32", "data.batch_size=32", "data.synthetic_samples=64"))]
        self.together([lambda: self.curve(small), lambda: self.resumed(small), lambda: self.overflow(small), self.out_of_memory,
                       *(self.sanitized(sanitizer) if sanitizer else ())])

    def small_resnet(self, name, seconds, steps, *keys, **options):
        return self.train(name, seconds, RESNET.replace("resnet50", "resnet18"), *keys, f"train.steps={steps}", **options)

    def curve(self, small):
        steps = 6 if self.tiny else 500
        gpu, cpu = self.together([lambda device=device: self.small_resnet(f"curve_{device}", 300, steps, *small, "amp.level=O0",
                                                                          device=device) for device in ("cuda", "cpu")])
        self.check("curve", *curves_agree(gpu, cpu, steps))

    def resumed(self, small):
        whole = self.small_resnet("resume_whole", 60, 8, *small, "output.save=true")
        for stop, resume in ((4, False), (8, True)):
            parts = self.small_resnet("resume_parts", 60, stop, *small, "output.save=true", resume=resume)
        self.check("resume", bool(whole) and whole == parts, "the losses of one run" if whole == parts else f"{whole} {parts}")

    def overflow(self, small):
        self.small_resnet("overflow", 60, 12, *small, "amp.level=O1", "amp.dtype=fp16", "amp.scaler.init=16777216")
        skipped = find_value(self.logs / "overflow.json", "skipped_steps")
        self.check("overflow_skips_steps", bool(skipped), f"skipped {skipped}")

    def out_of_memory(self):
        self.step("out_of_memory", 60, self.ptrain, "run", ROOT / "configs/quick/resnet18_synthetic.yaml", "--device", "cuda", "--progress",
                  "none", "--out", self.runs / "memory", "-o", "data.image_size=224", "-o", "data.batch_size=1000000", expect=1)
        log = self.logs / "out_of_memory.log"
        said = log.read_text() if log.exists() else ""
        self.check("out_of_memory_says_what_fits", "by the memory plan" in said and "would fit" in said, said.strip()[:100])

    def sanitized(self, program):
        """Calls that run the operations' tests under compute-sanitizer: all by memcheck, and by the other tools those of own
        kernels whose threads share memory. Several suites share a process, which takes long to start."""
        suites = [suite for suite in self.suites() if suite.endswith("*") and not re.search(f"{FIRST}|{OF_LIBRARIES}", suite)]
        sharing = [suite for suite in suites if re.search(SHARE_MEMORY, suite)]
        for tool, tests, parts in (("racecheck", sharing, 3), ("synccheck", sharing, 1), ("initcheck", sharing, 3),
                                   ("memcheck", suites, 8)):
            for part in range(parts):
                chosen = ":".join(tests[part::parts])
                yield lambda tool=tool, part=part, chosen=chosen: self.test(
                    f"{tool}_{part}", 200, chosen, program, "--tool", tool, "--error-exitcode", "9", "--print-limit", "20")

    def deployed(self):
        quick = ["flags.cudnn_exhaustive_search=false", "fusion=off", "output.save=true", "train.steps=1", "train.measure_after_steps=0"]
        self.resnet("answer", 40, *quick, *(() if self.tiny else ("data.batch_size=64",)))
        for level in ("O2", "O0"):
            for scenario, batch in (("offline", 2 if self.tiny else 128), ("single_stream", 1)):
                self.step(f"infer_{level}_{scenario}", 40, self.ptrain, "bench", "infer", self.runs / "answer", "--device", "cuda", "--amp",
                          level, "--batch", batch, "--scenario", scenario, "--seconds", 0 if self.tiny else 5, "--json")
            if self.tiny:
                return
        for fp8 in ("false", "true"):  # wherever sizes allow it: nothing is searched
            self.bert(f"bert_large_fp8_{fp8}_ops", 60, "large", 384, 64, "amp.level=O1", "amp.dtype=bf16", f"flags.fp8={fp8}",
                      "flags.cudnn_exhaustive_search=false", "output.per_op=true", steps=60)
        self.test("decoder", 60, "DeviceDecoder*")
        for network in ("mobilenet_v3_large", "efficientnet_b0", "convnext_tiny", "vit_b_16", "retinanet_resnet50_fpn"):
            self.train(f"zoo_{network}", 30, RESNET.replace("resnet50", network), "data.image_size=224", "data.batch_size=64",
                       "amp.level=O1", "flags.cudnn_exhaustive_search=false", *self.long(60))

    def table(self):
        """The runs' figures, at most 60 lines."""
        reports = sorted(file for file in self.logs.glob("*.json") if "kernels" in file.read_text()[:1 << 20])
        if not reports:
            return
        result = subprocess.run([self.ptrain, "table", *reports, "--format", "markdown", "--columns",
                                 "run,precision,speed,step,memory,mfu,datasheet,status"], env=self.environment, capture_output=True,
                                text=True, timeout=60)
        (self.logs / "table.md").write_text(result.stdout)
        for line in result.stdout.splitlines()[:60]:
            self.say("", line)

    def climb(self, rungs):
        try:
            for rung in rungs:
                self.say("==", rung)
                if not self.tiny:  # what one rung hangs on takes nothing from the next
                    self.rung_end = min(self.deadline, time.monotonic() + 90 * MINUTES[rung])
                getattr(self, rung)()
                if self.dead:
                    self.say("FAILED", "gpu", "it no longer runs a small test: the rest is left out")
                    break
            self.table()
        finally:
            self.ending.set()
            self.packer.join()
            self.say("end", f"{len(self.failed)} failed", " ".join(self.failed))
            self.pack()
            shutil.rmtree(self.work, ignore_errors=True)
        return 1 if self.failed else 0


def step_name(kind, tests):
    return f"{kind}_" + re.sub(r"\W+", "_", tests).strip("_")


def gpu_name():
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return "no-gpu"
    result = subprocess.run([smi, "--id=0", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
    return re.sub(r"[^a-z0-9]+", "-", result.stdout.strip().lower()).strip("-") or "no-gpu"


def library_path():
    """LD_LIBRARY_PATH with CUDA's libraries where the loader does not find them."""
    script = f". '{ROOT}/scripts/cuda_paths.sh' && printf %s \"$LD_LIBRARY_PATH\""
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60).stdout


def wait(process, seconds):
    """The exit status; None when it has not ended by then."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def describe(status):
    return signal.Signals(-status).name if status < 0 else f"exit code {status}"


def first_complaint(log):
    text = log.read_bytes()[-1 << 20:].decode(errors="replace")
    found = re.search(r"^.*(error|fail|terminate|what\(\)).*$", text, re.I | re.M)
    return found[0].strip()[:150] if found else ""


def curves_agree(gpu, cpu, steps):
    """Whether two loss curves begin alike and end alike, and the figures that say so."""
    if len(gpu) != steps or len(cpu) != steps:
        return False, f"{len(gpu)} and {len(cpu)} of {steps} steps"
    apart = lambda a, b: abs(a - b) / max(abs(b), 0.05)
    first = max(apart(a, b) for a, b in zip(gpu[:5], cpu[:5]))
    tail = max(1, steps // 10)
    last = apart(sum(gpu[-tail:]) / tail, sum(cpu[-tail:]) / tail)
    return first < 5e-3 and last < 0.1, f"first steps {first:.1e} apart, last tenth {last:.1e}"


def find_value(file, key):
    """The first value of a key anywhere in a JSON file; None without one."""
    def search(node):
        if isinstance(node, dict):
            if node.get(key) is not None:
                return node[key]
            node = list(node.values())
        if isinstance(node, list):
            return next((found for found in map(search, node) if found is not None), None)
        return None
    return search(json.loads(file.read_text())) if file.exists() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rungs", nargs="+", choices=MINUTES, metavar="RUNG")
    parser.add_argument("--out", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--filter", nargs="+", default=[], metavar="TESTS")
    parser.add_argument("--cases", nargs="+", default=[])
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    if "mended" in options.rungs and not options.filter:
        parser.error("mended: expected --filter with the device tests that were red")
    signal.signal(signal.SIGTERM, stop)
    sys.exit(Ladder(options).climb(options.rungs))


if __name__ == "__main__":
    main()
