#!/usr/bin/env python3
"""Whether ptrain learns what torchvision learns: detection on BCCD, segmentation on CamVid, by the same short recipe from the
same random weights, for several seeds of each. Prints a table of the metric's mean and spread.

    .deps/peers/bin/python scripts/peers/learn_peer.py detection --data data/bccd --size 192x256 --epochs 20 --out runs/bccd
    .deps/peers/bin/python scripts/peers/learn_peer.py segmentation --data data/camvid --size 180x240 --epochs 20 --out runs/camvid

Results are kept in --out, a JSON file of each training, so that the same command continues where it stopped.
"""
import argparse
import json
import math
import pathlib
import random
import resource
import statistics
import subprocess
import xml.etree.ElementTree as xml

import safetensors.torch
import torch
import torchvision

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Detection:
    """RetinaNet: mAP of boxes by pycocotools."""

    metric = "map"
    config = "configs/zoo/retinanet_resnet50_fpn.yaml"
    optimizer = {"name": "adamw", "lr": 2e-4, "weight_decay": 1e-4}
    schedule = {"name": "cosine", "warmup_ratio": 0.05}
    clip_norm = 1.0

    def __init__(self, options):
        self.size = options.size
        self.train, self.held_out = (self.read(options.data, name) for name in ("train", "val"))
        self.classes = sorted({name for _, objects in self.train for name, _ in objects})

    @staticmethod
    def read(folder, split):
        """Each image with its objects: class and box, x and y from 0, ends not included."""
        samples = []
        for name in (folder / f"ImageSets/Main/{split}.txt").read_text().split():
            objects = []
            for found in xml.parse(folder / f"Annotations/{name}.xml").findall("object"):
                corners = [float(found.find("bndbox").findtext(key)) for key in ("xmin", "ymin", "xmax", "ymax")]
                objects.append((found.findtext("name"), [corners[0] - 1, corners[1] - 1, corners[2], corners[3]]))
            samples.append((torchvision.io.read_image(str(next((folder / "JPEGImages").glob(f"{name}.*")))), objects))
        return samples

    def build(self):
        return torchvision.models.detection.retinanet_resnet50_fpn(
            weights=None, weights_backbone=None, num_classes=len(self.classes), trainable_backbone_layers=5,
            min_size=min(self.size), max_size=max(self.size))

    def loss(self, model, samples, draw):
        images, targets = [], []
        for image, objects in samples:
            boxes = torch.tensor([box for _, box in objects])
            if draw.random() < 0.5:
                image = image.flip(-1)
                boxes[:, [0, 2]] = image.shape[-1] - boxes[:, [2, 0]]
            images.append(image / 255)
            targets.append({"boxes": boxes, "labels": torch.tensor([self.classes.index(name) for name, _ in objects])})
        return sum(model(images, targets).values())

    def trained(self):
        """Images without boxes are left out, as ptrain does."""
        return [sample for sample in self.train if sample[1]]

    def evaluate(self, model):
        from pycocotools.coco import COCO
        from pycocotools.cocoeval import COCOeval
        truth, scored = COCO(), []
        truth.dataset = {"images": [], "annotations": [], "categories": [{"id": i} for i in range(len(self.classes))]}
        for number, (image, objects) in enumerate(self.held_out):
            truth.dataset["images"].append({"id": number})
            for name, box in objects:
                if name not in self.classes:
                    continue
                width, height = box[2] - box[0], box[3] - box[1]
                truth.dataset["annotations"].append(
                    {"id": len(truth.dataset["annotations"]) + 1, "image_id": number, "category_id": self.classes.index(name),
                     "bbox": [box[0], box[1], width, height], "area": width * height, "iscrowd": 0})
            found = model([image / 255])[0]
            for box, score, label in zip(found["boxes"].tolist(), found["scores"].tolist(), found["labels"].tolist()):
                scored.append({"image_id": number, "category_id": label, "score": score,
                               "bbox": [box[0], box[1], box[2] - box[0], box[3] - box[1]]})
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(scored), "bbox") if scored else None
        if not evaluation:
            return 0.0
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        return float(evaluation.stats[0])


class Segmentation:
    """DeepLabV3: mIoU over the classes of CamVid."""

    metric = "miou"
    config = "configs/zoo/deeplabv3_resnet50.yaml"
    optimizer = {"name": "momentum", "lr": 0.02, "momentum": 0.9, "weight_decay": 1e-4, "decay_norm_and_bias": True}
    schedule = {"name": "polynomial", "power": 0.9}
    clip_norm = 0.0
    classes, void = 11, 11

    def __init__(self, options):
        self.size = options.size
        read = torchvision.io.read_image
        self.train, self.held_out = (
            [(read(str(file)), read(str(options.data / f"{split}annot" / f"{file.stem}.png"), torchvision.io.ImageReadMode.UNCHANGED)[0])
             for file in sorted((options.data / split).iterdir())] for split in ("train", "val"))

    def build(self):
        return torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=self.classes,
                                                                  aux_loss=True)

    @staticmethod
    def normalized(images):
        mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
        return (images / 255 - mean.view(3, 1, 1)) / deviation.view(3, 1, 1)

    def cut(self, image, label, draw):
        """Resized by 0.5 to 2, mirrored half of the time, cut to the size; what lies outside is void."""
        height, width = self.size
        scale = draw.uniform(0.5, 2.0) * height / image.shape[1]
        shape = [max(1, round(side * scale)) for side in image.shape[1:]]
        image = torchvision.transforms.functional.resize(image, shape, antialias=True)
        label = torchvision.transforms.functional.resize(label[None], shape, torchvision.transforms.InterpolationMode.NEAREST)[0]
        if draw.random() < 0.5:
            image, label = image.flip(-1), label.flip(-1)
        pad = [max(0, width - shape[1]), max(0, height - shape[0])]
        image = torch.nn.functional.pad(self.normalized(image), (0, pad[0], 0, pad[1]))  # with the mean colour
        label = torch.nn.functional.pad(label, (0, pad[0], 0, pad[1]), value=self.void)
        top, left = draw.randint(0, image.shape[1] - height), draw.randint(0, image.shape[2] - width)
        return image[:, top:top + height, left:left + width], label[top:top + height, left:left + width].long()

    def trained(self):
        return self.train

    def loss(self, model, samples, draw):
        images, labels = map(torch.stack, zip(*(self.cut(image, label, draw) for image, label in samples)))
        answers = model(images)
        cross_entropy = torch.nn.functional.cross_entropy
        return (cross_entropy(answers["out"], labels, ignore_index=self.void)
                + 0.5 * cross_entropy(answers["aux"], labels, ignore_index=self.void))

    def evaluate(self, model):
        counts = torch.zeros(self.classes, self.classes)
        for image, label in self.held_out:
            small = torchvision.transforms.functional.resize(image, self.size, antialias=True)
            answer = model(self.normalized(small)[None])["out"]
            answer = torch.nn.functional.interpolate(answer, label.shape, mode="bilinear", align_corners=False)[0].argmax(0)
            kept = label < self.classes
            counts += torch.bincount(label[kept].long() * self.classes + answer[kept],
                                     minlength=self.classes ** 2).view(self.classes, self.classes)
        union = counts.sum(0) + counts.sum(1) - counts.diag()
        return float((counts.diag() / union)[union > 0].mean())


def make_optimizer(work, model):
    settings = work.optimizer
    decays = settings.get("decay_norm_and_bias", False)
    groups = {}
    for name, parameter in model.named_parameters():
        decay = settings["weight_decay"] if decays or parameter.dim() > 1 else 0.0
        scale = 10.0 if name.startswith("aux_classifier") else 1.0
        groups.setdefault((decay, scale), []).append(parameter)
    groups = [{"params": parameters, "weight_decay": decay, "lr": settings["lr"] * scale}
              for (decay, scale), parameters in groups.items()]
    if settings["name"] == "adamw":
        return torch.optim.AdamW(groups)
    return torch.optim.SGD(groups, momentum=settings["momentum"])


def rate_at(schedule, step, steps):
    """The share of the learning rate at a step, counted from 0."""
    warm = round(steps * schedule.get("warmup_ratio", 0))
    if step < warm:
        return (step + 1) / warm
    done = (step - warm) / (steps - warm)
    return 0.5 * (1 + math.cos(math.pi * done)) if schedule["name"] == "cosine" else (1 - done) ** schedule["power"]


def processor_seconds():
    """Of this process and those that it waited for: unlike the clock's, about the same beside other work."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def train_torch(work, options, seed, start):
    torch.manual_seed(seed)
    draw = random.Random(seed)
    model = work.build()
    model.load_state_dict(safetensors.torch.load_file(start))
    model = model.train().to(memory_format=torch.channels_last)
    optimizer, samples = make_optimizer(work, model), work.trained()
    rates = [group["lr"] for group in optimizer.param_groups]
    per_epoch = len(samples) // options.batch
    steps = options.epochs * per_epoch
    for epoch in range(options.epochs):
        order = draw.sample(range(len(samples)), len(samples))
        for i in range(per_epoch):
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate * rate_at(work.schedule, epoch * per_epoch + i, steps)
            loss = work.loss(model, [samples[at] for at in order[i * options.batch:(i + 1) * options.batch]], draw)
            optimizer.zero_grad()
            loss.backward()
            if work.clip_norm:
                torch.nn.utils.clip_grad_norm_(model.parameters(), work.clip_norm)
            optimizer.step()
        print(f"torchvision seed {seed}, epoch {epoch + 1} of {options.epochs}: loss {loss.item():.4f}", flush=True)
    with torch.inference_mode():
        return work.evaluate(model.eval())


def train_ptrain(work, options, seed, start):
    out = options.out / f"ptrain-{seed}"
    settings = {"model.weights": start, "data.path": options.data, "data.image_size": "x".join(map(str, options.size)),
                "data.batch_size": options.batch, "train.epochs": options.epochs, "eval.every_epochs": options.epochs,
                "amp.level": "O0", "seed": seed, "output.keep_best": "none", "output.save": "false",
                **{f"train.optimizer.{key}": str(value).lower() for key, value in work.optimizer.items()},
                **{f"train.schedule.{key}": value for key, value in work.schedule.items()}}
    command = [options.ptrain, "run", ROOT / work.config, "--out", out, "--fresh"]
    for key, value in settings.items():
        command += ["-o", f"{key}={value}"]
    subprocess.run(command, check=True)
    report = json.loads((out / "report.json").read_text())
    return report["evaluation"]["metrics"][work.metric]["value"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", choices=["detection", "segmentation"])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--size", type=lambda text: tuple(map(int, text.split("x"))), required=True, help="HEIGHTxWIDTH")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ptrain", type=pathlib.Path, default=ROOT / "build/release/bin/ptrain")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of the results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    work = {"detection": Detection, "segmentation": Segmentation}[options.work](options)
    start = options.out / "start.safetensors"
    if not start.exists():
        torch.manual_seed(0)
        safetensors.torch.save_file(work.build().state_dict(), start, metadata={"format": "pt"})
    results = {"ptrain": [], "torchvision": []}
    for seed in range(1, options.seeds + 1):
        for name, train in (("ptrain", train_ptrain), ("torchvision", train_torch)):
            kept = options.out / f"{name}-{seed}.json"
            if not kept.exists():
                begin = processor_seconds()
                value = train(work, options, seed, start)
                kept.write_text(json.dumps({"value": value, "processor_seconds": round(processor_seconds() - begin)}))
            results[name].append(json.loads(kept.read_text()))
    for name, trainings in results.items():
        values = [training["value"] for training in trainings]
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        print(f"{name}: {work.metric} {statistics.mean(values):.4f} +- {spread:.4f}: "
              + ", ".join(f"{training['value']:.4f} in {training['processor_seconds']} s" for training in trainings)
              + " of processors' time", flush=True)


if __name__ == "__main__":
    main()
