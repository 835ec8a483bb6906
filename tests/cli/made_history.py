"""Writes sweeps as a benchmark leaves them, with figures that are given: histories for the tests and for tests/trust."""
import datetime
import json
import shutil
import zlib

from frozen import FROZEN

RECORD = json.loads((FROZEN / "runs/base/00/record.json").read_text())
SUITE = json.loads((FROZEN / "suite.json").read_text())


def get_time(day):
    return (datetime.datetime(2026, 1, 1) + datetime.timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


METRICS = {
    "perplexity": {"title": "perplexity", "unit": "", "kind": "amount", "higher_is_better": False, "standard_error": None},
    "pearson": {"title": "Pearson", "unit": "", "kind": "score", "higher_is_better": True, "standard_error": 0.01},
}


def evaluation(metric, value):
    """The form of an evaluation in version 2 of reports and records."""
    return {"primary": metric, "names": [metric], "eval_samples": 1500,
            "metrics": {metric: {**METRICS[metric], "value": value}}}


def second_version(record, evaluated):
    """A record of version 1 as one of version 2 that evaluated so."""
    measured = {key: value for key, value in record["measured"].items() if key not in ("top1", "eval_samples")}
    return {**record, "schema": "ptrain.bench_run/2", "measured": {**measured, "evaluation": evaluated}}


def throughput(mean_ms):
    if mean_ms == 0:
        return RECORD["measured"]["throughput"]
    seconds = RECORD["measured"]["step_ms"]["count"] * mean_ms / 1000
    samples = RECORD["measured"]["throughput"]["samples"]
    return {**RECORD["measured"]["throughput"], "value": samples / seconds, "seconds": seconds}


def of_run(value, repeat):
    """The run's own of a list, or what is the same for all runs."""
    return value[repeat] if isinstance(value, list) else value


def write_sweep(folder, day, step_ms, memory_mib=100, top1=None, machine=None, versions=None, binary="one", evaluated=None,
                cases=("base",), stalls=1.0):
    """A sweep of `cases`, each with a run for each of `step_ms`, measured on `day` of a year. Replaces an earlier one.

    `step_ms`: None where the run failed. `top1` and `stalls`, the mean step over the typical one: of all runs, or a list of
    one for each. Sweeps of one day ran in rounds with each other."""
    shutil.rmtree(folder, ignore_errors=True)
    sweep = f"{get_time(day)} seed 1"
    suite = {**SUITE, "suite": "made", "about": "", "sweep": sweep, "binary": binary,
             "software": {"versions": versions or {}}, "machine": {**SUITE["machine"], **(machine or {})},
             "cases": [{"name": case, "folder": case, "settings": {}, "config_hash": "c", "work": {}} for case in cases]}
    folder.mkdir(parents=True)
    (folder / "suite.json").write_text(json.dumps(suite))
    for case in cases:
        for repeat, ms in enumerate(step_ms):
            record = {**RECORD, "suite": "made", "case": case, "settings": {}, "config_hash": "c", "sweep": sweep,
                      "binary": binary, "repeat": repeat, "started": get_time(day),
                      "wall_seconds": 1 + zlib.crc32(f"{binary} {case} {day} {repeat}".encode()) / 2**32}  # one of its own
            if ms is None:
                record = {**record, "status": "error", "exit_code": 3, "message": "made to fail", "measured": None}
            else:
                record["measured"] = {**RECORD["measured"], "typical_step_ms": ms,
                                      "throughput": throughput(ms * of_run(stalls, repeat)),
                                      "memory_bytes": int(memory_mib * 2**20), "top1": of_run(top1, repeat)}
            record = second_version(record, evaluated) if evaluated else record
            run = folder / f"runs/{case}/{repeat:02}"
            run.mkdir(parents=True)
            (run / "record.json").write_text(json.dumps(record))
