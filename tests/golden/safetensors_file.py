"""Goldens' binary form, in and out: safetensors (u64 header length, JSON header, raw tensors), without any package.

Doubles are stored as the 64 bits of each, as I64: ptrain's reader, which takes what weights are made of, has no F64.
"""
import json
import math
import struct

SIZES = {"I64": 8, "F32": 4, "U8": 1}


def doubles(shape, values):
    """A tensor of doubles, bit for bit."""
    assert len(values) == math.prod(shape)
    return "I64", shape, struct.pack(f"<{len(values)}d", *values)


def write(path, tensors, metadata):
    """`tensors`: {name: (dtype, shape, bytes)}, wider types first; `metadata`: {name: text}."""
    header, at = {"__metadata__": metadata}, 0
    for name, (dtype, shape, content) in tensors.items():
        assert len(content) == SIZES[dtype] * math.prod(shape), name
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(content for _, _, content in tensors.values()))


def read(path):
    """(tensors, metadata) as write() took them."""
    content = path.read_bytes()
    begin = 8 + struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8:begin])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        tensors[name] = entry["dtype"], entry["shape"], content[begin + first:begin + last]
    return tensors, metadata


def write_golden(path, document):
    """A model's golden: its gradients' norms and sketches as tensors, the rest as JSON in the metadata."""
    gradients = document["gradients"]
    sketches = [value for gradient in gradients.values() for value in gradient["sketch"]]
    described = [{"name": name, "shape": list(gradient["shape"]), "negligible": gradient["negligible"]}
            for name, gradient in gradients.items()]
    write(path, {"norms": doubles([len(gradients)], [gradient["norm"] for gradient in gradients.values()]),
                 "sketches": doubles([len(gradients), len(sketches) // len(gradients)], sketches)},
          {"golden": json.dumps({**document, "gradients": described})})


def read_golden(path):
    """The document that write_golden() took."""
    tensors, metadata = read(path)
    document = json.loads(metadata["golden"])
    count, sketches = tensors["sketches"][1]
    norms = struct.unpack(f"<{count}d", tensors["norms"][2])
    values = struct.unpack(f"<{count * sketches}d", tensors["sketches"][2])
    document["gradients"] = {
        entry["name"]: {"shape": entry["shape"], "norm": norms[row], "negligible": entry["negligible"],
                        "sketch": list(values[row * sketches:(row + 1) * sketches])}
        for row, entry in enumerate(document["gradients"])}
    return document
