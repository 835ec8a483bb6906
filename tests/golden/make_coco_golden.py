#!/usr/bin/env python3
"""Writes coco_map.json: seeded random annotations and detections, and pycocotools' twelve figures for them; and
coco_masks.json, likewise with masks, and polygons with the run lengths that pycocotools makes of them.

Usage: make_coco_golden.py [folder]   (needs the packages numpy and pycocotools 2.0.11)

A box is [image, category, x, y, width, height, area, crowd], a detection [image, category, x, y, width, height, score];
of masks, [image, category, run lengths, area, crowd] and [image, category, run lengths, score].
"""
import contextlib
import io
import json
import pathlib
import sys

import numpy as np
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

SIDE = 128  # px of images with masks
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


def figures(kind, images, categories, annotations, detections):
    """`kind` names what is matched: annotations and detections are COCO's, but for the numbers of annotations."""
    truth, quiet = COCO(), io.StringIO()
    truth.dataset = {
        "images": [{"id": image, "height": SIDE, "width": SIDE} for image in images],
        "categories": [{"id": one} for one in categories],
        "annotations": [{"id": i + 1, **a} for i, a in enumerate(annotations)]}
    with contextlib.redirect_stdout(quiet):
        truth.createIndex()
        found = truth.loadRes(detections) if detections else COCO()
        evaluation = COCOeval(truth, found, kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return [float(figure) for figure in evaluation.stats]


def box_case(images, categories, annotations, detections):
    truth = [{"image_id": a[0], "category_id": a[1], "bbox": a[2:6], "area": a[6], "iscrowd": a[7]} for a in annotations]
    found = [{"image_id": d[0], "category_id": d[1], "bbox": d[2:6], "score": d[6]} for d in detections]
    return {"annotations": annotations, "detections": detections,
            "figures": figures("bbox", images, categories, truth, found)}


def encode(polygons, height, width):
    return mask.merge(mask.frPyObjects(polygons, height, width))


def make_mask(x, y, width, height):
    """A polygon of ten corners within a box, at a quarter of its size."""
    angles = np.arange(10) * 2 * np.pi / 10
    corners = np.stack([x + width * (0.5 + 0.5 * np.cos(angles)), y + height * (0.5 + 0.5 * np.sin(angles * 1.1))], axis=1)
    return encode([list(np.round(corners / 4, 2).ravel())], SIDE, SIDE)


def mask_case(images, categories, annotations, detections):
    masks = [make_mask(*a[2:6]) for a in annotations]
    truth = [{"image_id": a[0], "category_id": a[1], "segmentation": m, "area": a[6] / 4, "iscrowd": a[7]}
             for a, m in zip(annotations, masks)]
    found = [{"image_id": d[0], "category_id": d[1], "segmentation": make_mask(*d[2:6]), "score": d[6]} for d in detections]
    def counts(one):
        return one["segmentation"]["counts"].decode()
    return {"annotations": [[a["image_id"], a["category_id"], counts(a), a["area"], a["iscrowd"]] for a in truth],
            "detections": [[d["image_id"], d["category_id"], counts(d), d["score"]] for d in found],
            "figures": figures("segm", images, categories, truth, found)}


def polygon_cases():
    """Up to three polygons each, in and around images, some with a corner twice."""
    random, cases = np.random.default_rng(0), []
    for _ in range(60):
        height, width = (int(side) for side in random.integers(1, 60, size=2))
        polygons = []
        for _ in range(random.integers(1, 4)):
            corners = np.round(random.uniform(-8, 68, size=(int(random.integers(3, 9)), 2)), int(random.integers(0, 4)))
            if random.random() < 0.3:
                corners[1] = corners[0]
            polygons.append([float(value) for value in corners.ravel()])
        cases.append({"size": [height, width], "polygons": polygons, "counts": encode(polygons, height, width)["counts"].decode()})
    return cases


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


MASK_CASES = {
    "plain": draw(11, list(range(1, 9)), GAPS[:2], boxes=4, found=1.0, noise=0.1, steps=64, digits=1),
    "crowds_and_empty_images": draw(12, list(range(1, 9)), GAPS[:2], boxes=4, found=1.0, noise=0.15, steps=16, crowds=0.3, empty=0.2, digits=1),
}


def write(path, cases):
    lines = [f"{json.dumps(name)}: {json.dumps(content, separators=(',', ':'))}" for name, content in cases.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    write(folder / "coco_map.json", {name: box_case(*case) for name, case in CASES.items()})
    write(folder / "coco_masks.json", {"polygons": polygon_cases(),
                                       **{name: mask_case(*case) for name, case in MASK_CASES.items()}})


if __name__ == "__main__":
    main()
