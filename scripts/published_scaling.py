#!/usr/bin/env python3
"""Compares `ptrain estimate --ranks` with Fluid 1.3's published gains on ResNet-50: 30 % on 8 V100 from its
parallel-graph mode, 46 % and 60 % on 32 from it and from its multi-process mode.

  scripts/published_scaling.py [--program build/release/bin/ptrain]

Both modes overlap the exchange of gradients with backward, which the earlier mode did not: the predicted gain is the
step with the whole exchange after backward over the step with only its exposed part. Neither batch
nor links were published, so they are assumed, the links as a range:
  one card  fp32, 32 images a card, 360 images/s (V100 16 GB of that year)
  8 cards   in one machine, an all-reduce's bus bandwidth 6 (PCIe), 12 (both) or 40 GB/s (NVLink)
  32 cards  four such machines at 25, 50 or 100 Gb/s, 80 % of which is reached
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BATCH, IMAGES_PER_SECOND = 32, 360
INSIDE_GB_S = {"PCIe": 6, "PCIe and NVLink": 12, "NVLink": 40}
BETWEEN_GBIT_S = (25, 50, 100)


def predict(program, ranks, inside, between):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        step = 1e3 * BATCH / IMAGES_PER_SECOND
        (folder / "one_card.json").write_text(json.dumps({"latency_ms": {"step": {"mean": step, "stdev": 0}}}))
        (folder / "links.yaml").write_text(
            f"ranks_per_node: 8\ninside_node: {{latency_us: 10, bandwidth_gb_s: {inside}}}\n"
            f"between_nodes: {{latency_us: 30, bandwidth_gb_s: {between}}}\n")
        result = subprocess.run(
            [program, "estimate", ROOT / "configs/resnet50_dist.yaml", "--amp", "O0", "-o", "data.source=synthetic", "-o",
             "data.image_size=224", "-o", "model.classes=1000", "-o", f"data.batch_size={BATCH}", "--ranks", str(ranks),
             "--links", folder / "links.yaml", "--measured", folder / "one_card.json", "--json"],
            check=True, capture_output=True, text=True)
        prediction = json.loads(result.stdout)[0]
        return step, prediction["exchange_ms"], prediction["step_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bin/ptrain")
    program = parser.parse_args().program
    cases = [(8, links, inside, 10.0, "+30 %") for links, inside in INSIDE_GB_S.items()]
    cases += [(32, f"{gbit} Gb/s", 12, gbit / 8 * 0.8, "+46 %, +60 %") for gbit in BETWEEN_GBIT_S]
    print("| V100 | Links | Exchange ms | Step after backward ms | Step overlapped ms | Gain predicted | Published |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for ranks, links, inside, between, published in cases:
        alone, exchange, overlapped = predict(program, ranks, inside, between)
        after = alone + exchange
        gain = 100 * (after / overlapped - 1)
        print(f"| {ranks} | {links} | {exchange:.1f} | {after:.1f} | {overlapped:.1f} | {gain:+.0f} % | {published} |")


if __name__ == "__main__":
    main()
