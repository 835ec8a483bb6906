#!/usr/bin/env python3
"""Writes text_boxes.json: boxes around text, their areas, maps, rectangles and matches, computed with shapely.

Usage: make_text_boxes_golden.py [output.json]   (needs the packages numpy and shapely)
"""
import json
import pathlib
import sys

import numpy as np
import shapely
from shapely import Point, Polygon, affinity

SHRINK_RATIO = 0.4
UNCLIP_RATIO = 1.5
LEAST_SIDE = 8  # px, of boxes that are learnt


def box(x, y, width, height, degrees):
    """A turned rectangle by its centre."""
    upright = shapely.box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    return corners(affinity.rotate(upright, degrees))


def corners(polygon):
    return [[round(x, 3), round(y, 3)] for x, y in list(polygon.exterior.coords)[:4]]


def draw_quad(random):
    """Corners at random distances around a centre: the sides do not cross, one corner may point inwards."""
    angles = np.sort(random.uniform(0, 90, 4) + np.arange(4) * 90)
    radii = random.uniform(2, 12, 4)
    centre = random.uniform(8, 16, 2)
    turn = np.deg2rad(angles)
    return np.round(centre + radii[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1), 3).tolist()


def measure_pairs(count):
    random = np.random.default_rng(1)
    pairs = []
    while len(pairs) < count:
        a, b = draw_quad(random), draw_quad(random)
        if random.integers(2) == 1:
            b = b[::-1]
        first, second = Polygon(a), Polygon(b)
        if not first.is_valid or not second.is_valid:
            continue
        convex = first.convex_hull.area == first.area and second.convex_hull.area == second.area
        pairs.append({"a": a, "b": b, "convex": convex, "area": first.area, "perimeter": first.length,
                      "intersection": first.intersection(second).area})
    assert any(pair["convex"] for pair in pairs) and not all(pair["convex"] for pair in pairs)
    return pairs


def centres(height, width):
    return [[Point(x + 0.5, y + 0.5) for x in range(width)] for y in range(height)]


def measure_maps(height, width, boxes):
    """By row: the pixels of text, of ignored text and with a threshold, and the sum of the thresholds."""
    learnt, ignored = [], []
    for one in boxes:
        polygon = Polygon(one["points"])
        x0, y0, x1, y1 = polygon.bounds
        is_small = min(x1 - x0, y1 - y0) < LEAST_SIDE
        (ignored if one["ignored"] or is_small else learnt).append(polygon)
    reaches = [polygon.area * (1 - SHRINK_RATIO**2) / polygon.length for polygon in learnt]
    # Circles of many segments: pixels' centres are not that near to a side.
    shrunk = [polygon.buffer(-reach, quad_segs=256) for polygon, reach in zip(learnt, reaches)]
    grown = [polygon.buffer(reach, quad_segs=256) for polygon, reach in zip(learnt, reaches)]
    rows = []
    for line in centres(height, width):
        text = hidden = thresholds = 0
        total = 0.0
        for point in line:
            is_hidden = any(polygon.contains(point) for polygon in ignored)
            hidden += is_hidden
            text += not is_hidden and any(polygon.contains(point) for polygon in shrunk)
            near = [max(0, 1 - polygon.exterior.distance(point) / reach)
                    for polygon, reach, around in zip(learnt, reaches, grown) if around.contains(point)]
            if near:
                thresholds += 1
                total += 0.3 + 0.4 * max(near)
        rows.append([text, hidden, thresholds, round(total, 6)])
    return {"height": height, "width": width, "boxes": boxes, "rows": rows}


def paint(height, width, shapes):
    """The probabilities of pixels whose centres are in a shape, 0.1 elsewhere."""
    image = np.full((height, width), 0.1)
    for shape in shapes:
        polygon = Polygon(shape["points"])
        for y, line in enumerate(centres(height, width)):
            for x, point in enumerate(line):
                if polygon.contains(point):
                    image[y, x] = shape["probability"]
    return image


def find_regions(text):
    """Connected pixels, also over corners, in the order of their first ones."""
    left = set(zip(*np.nonzero(text)))
    for first in sorted(left):
        if first not in left:
            continue
        left.remove(first)
        region, pending = [], [first]
        while pending:
            y, x = pending.pop()
            region.append((y, x))
            for other in [(y + i, x + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]:
                if other in left:
                    left.remove(other)
                    pending.append(other)
        yield region


def find_text(height, width, shapes):
    image = paint(height, width, shapes)
    found = []
    for region in find_regions(image > 0.3):
        pixels = shapely.union_all([shapely.box(x, y, x + 1, y + 1) for y, x in region])
        rectangle = pixels.minimum_rotated_rectangle
        sides = [Point(a).distance(Point(b)) for a, b in zip(rectangle.exterior.coords, rectangle.exterior.coords[1:])]
        points = {(y, x): Point(x + 0.5, y + 0.5) for y in range(height) for x in range(width)}
        assert min(rectangle.exterior.distance(point) for point in points.values()) > 1e-6  # none is on a side
        inside = [image[at] for at, point in points.items() if rectangle.contains(point)]
        if min(sides) < 3 or np.mean(inside) < 0.6:
            continue
        reach = rectangle.area * UNCLIP_RATIO / rectangle.length
        grown = rectangle.buffer(reach, join_style="mitre")
        found.append({"points": [list(corner) for corner in list(grown.exterior.coords)[:4]],
                      "score": float(np.mean(inside))})
    return {"height": height, "width": width, "shapes": shapes, "found": found}


def match(expected, found):
    """ICDAR's rules, as in the script of the challenge's task 4.1."""
    boxes, texts = [Polygon(one["points"]) for one in expected], [Polygon(one) for one in found]
    dropped = {i for i, text in enumerate(texts) for box, one in zip(boxes, expected)
               if one["ignored"] and box.intersection(text).area / text.area > 0.5}
    taken = set()
    for box, one in zip(boxes, expected):
        if one["ignored"]:
            continue
        for i, text in enumerate(texts):
            if i in dropped or i in taken:
                continue
            if box.intersection(text).area / box.union(text).area > 0.5:
                taken.add(i)
                break
    return {"expected": expected, "found": found, "counts": [sum(not one["ignored"] for one in expected),
                                                             len(texts) - len(dropped), len(taken)]}


def draw_matches(seed):
    """Texts on a grid, some of them ignored, and found boxes that are moved, turned, repeated or missing."""
    random = np.random.default_rng(seed)
    expected, found = [], []
    for i in range(12):
        x, y = 60 * (i % 4) + 30, 40 * (i // 4) + 20
        width, height, degrees = random.uniform(24, 50), random.uniform(10, 20), random.uniform(-20, 20)
        expected.append({"points": box(x, y, width, height, degrees), "ignored": bool(random.integers(4) == 0)})
        for _ in range(random.integers(0, 3)):
            dx, dy, scale = random.normal(0, 5), random.normal(0, 3), random.uniform(0.7, 1.3)
            found.append(box(x + dx, y + dy, scale * width, scale * height, degrees + random.normal(0, 6)))
    random.shuffle(found)
    return match(expected, found)


MAPS = measure_maps(40, 64, [
    {"points": box(18.3, 12.7, 28.1, 12.4, 17), "ignored": False},
    {"points": [[40.2, 6.1], [60.7, 9.3], [55.4, 22.8], [42.9, 15.2]], "ignored": False},
    {"points": box(30.6, 33.4, 40.9, 9.7, -4), "ignored": False},
    {"points": box(45.2, 31.8, 18.5, 6.9, 0), "ignored": True},
    {"points": box(8.4, 33.1, 9.9, 6.3, 0), "ignored": False},  # too low
    {"points": box(63.1, 27.6, 22.2, 11.3, 8), "ignored": False},  # partly outside
])
TEXTS = find_text(48, 72, [
    {"points": box(20.3, 12.6, 30.2, 8.7, 0), "probability": 0.9},
    {"points": box(52.4, 20.3, 26.9, 9.1, 33), "probability": 0.95},
    {"points": box(18.7, 36.2, 24.3, 10.8, -12), "probability": 0.95},
    {"points": box(21.1, 35.4, 6.2, 2.9, -12), "probability": 0.75},  # part of the one before
    {"points": box(56.2, 41.7, 20.4, 6.1, 0), "probability": 0.5},  # a low score
    {"points": box(38.6, 40.8, 9.6, 2.1, 0), "probability": 0.9},  # too low
])


def main():
    output = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("text_boxes.json")
    golden = {"comment": f"by make_text_boxes_golden.py with shapely {shapely.__version__}",
              "pairs": measure_pairs(24), "maps": MAPS, "texts": TEXTS,
              "matches": [draw_matches(seed) for seed in (1, 2, 3)]}
    assert len(TEXTS["found"]) == 3
    pathlib.Path(output).write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
