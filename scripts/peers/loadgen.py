#!/usr/bin/env python3
"""Runs MLPerf's LoadGen on libptrain and compares its summary with that of ptrain bench infer.

  pip install mlcommons-loadgen
  PTRAIN_LIBRARY=PREFIX/lib/libptrain.so scripts/peers/loadgen.py MODEL --scenario single_stream --rounds 4

Both measure the same kernels with the same policy, alternately: a server takes all waiting samples, at most --batch at
once. For server, LoadGen starts at 5 % above ptrain's rate and goes down in steps of 1 % until it calls a run valid,
each time with arrivals from another seed; both results are the rate at which samples arrived, which differs slightly
from the requested one by chance.
"""
import argparse
import ctypes
import itertools
import json
import math
import pathlib
import queue
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading

try:
    import mlperf_loadgen as lg
except ImportError:
    lg = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/python"))
from ptrain import IMAGES, INT32, UINT8, LOGITS, Model, Tensor  # noqa: E402

SEEDS = itertools.count(1)
SAMPLES = 1024  # of the library that LoadGen draws from; all have the same size and take the same time
SCENARIOS = {"single_stream": "SingleStream", "multi_stream": "MultiStream", "server": "Server", "offline": "Offline"}
RESULT = {  # the line of LoadGen's summary, and its unit against ptrain's
    "single_stream": (r"^90(?:\.0+)?(?:th)? percentile latency \(ns\) *: *([0-9.]+)", 1e-6),
    "multi_stream": (r"^99(?:\.0+)?(?:th)? percentile latency \(ns\) *: *([0-9.]+)", 1e-6),
    "server": (r"^Scheduled samples per second *: *([0-9.]+)", 1), "offline": (r"^Samples per second *: *([0-9.]+)", 1)}


class Question:
    """Synthetic inputs in batches of that size, reused for all queries."""

    def __init__(self, model, count):
        about, draw = model.about, random.Random(count)
        if about.kind == IMAGES:
            shape, kind, names = (count, *model.inputs["images"][1][-3:]), UINT8, [b"images"]
            self.data = (ctypes.c_uint8 * math.prod(shape)).from_buffer_copy(draw.randbytes(math.prod(shape)))
        else:
            shape, kind, names = (count, about.max_length), INT32, [b"input_ids"]
            self.data = (ctypes.c_int32 * (count * about.max_length))(
                *(draw.randrange(about.vocabulary) for _ in range(count * about.max_length)))
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.inputs = (Tensor * 1)(Tensor(names[0], kind, len(shape), self.shape, ctypes.addressof(self.data)))
        self.values = (ctypes.c_float * (count * about.classes))()

    def ask(self, model):
        model.check(model.library.ptrain_run(model.handle, self.inputs, 1, LOGITS, self.values, len(self.values)))


class Answerer:
    """Answers LoadGen's queries: in its own thread or, for server, in one that takes all waiting samples."""

    def __init__(self, model, scenario, batch):
        self.model, self.scenario, self.batch = model, scenario, batch
        self.questions = {count: Question(model, count) for count in range(1, batch + 1)}
        for question in self.questions.values():  # compiles plans before anything is measured
            question.ask(model)
            question.ask(model)
        self.waiting = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def answer(self, ids):
        self.questions[len(ids)].ask(self.model)
        lg.QuerySamplesComplete([lg.QuerySampleResponse(id_, 0, 0) for id_ in ids])

    def issue(self, samples):
        ids = [sample.id for sample in samples]
        if self.scenario == "server":
            for id_ in ids:
                self.waiting.put(id_)
            return
        for start in range(0, len(ids), self.batch):
            self.answer(ids[start : start + self.batch])

    def serve(self):
        while True:
            ids = [self.waiting.get()]
            while len(ids) < self.batch and not self.waiting.empty():
                ids.append(self.waiting.get())
            self.answer(ids)


def loadgen(answerer, arguments, rate):
    """LoadGen's summary of one run; `rate` in samples/s is server's, and what offline's duration is planned by."""
    settings = lg.TestSettings()
    settings.scenario, settings.mode = getattr(lg.TestScenario, SCENARIOS[arguments.scenario]), lg.TestMode.PerformanceOnly
    settings.min_duration_ms = int(arguments.seconds * 1000)
    settings.min_query_count = {"single_stream": 100, "multi_stream": 662, "server": 662, "offline": 1}[arguments.scenario]
    settings.server_target_qps = settings.offline_expected_qps = rate
    settings.schedule_rng_seed = next(SEEDS)
    if arguments.bound:
        settings.server_target_latency_ns = int(arguments.bound * 1e6)
    with tempfile.TemporaryDirectory() as folder:
        output = lg.LogOutputSettings()
        output.outdir, output.copy_summary_to_stdout = folder, False
        log = lg.LogSettings()
        log.log_output, log.enable_trace = output, False
        system = lg.ConstructSUT(answerer.issue, lambda: None)
        library = lg.ConstructQSL(SAMPLES, SAMPLES, lambda _: None, lambda _: None)
        lg.StartTestWithLogSettings(system, library, settings, log)
        lg.DestroyQSL(library)
        lg.DestroySUT(system)
        return (pathlib.Path(folder) / "mlperf_log_summary.txt").read_text()


def figure(scenario, summary):
    pattern, scale = RESULT[scenario]
    found = re.search(pattern, summary, re.M)
    if found is None:
        sys.exit(f"error: LoadGen's summary has no line for {scenario}:\n{summary}")
    return float(found[1]) * scale


def ptrain_report(arguments):
    command = [arguments.program, "bench", "infer", arguments.model, "--scenario", arguments.scenario, "--json",
               "--seconds", str(arguments.seconds), "--batch", str(arguments.batch)]
    if arguments.bound:
        command += ["--bound", str(arguments.bound)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(result.stdout)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", metavar="MODEL", help="folder that ptrain export wrote")
    parser.add_argument("--scenario", choices=SCENARIOS, default="single_stream")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--batch", type=int, default=32, help="samples at once, of offline and at most of server")
    parser.add_argument("--bound", type=float, help="of server, in ms; needed there")
    parser.add_argument("--rounds", type=int, default=1, help="of both, in turns")
    parser.add_argument("--program", default=ROOT / "build/release/bin/ptrain")
    arguments = parser.parse_args()
    if arguments.scenario == "server" and not arguments.bound:
        parser.error("--scenario server needs --bound")
    if lg is None:
        sys.exit("LoadGen is missing: pip install mlcommons-loadgen")
    return arguments


def main():
    arguments = parse()
    at_once = {"single_stream": 1, "multi_stream": 8}.get(arguments.scenario, arguments.batch)
    answerer, pairs = None, []
    for _ in range(arguments.rounds):
        report = ptrain_report(arguments)  # first: it chooses the kernels, and LoadGen's run finds them in the cache
        answerer = answerer or Answerer(Model(arguments.model, max_batch=at_once, search=1), arguments.scenario, at_once)
        rate = 1.05 * report["result"] if arguments.scenario == "server" else report["samples_per_second"]
        summary = loadgen(answerer, arguments, rate)
        while arguments.scenario == "server" and "Result is : VALID" not in summary:
            rate *= 0.99
            summary = loadgen(answerer, arguments, rate)
        pairs.append((report["result"], figure(arguments.scenario, summary)))
        print(summary)
        print(f"ptrain bench infer: {pairs[-1][0]:.4g} ({report['metric']}); LoadGen: {pairs[-1][1]:.4g}; "
              f"ratio {pairs[-1][1] / pairs[-1][0]:.4f}", flush=True)
    ratios = [theirs / ours for ours, theirs in pairs]
    print(f"{arguments.scenario}: LoadGen over ptrain, median of {len(ratios)}: {statistics.median(ratios):.4f} "
          f"({min(ratios):.4f} to {max(ratios):.4f})")


if __name__ == "__main__":
    main()
