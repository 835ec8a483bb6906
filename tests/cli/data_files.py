"""Small data sets in the binary forms of Fashion-MNIST and CIFAR-10: ten classes, each of its own brightness. Shards of
images: tar archives and TFRecord files."""
import gzip
import io
import random
import struct
import tarfile

CLASSES = 10
RGB, AUDIO = 1024, 128  # bytes of a frame of a video
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


def write_tar(path, members):
    """A tar of (name, bytes)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def crc32c(content):
    """Bit by bit, as RFC 3720 has it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def proto(field, value):
    """A field of protobuf's wire format: bytes, or a number."""
    def varint(number):
        return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)
    if isinstance(value, int):
        return varint(field << 3) + varint(value)
    return varint(field << 3 | 2) + varint(len(value)) + value


def example(**features):
    """tf.train.Example; __ means a slash, bytes become a bytes_list, numbers an int64_list."""
    def feature(value):
        return proto(1, proto(1, value)) if isinstance(value, bytes) else proto(3, proto(1, value))
    return proto(1, b"".join(proto(1, proto(1, name.replace("__", "/").encode()) + proto(2, feature(value)))
                             for name, value in features.items()))


def write_tf_records(path, examples):
    def masked(content):
        crc = crc32c(content)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for content in examples:
            length = struct.pack("<Q", len(content))
            file.write(length + masked(length) + content + masked(content))


def write_criteo(path, seed, count):
    """Lines of Criteo's form: one number and two features' words tell how likely a click is; some fields are empty."""
    draw = random.Random(seed)
    with path.open("w") as file:
        for _ in range(count):
            numbers = [draw.randrange(-2, 40) if draw.random() > 0.2 else "" for _ in range(13)]
            words = [draw.randrange(30) for _ in range(26)]
            odds = (words[0] % 2 - 0.5) * 5 + (words[5] % 3 - 1) * 2 + (numbers[0] or 0) / 40
            label = int(draw.random() < 1 / (1 + 2.718281828 ** -odds))
            hexadecimal = [f"{word * 0x9E3779B1 % 2**32:08x}" if draw.random() > 0.05 else "" for word in words]
            file.write("\t".join(map(str, [label, *numbers, *hexadecimal])) + "\n")


def write_slots(path, seed, count, numbers=0):
    """Multi-hot clicks: none to three keys of each of five slots, of which two tell how likely a click is. Returns for each
    line its label and its true odds, which no model can rank better than. Compressed where the name ends in .gz."""
    draw, told = random.Random(seed), []
    with (gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w")) as file:
        for _ in range(count):
            keys = [(slot, draw.randrange(20)) for slot in range(1, 6) for _ in range(draw.randrange(4))]
            odds = sum(((key * 7 + slot) % 5 - 2) * 0.8 for slot, key in keys if slot in (2, 4))
            label = int(draw.random() < 1 / (1 + 2.718281828 ** -odds))
            told.append((label, odds))
            draw.shuffle(keys)
            dense = [f"{draw.random():.3f}" for _ in range(numbers)]
            file.write(" ".join([str(label), *dense, *(f"{slot}:key{key}" for slot, key in keys)]) + "\n")
    return told


def video(identity, labels, frames):
    """tf.train.SequenceExample of YouTube-8M's; frames are pairs of bytes, of picture and sound."""
    def lists(part):
        return b"".join(proto(1, proto(1, proto(1, frame[part]))) for frame in frames)
    packed = b"".join(proto(0, label)[1:] for label in labels)
    context = proto(1, b"".join(proto(1, proto(1, name) + proto(2, feature)) for name, feature in (
        (b"id", proto(1, proto(1, identity.encode()))), (b"labels", proto(3, proto(1, packed))))))
    return context + proto(2, b"".join(proto(1, proto(1, name) + proto(2, lists(part)))
                                       for part, name in enumerate((b"rgb", b"audio"))))


def write_videos(path, seed, count, classes):
    """Videos of one to three classes, whose frames are those of their centroids under noise: every label can be known."""
    centroids = [random.Random(one).choices((48, 144), k=RGB + AUDIO) for one in range(classes)]
    draw = random.Random(seed)
    def frame(label):
        features = bytes(byte + draw.randrange(64) for byte in centroids[label])
        return features[:RGB], features[RGB:]
    videos = []
    for number in range(count):
        labels = draw.sample(range(classes), draw.randrange(1, 4))
        videos.append(video(f"v{number:03}", labels, [frame(labels[i % len(labels)]) for i in range(draw.randrange(3, 6))]))
    write_tf_records(path, videos)
