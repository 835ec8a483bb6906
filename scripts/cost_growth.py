#!/usr/bin/env python3
"""How a step's time and memory grow with batch, image size, sequence length, threads and ranks: a table and a plot.

  scripts/cost_growth.py --out results/MACHINE/cost_growth [--rounds 2] [--program build/release/bin/ptrain]
  scripts/cost_growth.py --table FOLDER       # table and plot of a saved measurement

Each series changes one thing and leaves the rest: ResNet-50 in images of 64 px and batches of 8, a BERT of 4 layers of 512 in
batches of 8 sequences, both fp32 on made-up data. Rounds go through all points by turns; the median over the rounds of a
run's median step counts. "Order" is the exponent of growth from one point to the next: 1 is linear; of images it is by their
number of pixels. Writes cost_growth.json after each run, and cost_growth.svg.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = {"model.name": "resnet50", "model.classes": 1000, "model.stem": "imagenet", "data.image_size": 64, "data.batch_size": 8,
          "data.augment": "none"}
TEXT = {"model.name": "bert", "model.size": "small", "model.classes": 2, "model.vocab_size": 30522, "data.max_length": 64,
        "data.batch_size": 8}
# name -> (what changes, its points, how much work a point is, keys that stay, keys that change)
SERIES = {
    "images": ("batch", (1, 2, 4, 8, 16, 32, 64), lambda n: n, IMAGES, lambda n: {"data.batch_size": n}),
    "pixels": ("pixels", (32, 64, 96, 128, 160, 224), lambda n: n * n, IMAGES, lambda n: {"data.image_size": n}),
    "sequences": ("batch", (1, 2, 4, 8, 16, 32, 64), lambda n: n, TEXT, lambda n: {"data.batch_size": n}),
    "tokens": ("length", (32, 64, 128, 256, 512), lambda n: n, TEXT, lambda n: {"data.max_length": n}),
    "threads": ("threads", (1, 2), lambda n: n, IMAGES | {"data.batch_size": 16}, lambda n: {"threads": n}),
    "ranks": ("ranks", (1, 2), lambda n: n, IMAGES, lambda n: {"dist.ranks": n, "threads": n}),
}
TITLES = {"images": "ResNet-50, 64 px: images of a batch", "pixels": "ResNet-50, batch 8: image size, px",
          "sequences": "BERT-small, 64 tokens: sequences of a batch", "tokens": "BERT-small, batch 8: tokens of a sequence",
          "threads": "ResNet-50, 64 px, batch 16: threads", "ranks": "ResNet-50, 64 px, 8 images a rank: ranks of one thread"}


def measure(options, keys):
    """{step_ms, peak_mib} of one run, or its error."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "run.yaml")
        config.write_text(f"model: {{name: {keys['model.name']}, classes: {keys['model.classes']}}}\ndata: {{source: synthetic}}\n")
        settled = {"amp.level": "O0", "train.steps": 16, "train.measure_after_steps": 4, "eval.every_epochs": 0, "output.save": "false",
                   "data.synthetic_samples": 16 * keys["data.batch_size"], **keys}
        overrides = [word for key, value in settled.items() for word in ("-o", f"{key}={value}")]
        done = subprocess.run([options.program, "run", config, "--device", "cpu", "--out", folder, "--progress", "none", *overrides],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
        report = json.loads(pathlib.Path(folder, "report.json").read_text(encoding="utf-8"))
    options.cpu = report["environment"]["cpu"]
    return {"step_ms": report["latency_ms"]["step"]["p50"], "peak_mib": report["memory"]["measured_peak_bytes"] / 2**20}


def measure_all(options):
    results = {"series": {name: {str(n): [] for n in points} for name, (_, points, *_) in SERIES.items()}}
    for _ in range(options.rounds):
        for name, (_, points, _, stays, changes) in SERIES.items():
            for n in points:
                outcome = measure(options, stays | changes(n))
                print(f"{name} {n}: {outcome}", file=sys.stderr)
                results["series"][name][str(n)].append(outcome)
                results["cpu"] = getattr(options, "cpu", None)
                (options.out / "cost_growth.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def points_of(results, name):
    """[(point, its work, ms, MiB)] of those that were measured."""
    found = []
    for n, runs in results["series"][name].items():
        good = [run for run in runs if "error" not in run]
        if good:
            found.append((int(n), SERIES[name][2](int(n)), statistics.median(run["step_ms"] for run in good),
                          statistics.median(run["peak_mib"] for run in good)))
    return found


def order(before, after, value):
    return math.log(after[value] / before[value]) / math.log(after[1] / before[1])


def table(results):
    lines = []
    for name in SERIES:
        lines += [f"**{TITLES[name]}**", "", f"| {SERIES[name][0]} | step, ms | order | memory, MiB | order |",
                  "| ---: | ---: | ---: | ---: | ---: |"]
        before = None
        for point in points_of(results, name):
            orders = [f"{order(before, point, value):.2f}" if before else "" for value in (2, 3)]
            lines.append(f"| {point[0]} | {point[2]:.1f} | {orders[0]} | {point[3]:.0f} | {orders[1]} |")
            before = point
        lines.append("")
    return "\n".join(lines)


def panel(results, name, left, top, width, height):
    """Time and memory over the work, both axes logarithmic, as multiples of the first point; dashed: linear."""
    points = points_of(results, name)
    work = [point[1] / points[0][1] for point in points]
    lines = [("#1f6fb4", "time", [point[2] / points[0][2] for point in points]),
             ("#c8561e", "memory", [point[3] / points[0][3] for point in points])]
    largest = max(work[-1], *(value for _, _, values in lines for value in values), 2)
    least = min(1, *(value for _, _, values in lines for value in values))
    def x(value):
        return left + width * math.log(value) / math.log(max(work[-1], 2))
    def y(value):
        return top + height - height * math.log(value / least) / math.log(largest / least)
    parts = [f'<text x="{left}" y="{top - 10}" font-weight="bold">{TITLES[name]}</text>',
             f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#999"/>',
             f'<line x1="{x(1)}" y1="{y(1):.1f}" x2="{x(work[-1]):.1f}" y2="{y(work[-1]):.1f}" stroke="#999" stroke-dasharray="4 4"/>']
    for point, share in zip(points, work, strict=True):
        parts.append(f'<text x="{x(share):.1f}" y="{top + height + 14}" text-anchor="middle">{point[0]}</text>')
    for colour, label, values in lines:
        places = [(x(share), y(value)) for share, value in zip(work, values, strict=True)]
        parts.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in places)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in places]
        end = places[-1]
        parts.append(f'<text x="{end[0] + 6:.1f}" y="{end[1] + 4:.1f}" fill="{colour}">{label} {values[-1]:.1f}x</text>')
    return parts


def plot(results):
    width, height, across = 300, 190, 3
    parts = []
    for at, name in enumerate(SERIES):
        parts += panel(results, name, 30 + at % across * (width + 110), 40 + at // across * (height + 70), width, height)
    rows = (len(SERIES) + across - 1) // across
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{across * (width + 110) + 20}" height="{rows * (height + 70) + 20}" '
            'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>' + "\n".join(parts) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, help="folder for measurement and plot")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain")
    parser.add_argument("--table", type=pathlib.Path, help="folder of a saved measurement")
    options = parser.parse_args()
    folder = options.table or options.out
    if folder is None:
        parser.error("--out or --table is needed")
    if options.table:
        results = json.loads((folder / "cost_growth.json").read_text(encoding="utf-8"))
    else:
        folder.mkdir(parents=True, exist_ok=True)
        results = measure_all(options)
    (folder / "cost_growth.svg").write_text(plot(results), encoding="utf-8")
    print(table(results))
    failed = [run["error"] for points in results["series"].values() for runs in points.values() for run in runs if "error" in run]
    if failed:
        sys.exit(f"{len(failed)} runs failed: {failed[0]}")


if __name__ == "__main__":
    main()
