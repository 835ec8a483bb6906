#!/usr/bin/env python3
"""ResNet training in PyTorch on several ranks: DistributedDataParallel over Gloo, a process and a share of the cores each.

The same work as vision_peer.py per rank; prints rank 0's line of JSON with the rate of all ranks together.
"""
import contextlib
import os
import sys

import torch
import torch.distributed
import torch.multiprocessing

import peer_common
from vision_peer import build_model


def share_of_cores(rank, ranks):
    cores = sorted(os.sched_getaffinity(0))
    begin = len(cores) * rank // ranks
    return cores[begin:max(begin + 1, len(cores) * (rank + 1) // ranks)]


def train(rank, options):
    cores = share_of_cores(rank, options.ranks)
    os.sched_setaffinity(0, cores)
    options.threads = options.threads or len(cores)
    peer_common.prepare(options)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=options.ranks)

    def build():
        dtype = torch.bfloat16 if options.dtype == "pure-bf16" else torch.float32
        model = build_model(options.model, options.classes, options.stem).train()
        model = model.to(dtype=dtype, memory_format=torch.channels_last)
        wrapped = torch.nn.parallel.DistributedDataParallel(
            model, bucket_cap_mb=options.bucket_mb, broadcast_buffers=False, gradient_as_bucket_view=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9, weight_decay=1e-4, fused=True)
        torch.manual_seed(options.seed + rank)
        labels = torch.randint(options.classes, (options.batch,))
        images = torch.randn(options.batch, 3, options.size, options.size).to(
            dtype=dtype, memory_format=torch.channels_last)
        return lambda step: torch.nn.functional.cross_entropy(wrapped(images).float(), labels), optimizer

    silence = contextlib.nullcontext() if rank == 0 else contextlib.redirect_stdout(open(os.devnull, "w"))
    with silence:
        peer_common.measure(options, build, options.batch * options.ranks)
    sys.stdout.flush()
    torch.distributed.destroy_process_group()


def main():
    options = peer_common.parse_options(
        __doc__.splitlines()[0], ranks=(2, "processes"), model=("resnet50", "torchvision model"),
        batch=(16, "images per rank and step"), size=(224, "px, height and width"), classes=(1000, "output classes"),
        stem=("imagenet", "imagenet or small"), lr=(0.01, "learning rate"), bucket_mb=(25, "MiB exchanged at once"))
    torch.multiprocessing.spawn(train, args=(options,), nprocs=options.ranks)


if __name__ == "__main__":
    main()
