#!/usr/bin/env python3
"""Writes coco_map.json: seeded random annotations and detections, and pycocotools' twelve figures for them.

Usage: make_coco_golden.py [output.json]   (needs the packages numpy and pycocotools 2.0.11)

A box is [image, category, x, y, width, height, area, crowd], a detection [image, category, x, y, width, height, score].
"""
import contextlib
import io
import json
import pathlib
import sys

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

LIMITS = [32 ** 2, 96 ** 2]  # areas that belong to both ranges


def draw(seed, images, categories, *, boxes, found, noise, steps, crowds=0.0, empty=0.0, spurious=1.0, digits=None, at_limits=0.0):
    """Up to `boxes` annotations an image, of which the share `found` is detected, moved by up to `noise` of their size;
    scores have `steps` values, so that they tie; coordinates have `digits` decimals (none: all that a double has)."""
    random = np.random.default_rng(seed)
    rounded = (lambda x: float(x)) if digits is None else (lambda x: round(float(x), digits))
    annotations, detections = [], []
    for image in images:
        if random.random() < empty:
            if random.random() < 0.5:  # detections without annotations
                detections.append([image, int(random.choice(categories)), 5.0, 5.0, 40.0, 40.0, 0.5])
            continue
        for _ in range(random.integers(1, boxes + 1)):
            category = int(random.choice(categories))
            width, height = np.exp(random.uniform(np.log(6), np.log(260), size=2))
            x, y = random.uniform(0, 400, size=2)
            area = width * height * random.uniform(0.4, 1)
            if random.random() < at_limits:
                width, height = (32.0, 32.0) if random.random() < 0.5 else (96.0, 96.0)
                area = float(random.choice(LIMITS))
            crowd = int(random.random() < crowds)
            annotations.append([image, category, *map(rounded, (x, y, width, height, area)), crowd])
            for _ in range(random.poisson(found * (4 if crowd else 1))):
                moved = np.array([x, y]) + random.uniform(-noise, noise, size=2) * (width, height)
                sized = np.array([width, height]) * np.exp(random.uniform(-noise, noise, size=2))
                if random.random() < at_limits:
                    moved, sized = np.array([x, y]), np.array([width, height])
                detections.append([image, category, *map(rounded, (*moved, *sized)), float(random.integers(1, steps + 1) / steps)])
        for _ in range(random.poisson(spurious)):
            x, y, width, height = random.uniform(2, 200, size=4)
            detections.append([image, int(random.choice(categories)), *map(rounded, (x, y, width, height)),
                               float(random.integers(1, steps + 1) / steps)])
    order = random.permutation(len(detections))
    return images, categories, annotations, [detections[i] for i in order]


def only(case, annotations=None, detections=None):
    return case[0], case[1], case[2] if annotations is None else annotations, case[3] if detections is None else detections


def figures(images, categories, annotations, detections):
    truth, quiet = COCO(), io.StringIO()
    truth.dataset = {
        "images": [{"id": image} for image in images], "categories": [{"id": one} for one in categories],
        "annotations": [{"id": i + 1, "image_id": a[0], "category_id": a[1], "bbox": a[2:6], "area": a[6], "iscrowd": a[7]}
                        for i, a in enumerate(annotations)]}
    with contextlib.redirect_stdout(quiet):
        truth.createIndex()
        results = [{"image_id": d[0], "category_id": d[1], "bbox": d[2:6], "score": d[6]} for d in detections]
        found = truth.loadRes(results) if results else COCO()
        evaluation = COCOeval(truth, found, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return [float(figure) for figure in evaluation.stats]


GAPS = [1, 2, 5, 44, 90]
SOME = draw(7, [3, 1, 2], [1, 4], boxes=4, found=0.9, noise=0.15, steps=100, digits=1)
CASES = {
    "plain": draw(1, list(range(1, 21)), GAPS, boxes=5, found=0.9, noise=0.15, steps=1000, digits=2),
    "all_digits": draw(2, list(range(1, 13)), [0, 1, 2], boxes=5, found=1.0, noise=0.12, steps=997),
    "ties": draw(3, list(range(30, 10, -1)), GAPS[:3], boxes=5, found=1.5, noise=0.2, steps=3, digits=0),
    "crowds_and_empty_images": draw(4, list(range(0, 40, 2)), GAPS, boxes=6, found=0.9, noise=0.2, steps=16, crowds=0.3, empty=0.25, digits=1),
    "areas_at_the_limits": draw(5, list(range(1, 16)), [1, 3], boxes=4, found=1.0, noise=0.05, steps=32, at_limits=0.6, digits=0),
    "more_than_100_detections": draw(6, [1, 2], [7], boxes=12, found=9, noise=0.3, steps=50, spurious=90, digits=0),
    "only_crowds": only(SOME, [a[:7] + [1] for a in SOME[2]]),
    "no_annotations": only(SOME, []),
    "no_detections": only(SOME, None, []),
}


def main():
    output = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("coco_map.json"))
    lines = []
    for name, case in CASES.items():
        content = {"annotations": case[2], "detections": case[3], "figures": figures(*case)}
        lines.append(f"{json.dumps(name)}: {json.dumps(content, separators=(',', ':'))}")
    output.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
