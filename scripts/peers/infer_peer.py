#!/usr/bin/env python3
"""Inference in PyTorch (torch.compile), ONNX Runtime or OpenVINO as `ptrain bench infer` times it; prints one line of JSON.

    infer_peer.py --runtime openvino --onnx model.onnx --batch 16 --dtype bf16 --threads 2
    infer_peer.py --runtime torch --network resnet50 --size 224 --batch 1 --threads 2 --wait

With --wait it measures once for each line on standard input, and sleeps in between: a network is compiled once for all
rounds. ONNX Runtime and OpenVINO run the file that `ptrain export --format onnx` wrote, which decodes no image and takes bytes;
PyTorch the same network from torchvision, timm or transformers, with random weights.
"""
import argparse
import json
import resource
import statistics
import sys
import time

import numpy

BERT = {"base": (12, 768, 12, 3072), "minilm-l6": (6, 384, 12, 1536)}  # layers, hidden, heads, intermediate


def made_up_inputs(options):
    draw = numpy.random.default_rng(1)
    if options.length:
        shape = (options.batch, options.length)
        return {"input_ids": draw.integers(1000, 30000, shape), "attention_mask": numpy.ones(shape, numpy.int64),
                "token_type_ids": numpy.zeros(shape, numpy.int64)}
    return {"images": draw.integers(0, 256, (options.batch, options.size, options.size, 3), numpy.uint8)}


def torch_network(options):
    import torch
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[options.dtype]
    if options.length:
        import transformers
        layers, hidden, heads, intermediate = BERT[options.network]
        network = transformers.BertForSequenceClassification(transformers.BertConfig(
            num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, intermediate_size=intermediate,
            attn_implementation="sdpa"))
        return network.eval().to(dtype), lambda feed: {key: torch.from_numpy(value) for key, value in feed.items()}
    import timm
    import torchvision
    make = getattr(torchvision.models, options.network, None) or (lambda: timm.create_model(options.network))
    network = make().eval().to(dtype, memory_format=torch.channels_last)
    return network, lambda feed: {"x": torch.from_numpy(feed["images"]).permute(0, 3, 1, 2).to(dtype) / 255}


def torch_runner(options):
    import torch
    torch.set_num_threads(options.threads)
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(True)
    network, convert = torch_network(options)
    compiled = torch.compile(network)

    def run(feed):
        with torch.inference_mode():
            result = compiled(**convert(feed))
        return getattr(result, "logits", result).float().numpy()
    return run, "pytorch " + torch.__version__


def onnxruntime_runner(options):
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(options.onnx, settings, providers=["CPUExecutionProvider"])
    return lambda feed: session.run(None, feed)[0], "onnxruntime " + onnxruntime.__version__


def openvino_runner(options):
    import openvino
    core = openvino.Core()
    model = core.read_model(options.onnx)
    model.reshape({name: list(value.shape) for name, value in made_up_inputs(options).items()})
    compiled = core.compile_model(model, "CPU", {
        "INFERENCE_PRECISION_HINT": "bf16" if options.dtype == "bf16" else "f32",
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": options.threads})
    request = compiled.create_infer_request()
    return lambda feed: next(iter(request.infer(feed).values())), "openvino " + openvino.__version__


RUNNERS = {"torch": torch_runner, "onnxruntime": onnxruntime_runner, "openvino": openvino_runner}


def measure(run, feed, options):
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < options.seconds or len(times) < 10:
        start = time.perf_counter()
        logits = run(feed)
        times.append(time.perf_counter() - start)
    assert logits.shape[0] == options.batch and numpy.isfinite(logits).all()
    return {"samples_per_second": options.batch * len(times) / sum(times),
            "p90_ms": 1e3 * statistics.quantiles(times, n=10, method="inclusive")[8], "queries": len(times),
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", choices=sorted(RUNNERS), required=True)
    parser.add_argument("--onnx", help="file of ONNX Runtime and OpenVINO")
    parser.add_argument("--network", help="torchvision's or timm's name, or " + ", ".join(BERT))
    parser.add_argument("--size", type=int, default=224, help="px, height and width")
    parser.add_argument("--length", type=int, default=0, help="tokens of a text; 0: images")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--dtype", choices=["fp32", "bf16", "int8"], default="fp32", help="int8: the file is quantized")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--wait", action="store_true", help="measure once for each line on standard input")
    options = parser.parse_args()
    run, runtime = RUNNERS[options.runtime](options)
    feed = made_up_inputs(options)
    for _ in range(3):
        run(feed)
    for _ in sys.stdin if options.wait else range(1):
        print(json.dumps({"runtime": runtime, **measure(run, feed, options)}), flush=True)


if __name__ == "__main__":
    main()
