#!/usr/bin/env python3
"""Trains GRU4Rec on session logs with its authors' PyTorch code and with ptrain, from several seeds each, and prints recall@20,
MRR@20 and seconds of training.

    git clone https://github.com/hidasib/GRU4Rec_PyTorch_Official
    scripts/peers/gru4rec_peer.py LOG.csv --authors GRU4Rec_PyTorch_Official --separator ';' \
        --columns session_id item_id eventdate timeframe

Items that occur less often than --least-events and sessions of one item are left out; the last sessions, by when they begin, are
held out. Both have one layer and one table for both ends, and the same rate, dropout and epochs. The authors train --lanes sessions
side by side, an event of each at a time, end gradients at each event, and learn by cross entropy against --drawn items and those
of the batch; ptrain takes whole sessions, --sessions at a time, and learns by cross entropy against all items unless --negatives
draws some for each. Items that score the same as the next one count against it in both. Needs numpy, pandas and
torch.
"""
import argparse
import collections
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = """\
model: {{name: gru4rec, embedding_size: {units}, dropout: {dropout}}}
data: {{source: sessions, path: {folder}, train_file: train.csv, dev_file: dev.csv, max_length: {max_length},
       batch_size: {sessions}, negatives: {negatives}, workers: 1}}
train:
  epochs: {epochs}
  clip_norm: 1.0  # else the first steps, of Adagrad from nothing, ruin some seeds
  logq: {logq}
  optimizer: {{name: adagrad, lr: {lr}, initial_accumulator: 1.0e-6, epsilon: 1.0e-12, weight_decay: 0}}
  schedule: {{name: constant}}
eval: {{every_epochs: {epochs}}}
threads: {threads}
"""


def read_events(options):
    """(session, item, time) of each row; times are numbered."""
    def value(text):
        return float(text) if text.replace(".", "", 1).isdigit() else text
    session, item, *times = options.columns
    with options.log.open(newline="") as file:
        rows = [(int(row[session]), int(row[item]), [value(row[time]) for time in times])
                for row in csv.DictReader(file, delimiter=options.separator)]
    rows.sort(key=lambda row: row[2])
    return [(session, item, number) for number, (session, item, _) in enumerate(rows)]


def drop_rare(events, least):
    while True:
        items, sessions = (collections.Counter(event[i] for event in events) for i in (1, 0))
        kept = [event for event in events if items[event[1]] >= least and sessions[event[0]] > 1]
        if len(kept) == len(events):
            return kept
        events = kept


def split(events, held_out):
    """Events to learn from and to evaluate on, sorted."""
    begins = {}
    for session, _, when in events:
        begins[session] = min(begins.get(session, when), when)
    order = sorted(begins, key=lambda session: (begins[session], session))
    last = set(order[len(order) - max(1, round(len(order) * held_out)):])
    known = {item for session, item, _ in events if session not in last}
    parts = ([event for event in events if event[0] not in last],
             drop_rare([event for event in events if event[0] in last and event[1] in known], 1))
    return [sorted(part, key=lambda event: (begins[event[0]], event[0], event[2])) for part in parts]


def write(path, events):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("SessionId", "ItemId", "Time"), *events])


def train_authors(options, folder, seed):
    sys.path.insert(0, str(options.authors))
    import evaluation
    import gru4rec_pytorch
    import numpy
    import pandas
    import torch
    torch.set_num_threads(options.threads)
    torch.manual_seed(seed)
    numpy.random.seed(seed)
    learnt, held_out = (pandas.read_csv(folder / name) for name in ("train.csv", "dev.csv"))
    # The authors write for a pandas whose series torch.tensor() takes.
    gru4rec_pytorch.torch.tensor = lambda data, *rest, make=torch.tensor, **others: make(numpy.asarray(data), *rest, **others)
    model = gru4rec_pytorch.GRU4Rec(
        layers=[options.units], batch_size=options.lanes, dropout_p_hidden=options.dropout, learning_rate=options.lr,
        sample_alpha=0.75, n_sample=options.drawn, n_epochs=options.epochs, logq=1,
        device=torch.device("cpu"))
    begin = time.perf_counter()
    drawn_ahead = 2_000 * options.drawn  # of ten million otherwise, which take longer than small data
    model.fit(learnt, sample_cache_max_size=drawn_ahead, compatibility_mode=False)
    seconds = time.perf_counter() - begin
    recall, rank = evaluation.batch_eval(model, held_out, batch_size=min(512, held_out.SessionId.nunique()), mode="conservative")
    return {"recall_at_20": float(recall[20]), "mrr_at_20": float(rank[20]), "seconds": seconds}


def train_ptrain(options, folder, seed):
    config = folder / "config.yaml"
    names = ("units", "dropout", "sessions", "max_length", "negatives", "epochs", "lr", "threads")
    config.write_text(CONFIG.format(folder=folder, logq=1 if options.negatives else 0,
                                    **{name: getattr(options, name) for name in names}))
    subprocess.run([options.ptrain, "run", config, "--out", folder / f"run-{seed}", "-o", f"seed={seed}", "--progress", "none"],
                   check=True, capture_output=True)
    metrics = json.loads((folder / f"run-{seed}/report.json").read_text())["evaluation"]["metrics"]
    lines = map(json.loads, (folder / f"run-{seed}/metrics.jsonl").read_text().splitlines())
    return {**{name: metrics[name]["value"] for name in ("recall_at_20", "mrr_at_20")},
            "seconds": sum(sum(line.get("steps_ms", ())) for line in lines) / 1000}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=pathlib.Path, help="a table with a row for each event")
    parser.add_argument("--authors", type=pathlib.Path, required=True, help="folder of their code")
    parser.add_argument("--columns", nargs="+", default=["SessionId", "ItemId", "Time"],
                        help="of session, item and time; a time may take several, such as day and time of day")
    parser.add_argument("--separator", default=",")
    parser.add_argument("--least-events", type=int, default=5, help="of an item")
    parser.add_argument("--held-out", type=float, default=0.1, help="share of the sessions")
    parser.add_argument("--units", type=int, default=100)
    parser.add_argument("--lanes", type=int, default=32, help="the authors' batch: events")
    parser.add_argument("--sessions", type=int, default=8, help="ptrain's batch")
    parser.add_argument("--max-length", type=int, default=20, help="of ptrain's sessions; longer ones are cut into parts")
    parser.add_argument("--negatives", type=int, default=0, help="items that ptrain draws for each session; 0: it learns against all")
    parser.add_argument("--drawn", type=int, default=512, help="items that the authors' code draws for each batch")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--dropout", type=float, default=0.2, help="of states")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ptrain", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain", help="the binary")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for the results")
    return parser.parse_args()


def main():
    options = parse_options()
    parts = split(drop_rare(read_events(options), options.least_events), options.held_out)
    counts = [{"events": len(part), "sessions": len({event[0] for event in part}), "items": len({event[1] for event in part})}
              for part in parts]
    print(f"to learn from {counts[0]}, held out {counts[1]}", file=sys.stderr)
    results = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, part in zip(("train.csv", "dev.csv"), parts):
            write(folder / name, part)
        for seed in range(1, options.seeds + 1):
            for name, train in (("ptrain", train_ptrain), ("authors", train_authors)):
                results[name].append({"seed": seed, **train(options, folder, seed)})
                print(name, results[name][-1], file=sys.stderr)
    for name, runs in results.items():
        print(name, *(f"{key} {statistics.mean(run[key] for run in runs):.4f}" for key in ("recall_at_20", "mrr_at_20", "seconds")))
    if options.out:
        options.out.write_text(json.dumps({"data": counts, "runs": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
