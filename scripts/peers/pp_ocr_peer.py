#!/usr/bin/env python3
"""Compares how ptrain and ONNX Runtime find and read text with the same weights of PP-OCR.

    scripts/peers/pp_ocr_peer.py PP-OCRv6_rec_small.onnx weights/ppocrv6_rec_small --texts lines.txt --font DejaVuSans.ttf
    PTRAIN_LIBRARY=PREFIX/lib/libptrain.so scripts/peers/pp_ocr_peer.py PP-OCRv6_det_small.onnx weights/ppocrv6_det_small \\
        --texts lines.txt --font DejaVuSans.ttf --photos photos/

`lines.txt` has a text a line. For the recogniser each is drawn in one of the fonts, in a size, in colours and with margins at
random, into an image of the model's size; for the detector ten to a page of that size, to which `photos/` are brought too. So
both read the same pixels. Exits with 1 where a text differs, or a probability, of a text or of a pixel, by more than 1e-3.
--seconds times both afterwards, one image at a time, by turns; then it also exits with 1 where ptrain is slower. Needs numpy, onnxruntime and Pillow.
"""
import argparse
import ctypes
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from ptrain import UINT8, Model  # noqa: E402

TOLERANCE = 1e-3  # of probabilities


def mix(noise, least, most):
    return tuple(noise.randint(least, most) for _ in range(3))


def draw(text, font, noise, size):
    """The line, padded with grey at the right to `size`, width and height; longer ones are narrowed."""
    left, top, right, bottom = font.getbbox(text)
    margin = noise.randint(3, 9)
    line = Image.new("RGB", (right - left + 2 * margin, bottom - top + 2 * margin), mix(noise, 190, 255))
    ImageDraw.Draw(line).text((margin - left, margin - top), text, fill=mix(noise, 0, 90), font=font)
    frame = Image.new("RGB", size, (128, 128, 128))
    width = min(size[0], round(line.width * size[1] / line.height))
    frame.paste(line.resize((width, size[1]), Image.BILINEAR))
    return frame


def draw_page(texts, fonts, noise, size):
    """Texts at random places below each other."""
    page = Image.new("RGB", size, mix(noise, 150, 255))
    pen = ImageDraw.Draw(page)
    for i, text in enumerate(texts):
        place = noise.randint(0, size[0] // 3), (i + 0.2) * size[1] / len(texts)
        pen.text(place, text, fill=mix(noise, 0, 110), font=noise.choice(fonts))
    return page


def compare_maps(options, document, session, pages):
    """Of the probability of text of each pixel."""
    height = width = document["image"]["size"]
    mean, deviation = (np.asarray(document["image"][name], np.float32) for name in ("mean", "stddev"))
    for path in sorted(options.photos.iterdir()) if options.photos else []:
        with Image.open(path) as photo:
            pages.append(photo.convert("RGB").resize((width, height), Image.BILINEAR))
    model, worst, texts = Model(options.folder), 0.0, np.zeros(2, int)
    for page in pages:
        pixels = np.array(page)
        scaled = ((pixels.astype(np.float32) / 255 - mean) / deviation)[:, :, ::-1].transpose(2, 0, 1)
        theirs = session.run(None, {"x": np.ascontiguousarray(scaled[None], np.float32)})[0].reshape(height, width)
        tensors = {"images": (UINT8, (1, height, width, 3), (ctypes.c_uint8 * pixels.size).from_buffer(pixels))}
        ours = np.asarray(model.answer(tensors, "text_probabilities"), np.float32).reshape(height, width)
        worst = max(worst, float(np.abs(ours - theirs).max()))
        texts += [int((one > 0.3).sum()) for one in (ours, theirs)]
    print(f"{len(pages)} pictures of {height}x{width} px: probabilities within {worst:.1e}; "
          f"pixels of text: ptrain {texts[0]}, ONNX Runtime {texts[1]}")
    return worst <= TOLERANCE


def read_with_onnx(session, characters, image):
    """The text, and the mean of its characters' probabilities where they begin."""
    pixels = (np.asarray(image, np.float32)[:, :, ::-1] / 255 - 0.5) / 0.5
    scores = session.run(None, {"x": np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])})[0][0]
    classes = scores.argmax(-1)
    begins = [i for i, one in enumerate(classes) if one and (i == 0 or classes[i - 1] != one)]
    return "".join(characters[classes[i]] for i in begins), float(np.mean([scores[i].max() for i in begins])) if begins else 0.0


def run_program(*arguments):
    program = os.environ.get("PTRAIN", "build/release/bin/ptrain")
    asked = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if asked.returncode:
        sys.exit(f"{program} {arguments[0]}: {asked.stderr.strip()}")
    return asked.stdout


def read_with_ptrain(folder, images):
    answers = [json.loads(line) for line in run_program("infer", folder, *images, "--json").splitlines()]
    return [(one["text"], one["probability"]) for one in answers]


def time_session(session, size, seconds):
    """The median, in ms."""
    shape = (1, 3, size, size) if isinstance(size, int) else (1, 3, *size)
    pixels = {"x": np.random.default_rng(1).standard_normal(shape, np.float32)}
    end, times = time.perf_counter() + seconds, []
    session.run(None, pixels)
    while time.perf_counter() < end:
        begin = time.perf_counter()
        session.run(None, pixels)
        times.append(time.perf_counter() - begin)
    return 1000 * statistics.median(times)


def compare_speed(options, document, session):
    ours, theirs = [], []
    for _ in range(options.rounds):
        report = json.loads(run_program("bench", "infer", options.folder, "--seconds", options.seconds, "--json"))
        ours.append(report["latency_ms"]["p50"])
        theirs.append(time_session(session, document["image"]["size"], options.seconds))
    ratios = sorted(b / a for a, b in zip(ours, theirs))
    print(f"one image at a time: ptrain {statistics.median(ours):.1f} ms, ONNX Runtime {statistics.median(theirs):.1f} ms; "
          f"{statistics.median(ratios):.2f}x ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    return statistics.median(ratios) >= 1


def compare_texts(options, document, session, texts, drawn):
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / f"{i:05}.png" for i in range(len(drawn))]
        for file, image in zip(files, drawn):
            image.save(file)
        ours = read_with_ptrain(options.folder, files)
    theirs = [read_with_onnx(session, document["class_names"], image) for image in drawn]
    differing = [(text, a, b) for text, (a, _), (b, _) in zip(texts, ours, theirs) if a != b]
    for text, a, b in differing:
        print(f"{text!r}: ptrain reads {a!r}, ONNX Runtime {b!r}")
    worst = max((abs(p - q) for (a, p), (b, q) in zip(ours, theirs) if a == b), default=0.0)
    right = [sum(read == text for (read, _), text in zip(all_read, texts)) for all_read in (ours, theirs)]
    print(f"{len(texts)} lines: {len(texts) - len(differing)} read alike, probabilities within {worst:.1e}; "
          f"as drawn: ptrain {right[0]}, ONNX Runtime {right[1]}")
    return not differing and worst <= TOLERANCE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx", help="the published file")
    parser.add_argument("folder", type=pathlib.Path, help="what pp_ocr_weights.py made of it")
    parser.add_argument("--texts", type=pathlib.Path, required=True, help="a text a line")
    parser.add_argument("--font", action="append", required=True, help="TrueType file; may be repeated")
    parser.add_argument("--photos", type=pathlib.Path, metavar="FOLDER", help="images for the detector")
    parser.add_argument("--seconds", type=float, default=0, help="of each timing; 0: none")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    document = json.loads((options.folder / "model.json").read_text())
    session = onnxruntime.InferenceSession(options.onnx, providers=["CPUExecutionProvider"])
    noise, texts = random.Random(options.seed), options.texts.read_text().splitlines()
    fonts = [ImageFont.truetype(font, size) for font in options.font for size in (20, 24, 28, 32, 36)]
    size = document["image"]["size"]
    if len(document["class_names"]) == 1:
        pages = [draw_page(texts[i:i + 10], fonts, noise, (size, size)) for i in range(0, len(texts), 10)]
        alike = compare_maps(options, document, session, pages)
    else:
        drawn = [draw(text, noise.choice(fonts), noise, tuple(size[::-1])) for text in texts]
        alike = compare_texts(options, document, session, texts, drawn)
    fast = options.seconds == 0 or compare_speed(options, document, session)
    return 0 if alike and fast else 1


if __name__ == "__main__":
    sys.exit(main())
