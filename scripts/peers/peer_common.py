"""What the PyTorch peers share: options, best-practice settings, the timed loop and its one line of JSON."""
import argparse
import contextlib
import json
import resource
import statistics
import time

import torch


def parse_options(description, **defaults):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--dtype", choices=["fp32", "bf16", "pure-bf16"], default="fp32",
                        help="bf16: autocast (ptrain's O1); pure-bf16: parameters in bf16 too (its O2)")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument("--threads", type=int, default=0, help="0: all cores this process may use")
    parser.add_argument("--steps", type=int, default=20, help="timed steps")
    parser.add_argument("--warmup", type=int, default=5, help="steps before timing starts")
    parser.add_argument("--seed", type=int, default=42)
    for name, (value, text) in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value, help=text)
    return parser.parse_args()


def prepare(options):
    """PyTorch's CPU tuning advice: one OpenMP pool of all cores, no denormals, reproducible weights."""
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(options.seed)


def peak_rss_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(options, build, samples_per_step):
    """Calls build() -> (step_loss, optimizer): step_loss(index) runs the forward pass and returns the loss. Prints JSON."""
    baseline = peak_rss_bytes()  # the interpreter and its libraries, before there is a model
    step_loss, optimizer = build()
    autocast = options.dtype == "bf16"
    losses, times = [], []
    for index in range(options.warmup + options.steps):
        start = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16) if autocast else contextlib.nullcontext():
            loss = step_loss(index)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if index >= options.warmup:
            times.append(time.perf_counter() - start)
    percentiles = statistics.quantiles(times, n=100, method="inclusive") if len(times) > 1 else times * 99
    print(json.dumps({
        "framework": "pytorch " + torch.__version__,
        "dtype": options.dtype,
        "compiled": options.compile,
        "threads": torch.get_num_threads(),
        "samples_per_second": samples_per_step * len(times) / sum(times),
        "step_ms": {"mean": 1e3 * statistics.fmean(times), "p50": 1e3 * percentiles[49],
                    "p90": 1e3 * percentiles[89], "p99": 1e3 * percentiles[98]},
        "steps": len(times),
        "peak_rss_bytes": peak_rss_bytes(),
        "baseline_rss_bytes": baseline,
        "losses": losses,
    }))
