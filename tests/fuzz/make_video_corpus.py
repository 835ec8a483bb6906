#!/usr/bin/env python3
"""Writes corpus/sequence_example: what fuzz_sequence_example begins with. Usage: make_video_corpus.py"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))

from data_files import AUDIO, RGB, video  # noqa: E402

FRAME = (b"r" * RGB, b"a" * AUDIO)
SEEDS = {"one_frame": video("abcd", [3], [FRAME]), "frames": video("efgh", [1, 300, 3861], [FRAME] * 4),
         "no_frames": video("ijkl", [], []), "short_frame": video("mnop", [1], [(b"r", b"a")])}

if __name__ == "__main__":
    folder = HERE / "corpus/sequence_example"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in SEEDS.items():
        (folder / name).write_bytes(content)
