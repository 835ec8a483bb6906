#!/usr/bin/env python3
"""Brings what a measurement wrote into the form that results/ keeps: short enough to read in a diff, with every figure.

  scripts/keep_results.py FILE...                  # rewrites JSON and JSON lines in place
  scripts/keep_results.py --fold SWEEP_FOLDER      # writes SWEEP_FOLDER.jsonl: a line for the suite and for each run
  scripts/keep_results.py --unfold SWEEP.jsonl OUT # makes the folder again, for ptrain effects, table and compare
  scripts/keep_results.py --check FILE...          # changes nothing, and names those that are in another form

Figures are kept to eight digits. A report loses its list of kernels, a comparison with peers the percentiles of step times
(of inference: keys, queries, memory and in all rounds but the first the program's name), and losses of 200 steps all but
the first and the last 20, which their table takes. A folded sweep has the suite, the record of each run, and the first
report, which says what was measured and where.
"""
import argparse
import json
import pathlib
import sys

WIDTH = 160
DIGITS = 8  # of a measured figure
SHOWN_LOSSES = 20  # of which scripts/zoo.py takes the mean


def rounded(value):
    """`value` with its figures to DIGITS significant digits, which is more than any of them is good for."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


def one_line(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def lay_out(value, room=WIDTH, indent=""):
    """JSON that has on one line what fits one; of what does not, as many members fill a line as it holds."""
    text = one_line(value)
    if len(text) <= room or not isinstance(value, (dict, list)):
        return text
    inner = indent + " "
    names = [one_line(key) + ":" for key in value] if isinstance(value, dict) else [""] * len(value)
    items = value.values() if isinstance(value, dict) else value
    room = WIDTH - len(inner) - 1  # the comma after it
    lines, full = [], True
    for name, item in zip(names, items, strict=True):
        part = name + lay_out(item, room - len(name), inner)
        alone = "\n" in part
        if full or alone or len(lines[-1]) + len(part) + 1 > room:
            lines.append(part)
        else:
            lines[-1] += "," + part
        full = alone
    ends = "{}" if isinstance(value, dict) else "[]"
    return f"{ends[0]}\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}{ends[1]}"


def reduce_document(document):
    """`document` without what no table and no page reads."""
    if not isinstance(document, dict):
        return document
    schema = str(document.get("schema", ""))
    if schema.startswith("ptrain.report/"):
        return {**document, "kernels": []}
    if schema.startswith("ptrain.peers/"):
        for run in (run for case in document["cases"] for runs in case.values() if isinstance(runs, list) for run in runs):
            if isinstance(run, dict):
                run.pop("step_ms", None)
    if schema.startswith("ptrain.infer_peers/"):
        for case in document["cases"]:
            case.pop("keys", None)
            for number, run in ((number, run) for runs in case["runs"].values() for number, run in enumerate(runs)):
                for key in ("queries", "peak_bytes", *(["runtime"] if number > 0 else [])):
                    run.pop(key, None)
    if schema.startswith("ptrain.zoo/") and document["command"] == "levels":
        for levels in document["models"].values():
            for run in levels.values():
                reduce_losses(run)
    return document


def reduce_losses(run):
    losses = run.get("losses") if isinstance(run, dict) else None
    if losses and len(losses) > SHOWN_LOSSES + 1:
        run["losses"] = losses[:1] + losses[-SHOWN_LOSSES:]


def kept_text(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return "".join(one_line(rounded(json.loads(line))) + "\n" for line in text.splitlines())
    return lay_out(rounded(reduce_document(json.loads(text)))) + "\n"


def fold(folder):
    """The lines of a sweep's folder: {"file": its path in the folder, "content": ...}."""
    runs = sorted((folder / "runs").glob("*/*/record.json"))
    cases = json.loads((folder / "suite.json").read_text(encoding="utf-8"))["cases"]
    reports = [path for case in cases for path in sorted((folder / "runs" / case["folder"]).glob("*/report.json"))]
    for path in (folder / "suite.json", *reports[:1], *runs):
        content = rounded(reduce_document(json.loads(path.read_text(encoding="utf-8"))))
        yield one_line({"file": path.relative_to(folder).as_posix(), "content": content}) + "\n"


def unfold(file, folder):
    for line in file.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        path = folder / entry["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(entry["content"], indent=2) + "\n", encoding="utf-8")


def check(files):
    others = [path for path in files if path.read_text(encoding="utf-8") != kept_text(path)]
    for path in others:
        print(f"{path}: run scripts/keep_results.py {path}", file=sys.stderr)
    return 1 if others else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--fold", type=pathlib.Path, metavar="SWEEP_FOLDER")
    parser.add_argument("--unfold", nargs=2, type=pathlib.Path, metavar=("SWEEP.jsonl", "OUT"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        return check(options.files)
    for path in options.files:
        path.write_text(kept_text(path), encoding="utf-8")
    if options.fold:
        folder = options.fold.resolve()
        folder.with_name(folder.name + ".jsonl").write_text("".join(fold(folder)), encoding="utf-8")
    if options.unfold:
        unfold(*options.unfold)
    return 0


if __name__ == "__main__":
    sys.exit(main())
