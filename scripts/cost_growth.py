#!/usr/bin/env python3
"""Orders of growth and a plot from the records of configs/bench/cost_growth.yaml.

  build/release/bin/ptrain bench configs/bench/cost_growth.yaml --out FOLDER
  scripts/cost_growth.py FOLDER        # prints a table of each series, writes FOLDER/cost_growth.svg

Values are medians over the runs of a case. "Order" is the exponent of growth from one point to the next: 1 is linear;
for image sizes it is by the number of pixels.
"""
import collections
import json
import math
import pathlib
import statistics
import sys

# name -> (title, the varied key, the work of a point)
SERIES = {
    "images": ("ResNet-50, 64 px: images of a batch", "batch", lambda n: n),
    "pixels": ("ResNet-50, batch 8: image size, px", "pixels", lambda n: n * n),
    "sequences": ("BERT, 4 layers of 512, 64 tokens: sequences of a batch", "batch", lambda n: n),
    "tokens": ("BERT, 4 layers of 512, batch 8: tokens of a sequence", "length", lambda n: n),
    "threads": ("ResNet-50, 64 px, batch 16: threads", "threads", lambda n: n),
    "ranks": ("ResNet-50, 64 px, 8 images a rank: ranks of one thread", "ranks", lambda n: n),
}


def read(folder):
    """series -> [(point, its work, ms of a step, MiB at the peak)], in order."""
    found = {name: collections.defaultdict(list) for name in SERIES}
    for path in folder.glob("runs/*/*/record.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["status"] == "ok":
            name, point = record["case"].split()
            found[name][int(point)].append(record["measured"])
    return {name: [(n, SERIES[name][2](n), statistics.median(run["typical_step_ms"] for run in runs),
                    statistics.median(run["memory_bytes"] for run in runs) / 2**20) for n, runs in sorted(points.items())]
            for name, points in found.items() if points}


def order(before, after, value):
    return math.log(after[value] / before[value]) / math.log(after[1] / before[1])


def table(series):
    lines = []
    for name, points in series.items():
        title, axis, _ = SERIES[name]
        lines += [f"**{title}**", "", f"| {axis} | step, ms | order | memory, MiB | order |", "| ---: | ---: | ---: | ---: | ---: |"]
        for before, point in zip([None, *points], points):
            orders = [f"{order(before, point, value):.2f}" if before else "" for value in (2, 3)]
            lines.append(f"| {point[0]} | {point[2]:.1f} | {orders[0]} | {point[3]:.0f} | {orders[1]} |")
        lines.append("")
    return "\n".join(lines)


def panel(title, points, left, top, width, height):
    """Time and memory over the work, both axes logarithmic, as multiples of the first point; dashed: linear."""
    work = [point[1] / points[0][1] for point in points]
    lines = [("#1f6fb4", "time", [point[2] / points[0][2] for point in points]),
             ("#c8561e", "memory", [point[3] / points[0][3] for point in points])]
    largest = max(work[-1], *(value for _, _, values in lines for value in values), 2)
    least = min(1, *(value for _, _, values in lines for value in values))

    def x(value):
        return left + width * math.log(value) / math.log(max(work[-1], 2))

    def y(value):
        return top + height - height * math.log(value / least) / math.log(largest / least)

    parts = [f'<text x="{left}" y="{top - 10}" font-weight="bold">{title}</text>',
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


def plot(series):
    width, height, across = 300, 190, 3
    parts = []
    for at, (name, points) in enumerate(series.items()):
        parts += panel(SERIES[name][0], points, 30 + at % across * (width + 110), 40 + at // across * (height + 70), width, height)
    rows = (len(series) + across - 1) // across
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{across * (width + 110) + 20}" height="{rows * (height + 70) + 20}" '
            'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>' + "\n".join(parts) + "</svg>\n")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if {"-h", "--help"} & set(sys.argv) else 2
    folder = pathlib.Path(sys.argv[1])
    series = read(folder)
    if not series:
        sys.exit(f"{folder}: no runs that ended well; expected the records of configs/bench/cost_growth.yaml")
    (folder / "cost_growth.svg").write_text(plot(series), encoding="utf-8")
    print(table(series))
    return 0


if __name__ == "__main__":
    sys.exit(main())
