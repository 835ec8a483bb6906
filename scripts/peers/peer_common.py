"""What the PyTorch peers share: options, best-practice settings, the timed loop and its one line of JSON."""
import argparse
import contextlib
import time

import torch

from peer_report import peak_rss_bytes, print_report


def parse_options(description, **defaults):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=["fp32", "bf16", "fp16", "pure-bf16"], default="fp32",
                        help="bf16, fp16: autocast, fp16 with GradScaler (ptrain's O1); pure-bf16: parameters too (its O2)")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument("--compile-mode", default="default", help="torch.compile's mode, such as max-autotune")
    parser.add_argument("--backend", choices=["inductor", "zentorch"], default="inductor", help="with --compile: torch.compile's")
    parser.add_argument("--threads", type=int, default=0, help="0: all cores this process may use")
    parser.add_argument("--steps", type=int, default=20, help="timed steps")
    parser.add_argument("--warmup", type=int, default=5, help="steps before timing starts")
    parser.add_argument("--seed", type=int, default=42)
    for name, (value, text) in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value, help=text)
    return parser.parse_args()


def prepare(options):
    """PyTorch's tuning advice, reproducible weights; fp32 means fp32 (no TF32), as ptrain's tf32: false."""
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(options.seed)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


def compiled(options, model):
    if not options.compile:
        return model
    if options.backend == "zentorch":  # AMD's; it registers itself, and has no mode
        import zentorch
        return torch.compile(model, backend=zentorch.__name__)
    return torch.compile(model, mode=options.compile_mode)


class CpuClock:
    """Seconds of each step; the CPU is done when a call returns."""

    def __init__(self):
        self.marks = []

    def mark(self):
        self.marks.append(time.perf_counter())

    def seconds(self):
        return [after - before for before, after in zip(self.marks, self.marks[1:])]


class CudaClock:
    """The same by events in the stream, so that timing does not make the host wait."""

    def __init__(self):
        self.marks = []

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.marks.append(event)

    def seconds(self):
        torch.cuda.synchronize()
        return [before.elapsed_time(after) / 1e3 for before, after in zip(self.marks, self.marks[1:])]


def measure(options, build, samples_per_step):
    """Calls build() -> (step_loss, optimizer): step_loss(index) runs the forward pass and returns the loss. Prints JSON."""
    cuda = options.device == "cuda"
    baseline = 0 if cuda else peak_rss_bytes()  # the interpreter and its libraries, before the model exists
    step_loss, optimizer = build()
    low = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(options.dtype)
    scaler = torch.amp.GradScaler(options.device, enabled=options.dtype == "fp16")
    losses, clock = [], CudaClock() if cuda else CpuClock()
    for index in range(options.warmup + options.steps):
        if index == options.warmup:
            clock.mark()
        with torch.autocast(options.device, dtype=low) if low else contextlib.nullcontext():
            loss = step_loss(index)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach().clone())  # read at the end, so that the host does not wait for the device
        if index >= options.warmup:
            clock.mark()
    times = clock.seconds()
    print_report(
        samples_per_step, times,
        framework=f"pytorch {torch.__version__}" + (" zentorch" if options.backend == "zentorch" else ""),
        dtype=options.dtype,
        device=torch.cuda.get_device_name() if cuda else "cpu",
        compiled=options.compile_mode if options.compile else False,
        threads=torch.get_num_threads(),
        peak_bytes=torch.cuda.max_memory_reserved() if cuda else peak_rss_bytes(),
        baseline_bytes=baseline,
        losses=[loss.item() for loss in losses])
