"""The frozen sweep that comparisons and tables are tested on: eighty runs that `ptrain bench` measured once.

frozen/ has its suite, one record and one report whole, and of every run what differs from them (runs.jsonl). FROZEN is the
folder that `ptrain bench` wrote, made again for this process.

    tests/cli/frozen.py SWEEP_FOLDER    # freezes another sweep in its place
"""
import copy
import json
import pathlib
import sys
import tempfile

KEPT = pathlib.Path(__file__).parent / "frozen"
_temporary = tempfile.TemporaryDirectory(prefix="ptrain-frozen-")
FROZEN = pathlib.Path(_temporary.name) / "frozen"


def changed(document, difference):
    """`document` with the members that `difference` sets and without those that it removes, by their JSON pointers."""
    document = copy.deepcopy(document)
    changes = [(pointer, value, False) for pointer, value in difference.get("set", {}).items()]
    for pointer, value, removed in changes + [(pointer, None, True) for pointer in difference.get("remove", [])]:
        *way, last = pointer.split("/")[1:]
        inner = document
        for part in way:
            inner = inner[part]
        if removed:
            del inner[last]
        else:
            inner[last] = value
    return document


def make(folder):
    suite, record, report = (json.loads((KEPT / name).read_text()) for name in ("suite.json", "record.json", "report.json"))
    write(folder / "suite.json", suite)
    for line in (KEPT / "runs.jsonl").read_text().splitlines():
        run = json.loads(line)
        write(folder / "runs" / run["run"] / "record.json", changed(record, run["record"]))
        if "report" in run:
            write(folder / "runs" / run["run"] / "report.json", changed(report, run["report"]))


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


def differences(base, document, pointer=""):
    """What changed() makes `document` of `base` by."""
    found = {"set": {}, "remove": []}
    for key in {**base, **document}:
        here = f"{pointer}/{key}"
        if key not in document:
            found["remove"].append(here)
        elif isinstance(base.get(key), dict) and isinstance(document[key], dict):
            below = differences(base[key], document[key], here)
            found["set"].update(below["set"])
            found["remove"] += below["remove"]
        elif key not in base or base[key] != document[key]:
            found["set"][here] = document[key]
    return found


def freeze(folder):
    def read(path):
        return json.loads(path.read_text())

    records = sorted(folder.glob("runs/*/*/record.json"))
    reports = sorted(folder.glob("runs/*/*/report.json"))
    for path, name in ((folder / "suite.json", "suite.json"), (records[0], "record.json"), (reports[0], "report.json")):
        write(KEPT / name, read(path))
    with open(KEPT / "runs.jsonl", "w", encoding="utf-8") as file:
        for path in records:
            run = {"run": path.parent.relative_to(folder / "runs").as_posix(), "record": differences(read(records[0]), read(path))}
            if path.with_name("report.json") in reports:
                run["report"] = differences(read(reports[0]), read(path.with_name("report.json")))
            print(json.dumps(run, separators=(",", ":")), file=file)


if __name__ == "__main__":
    freeze(pathlib.Path(sys.argv[1]))
else:
    make(FROZEN)
