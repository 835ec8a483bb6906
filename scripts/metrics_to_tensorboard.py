#!/usr/bin/env python3
"""Writes a run's metrics.jsonl as a TensorBoard event file; needs nothing but Python.

    scripts/metrics_to_tensorboard.py runs/resnet50 --out runs/tensorboard/resnet50

Scalars: train/loss, train/lr, train/samples_per_second, train/step_ms, train/reader_ms, train/loss_scale, and every
metric of an evaluation, such as eval/loss. An event file is a series of records (length, CRC, bytes, CRC) of the
protocol buffer tensorflow.Event, of which step, wall_time and simple_value summaries are written here.
"""
import argparse
import json
import pathlib
import struct
import sys
import time

TRAIN = ("loss", "lr", "step_ms", "reader_ms", "loss_scale")
NO_METRICS = ("samples", "seconds")  # of an evaluation


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)  # Castagnoli, reflected
        table.append(byte)
    return table


CRC_TABLE = crc_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytearray([value]))


def field(number, wire, payload):
    return varint(number << 3 | wire) + payload


def message(number, payload):
    return field(number, 2, varint(len(payload)) + payload)


def event(wall_time, step=None, scalars=None, version=None):
    data = field(1, 1, struct.pack("<d", wall_time))
    if step is not None:
        data += field(2, 0, varint(step))
    if version is not None:
        data += message(3, version.encode())
    if scalars:
        values = (message(1, tag.encode()) + field(2, 5, struct.pack("<f", value)) for tag, value in scalars)
        data += message(5, b"".join(message(1, value) for value in values))
    return data


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def get_scalars(line):
    if "eval" in line:
        return [(f"eval/{name}", value) for name, value in line["eval"].items()
                if value is not None and name not in NO_METRICS]
    found = [(f"train/{name}", line[name]) for name in TRAIN if line.get(name) is not None]
    if line.get("step_ms"):
        found.append(("train/samples_per_second", line["samples"] / line["step_ms"] * 1e3))
    return found


def wall_times(lines, metrics):
    """When each line was written, in seconds since 1970. Lines of older runs have no time: theirs follow from the durations,
    up to the file's last change."""
    ends, elapsed = [], 0.0
    for line in lines:
        elapsed += line["eval"]["seconds"] if "eval" in line else sum(line.get("steps_ms") or [line.get("step_ms", 0)]) * 1e-3
        ends.append(elapsed)
    start = metrics.stat().st_mtime - elapsed
    return [line.get("time", start + end) for line, end in zip(lines, ends)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="folder of a run, or its metrics.jsonl")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the event file")
    arguments = parser.parse_args()
    metrics = arguments.run / "metrics.jsonl" if arguments.run.is_dir() else arguments.run
    try:
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    except (OSError, json.JSONDecodeError) as error:
        sys.exit(f"error: {metrics}: {error}")
    now = time.time()
    times = wall_times(lines, metrics)
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"events.out.tfevents.{int(now)}.ptrain"
    with path.open("wb") as file:
        file.write(record(event(min(times, default=now), version="brain.Event:2")))
        for line, wall_time in zip(lines, times):
            file.write(record(event(wall_time, line["step"], get_scalars(line))))
    print(path)


if __name__ == "__main__":
    main()
