#!/usr/bin/env python3
"""Turns the published ONNX file of PP-OCRv6's small recogniser into a folder for ptrain.

    pip download --no-deps rapidocr==3.10.0 && unzip rapidocr-*.whl 'rapidocr/models/*'  # the weights: Apache-2.0
    scripts/peers/pp_ocr_weights.py rapidocr/models/PP-OCRv6_rec_small.onnx --out weights/ppocrv6_rec_small
    ptrain infer weights/ppocrv6_rec_small line.png --json

The folder has model.json and model.safetensors, characters.txt (for data.vocab) and config.yaml, to train further on lines
of your own. Needs numpy and onnx.

The file reads blue, green and red; filters of the first convolution are turned to red, green and blue. Norms of the
backbone are folded into its convolutions there. Here each such norm has a mean of 0 and a variance of 1 and only adds the
convolution's bias: the same in evaluation, but not in training, where norms follow the batches' statistics. To train the
model further, give it lines like your own with --calibrate: norms then have the statistics that these have. That needs
onnxruntime and Pillow.
"""
import argparse
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

MODEL = "ppocrv6_rec_small"
EPSILON = 1e-5  # of batch norms
STAGES = {"blocks2": ["se"], "blocks3": ["", ""], "blocks4": ["halve", "se", "", "se", "", "se", ""],
          "blocks5": ["halve", "se", ""]}
HEIGHT = 48  # px
CONFIG = """\
# PP-OCRv6's small recogniser from its published weights, to be trained further on lines of your own: data/lines/train.txt has
# an image's path below data/lines, a tab and its text on each line.
model: {{name: {model}, weights: {folder}/model.safetensors, dropout: 0.1}}
data:
  source: text_images
  path: data/lines
  train_file: train.txt
  vocab: {folder}/characters.txt
  split: {{dev: 0.1}}
  image_size: {height}x{width}
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


def list_layers():
    """Name and kind of each layer, in the order of the file's graph. A folded layer is a convolution with a bias in the file,
    and a convolution and a norm in ptrain."""
    for name in ("stem1", "stem2a", "stem2b", "stem3", "stem4"):
        yield f"backbone.conv1.{name}", "folded"
    for stage, forms in STAGES.items():
        for i, form in enumerate(forms):
            block = f"backbone.{stage}.{i}"
            yield f"{block}.token_mixer.{'dw_conv' if form == 'halve' else 'rep_dw'}", "folded"
            if form == "se":
                yield f"{block}.token_mixer.se.conv1", "biased"
                yield f"{block}.token_mixer.se.conv2", "biased"
            yield f"{block}.channel_mixer.expand", "folded"
            yield f"{block}.channel_mixer.compress", "folded"
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


def list_tensors(graph):
    """The graph's constants of more than one real number, in the order of the nodes that read them: name, values, and what the
    node computes with them."""
    to_array = onnx.numpy_helper.to_array
    constants = {one.name: to_array(one) for one in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = to_array(node.attribute[0].t)
        for name in node.input:
            if name in constants and constants[name].dtype == np.float32 and constants[name].size > 1:
                yield name, constants[name], node.output[0]


def convert(graph):
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

    for name, kind in list_layers():
        if kind == "folded":
            tensors[f"{name}.conv.weight"] = take(4)[0]
            bias, folded[f"{name}.bn"] = take(4)
            bias = bias.reshape(-1)
            set_norm(tensors, f"{name}.bn", bias, np.zeros_like(bias), np.ones_like(bias))
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
    first = "backbone.conv1.stem1.conv.weight"
    tensors[first] = tensors[first][:, ::-1]
    return tensors, folded


def set_norm(tensors, name, bias, mean, variance):
    """A norm of this mean and variance that adds `bias`."""
    tensors[f"{name}.weight"] = np.sqrt(variance + EPSILON).astype(np.float32)
    tensors[f"{name}.bias"] = bias + mean
    tensors[f"{name}.running_mean"], tensors[f"{name}.running_var"] = mean, variance


def read_image(path, width):
    """As ptrain and PP-OCR read it, blue first [3, 48, width]: as large as fits, padded with grey at the right."""
    from PIL import Image
    with Image.open(path) as image:
        scale = min(HEIGHT / image.height, width / image.width)
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        frame = Image.new("RGB", (width, HEIGHT), (128, 128, 128))
        frame.paste(image.convert("RGB").resize(size, Image.BILINEAR))
    return ((np.asarray(frame, np.float32)[:, :, ::-1] / 255 - 0.5) / 0.5).transpose(2, 0, 1)


def calibrate(tensors, folded, model, images, width):
    """Gives folded norms the mean and the variance that their inputs have for the images; what they compute stays."""
    import onnxruntime
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(output) for output in folded.values())
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    sums = {name: np.zeros((2, tensors[f"{name}.bias"].size)) for name in folded}
    for path in images:
        for name, values in zip(folded, session.run(list(folded.values()), {"x": read_image(path, width)[None]})):
            values = values.astype(np.float64)
            sums[name] += [values.mean((0, 2, 3)), np.square(values).mean((0, 2, 3))]
    for name, both in sums.items():
        mean, square = both / len(images)
        bias = tensors[f"{name}.bias"]
        variance = np.maximum(square - mean * mean, 0).astype(np.float32)
        set_norm(tensors, name, bias, mean.astype(np.float32) - bias, variance)


def read_characters(model):
    """The file's characters and the blank, as classes in the order of its scores."""
    listed = {entry.key: entry.value for entry in model.metadata_props}.get("character")
    if listed is None:
        raise ValueError("has no list of characters in its metadata (key character)")
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


def write_document(folder, classes, size):
    """model.json, which `ptrain infer` opens."""
    weights = (folder / "model.safetensors").read_bytes()
    half = [0.5] * 3
    document = {
        "schema": "ptrain.model/1", "model": MODEL, "signature": f"{MODEL} classes={len(classes)}", "class_names": classes,
        "keys": {"data.image_size": size, "model.classes": len(classes)}, "text": None, "config_hash": "",
        "image": {"framing": "pad", "size": size, "resized_to": size, "mean": half, "stddev": half},
        "files": {"model.safetensors": {"bytes": len(weights), "crc32": f"{zlib.crc32(weights):08x}"}}}
    compact = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["hash"] = hash_fnv1a64(compact.encode())
    (folder / "model.json").write_text(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx", type=pathlib.Path, help="PP-OCRv6_rec_small.onnx")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder to write to")
    parser.add_argument("--width", type=int, default=320, help="px of the images, which are 48 px high; a multiple of 8")
    parser.add_argument("--calibrate", type=pathlib.Path, metavar="FOLDER", help="PNG and JPEG images of lines of text")
    options = parser.parse_args()
    if options.width < 8 or options.width % 8:
        parser.error(f"--width: expected a multiple of 8 px, got {options.width}")
    images = []
    if options.calibrate:
        images = sorted(path for path in options.calibrate.glob("*") if path.suffix.lower() in (".png", ".jpg", ".jpeg"))
        if not images:
            parser.error(f"--calibrate: {options.calibrate} has no PNG or JPEG images")
    if onnx is None:
        sys.exit("needs numpy and onnx: pip install numpy onnx")
    try:
        model = onnx.load(options.onnx)
        classes, (tensors, folded) = read_characters(model), convert(model.graph)
    except DecodeError:
        sys.exit(f"{options.onnx}: not an ONNX file; expected PP-OCRv6_rec_small.onnx of rapidocr")
    except (ValueError, OSError) as error:
        sys.exit(f"{options.onnx}: {error}; expected PP-OCRv6_rec_small.onnx of rapidocr")
    if images:
        calibrate(tensors, folded, model, images, options.width)
    options.out.mkdir(parents=True, exist_ok=True)
    write_safetensors(options.out / "model.safetensors", tensors)
    (options.out / "characters.txt").write_text("".join(f"{one}\n" for one in classes[1:]))
    (options.out / "config.yaml").write_text(CONFIG.format(model=MODEL, folder=options.out, height=HEIGHT, width=options.width))
    write_document(options.out, classes, [HEIGHT, options.width])
    print(f"{options.out}: {len(tensors)} tensors, {len(classes)} classes")


if __name__ == "__main__":
    main()
