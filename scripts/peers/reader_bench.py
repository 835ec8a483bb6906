#!/usr/bin/env python3
"""ptrain's image reader against torchvision's, one thread each, interleaved: decode, augment, uint8 out.

Usage: reader_bench.py READER_BENCH IMAGES [--size 224] [--rounds 4] [--seconds 3] [--out FILE.json]
READER_BENCH is the program of that name in the build folder (ninja reader_bench); IMAGES is a folder of JPEG files.
torchvision runs in two ways, Pillow (its ImageFolder) and its own decoder with v2 transforms; the faster one counts.
"packed" is ptrain on the same images after `ptrain data pack --short-side SIZE*256/224`, decoded beforehand.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
import torchvision
from PIL import Image
from torchvision.transforms import v2


def torchvision_readers(size, split):
    if split == "train":
        steps = [v2.RandomResizedCrop(size, antialias=True), v2.RandomHorizontalFlip()]
    else:
        steps = [v2.Resize(size * 256 // 224, antialias=True), v2.CenterCrop(size)]
    with_pillow = v2.Compose(steps + [v2.PILToTensor()])
    with_tensors = v2.Compose(steps)

    def pillow(path):
        with Image.open(path) as image:
            return with_pillow(image.convert("RGB"))

    def own(path):
        data = torchvision.io.read_file(str(path))
        return with_tensors(torchvision.io.decode_image(data, mode=torchvision.io.ImageReadMode.RGB))

    return {"pillow": pillow, "decode_image": own}


def rate(reader, paths, seconds):
    reader(paths[0])
    begin = time.perf_counter()
    count = 0
    while time.perf_counter() - begin < seconds:
        reader(paths[count % len(paths)])
        count += 1
    return count / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("images", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    paths = sorted(path.resolve() for path in args.images.iterdir() if path.suffix.lower() in (".jpg", ".jpeg"))

    results = {"torch": torch.__version__, "torchvision": torchvision.__version__, "images": len(paths),
               "size": args.size, "unit": "images/second/thread"}
    with tempfile.TemporaryDirectory() as folder:
        for split in ("train", "val"):
            directory = pathlib.Path(folder) / split / "all"
            directory.mkdir(parents=True)
            for path in paths:
                (directory / path.name).symlink_to(path)
        subprocess.run([pathlib.Path(args.program).with_name("ptrain"), "data", "pack", folder, "--out", folder,
                        "--short-side", str(args.size * 256 // 224)], check=True, capture_output=True)
        sources = {"ptrain": "image_folder", "packed": "packed"}
        for split in ("train", "eval"):
            readers = torchvision_readers(args.size, split)
            rates = {name: [] for name in (*sources, *readers)}
            for _ in range(args.rounds):
                for name, source in sources.items():
                    command = [args.program, source, folder, split, str(args.size), str(args.seconds)]
                    rates[name].append(float(subprocess.run(command, check=True, capture_output=True).stdout))
                for name, reader in readers.items():
                    rates[name].append(rate(reader, paths, args.seconds))
            medians = {name: round(statistics.median(values), 1) for name, values in rates.items()}
            best = max(medians[name] for name in readers)
            results[split] = {**medians, "ratio": round(medians["ptrain"] / best, 2)}
            print(split, results[split], flush=True)
    if args.out:
        args.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
