"""Small data sets in the binary forms of Fashion-MNIST and CIFAR-10: ten classes, each of its own brightness."""
import random
import struct

CLASSES = 10
TEN_CLASSES = """\
model: {{name: resnet18, classes: 10}}
data: {{source: {source}, path: {data}, image_size: 16, batch_size: 20, workers: 1, augment: none}}
train: {{steps: 40, optimizer: {{name: adamw, lr: 1.0e-3}}, schedule: {{name: cosine}}}}
amp: {{level: O0}}
flags: {{cudnn_exhaustive_search: false}}
output: {{dir: {out}}}
"""


def samples(seed, count, bytes_each):
    """(label, grey bytes) of each."""
    draw = random.Random(seed)
    labels = [i % CLASSES for i in range(count)]
    draw.shuffle(labels)
    return [(label, bytes(label * 24 + draw.randrange(24) for _ in range(bytes_each))) for label in labels]


def write_idx(folder):
    folder.mkdir()
    for name, count in (("train", 60), ("t10k", 30)):
        drawn = samples(name, count, 28 * 28)
        images = struct.pack(">IIII", 0x803, count, 28, 28) + b"".join(pixels for _, pixels in drawn)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(images)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + bytes(l for l, _ in drawn))


def write_cifar(folder):
    (folder / "cifar-10-batches-bin").mkdir(parents=True)
    for name, count in (*((f"data_batch_{i}", 12) for i in range(1, 6)), ("test_batch", 30)):
        records = [bytes([label]) + pixels * 3 for label, pixels in samples(name, count, 32 * 32)]
        (folder / "cifar-10-batches-bin" / f"{name}.bin").write_bytes(b"".join(records))
