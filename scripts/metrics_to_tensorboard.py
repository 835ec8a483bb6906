#!/usr/bin/env python3
"""Writes a run's metrics as a TensorBoard event file: an earlier name of `ptrain export-report --format tensorboard`.

    scripts/metrics_to_tensorboard.py runs/resnet50 --out runs/tensorboard/resnet50

Runs the ptrain of PTRAIN, else that of build/release, else that in PATH.
"""
import argparse
import os
import pathlib
import subprocess
import sys

BUILT = pathlib.Path(__file__).resolve().parents[1] / "build/release/bin/ptrain"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="folder of a run")
    parser.add_argument("--out", required=True, help="folder of the event file")
    options = parser.parse_args()
    program = os.environ.get("PTRAIN") or (str(BUILT) if BUILT.exists() else "ptrain")
    print(f"note: {program} export-report {options.run} --format tensorboard does this", file=sys.stderr)
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    command = [program, "export-report", options.run, "--format", "tensorboard", "--out", out / "events.out.tfevents.0.ptrain"]
    raise SystemExit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
