#!/usr/bin/env python3
"""Training of ResNet-50 or BERT in JAX, the same work as vision_peer.py and bert_peer.py; prints one line of JSON.

Plain functions over one tree of parameters in fp32, the whole step compiled by XLA, its buffers donated. bf16: what
autocast means, convolutions and products in bf16, norms, softmax and loss in fp32.
"""
import argparse
import math
import time

import jax
import jax.numpy as jnp

from peer_report import peak_rss_bytes, print_report

SIZES = {"base": (12, 768, 12, 3072), "minilm-l6": (6, 384, 12, 1536)}  # layers, hidden, heads, intermediate


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=["resnet50", "bert"])
    parser.add_argument("--size", default="224", help="pixels, or " + ", ".join(SIZES))
    parser.add_argument("--batch", type=int, default=16, help="samples per step")
    parser.add_argument("--length", type=int, default=128, help="tokens per sequence, padding included")
    parser.add_argument("--vocab", type=int, default=30522)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--steps", type=int, default=20, help="timed steps")
    parser.add_argument("--warmup", type=int, default=5, help="steps before timing starts")
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args()


class Draws:
    """Fresh keys for initial values."""

    def __init__(self, seed):
        self.key = jax.random.key(seed)

    def normal(self, shape, deviation):
        self.key, key = jax.random.split(self.key)
        return deviation * jax.random.normal(key, shape, jnp.float32)


def convolution_norm(draws, inputs, outputs, kernel):
    return {"kernel": draws.normal((kernel, kernel, inputs, outputs), math.sqrt(2 / (kernel * kernel * outputs))),
            "scale": jnp.ones(outputs), "bias": jnp.zeros(outputs)}


def convolve_and_normalize(layer, x, stride, dtype):
    """NHWC; a batch norm with the batch's statistics, which also gives its running ones."""
    pad = layer["kernel"].shape[0] // 2
    x = jax.lax.conv_general_dilated(x.astype(dtype), layer["kernel"].astype(dtype), (stride, stride), [(pad, pad)] * 2,
                                     dimension_numbers=("NHWC", "HWIO", "NHWC")).astype(jnp.float32)
    mean, square = x.mean((0, 1, 2)), jnp.square(x).mean((0, 1, 2))
    variance = square - jnp.square(mean)
    y = (x - mean) * (jax.lax.rsqrt(variance + 1e-5) * layer["scale"]) + layer["bias"]
    return y.astype(dtype), (mean, variance)


def make_resnet50(options, draws):
    """(parameters, loss): loss(parameters, running, batch, key) -> (loss, new running statistics)."""
    blocks, inputs = [], 64
    for stage, count in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for index in range(count):
            block = {"a": convolution_norm(draws, inputs, width, 1), "b": convolution_norm(draws, width, width, 3),
                     "c": convolution_norm(draws, width, 4 * width, 1)}
            if index == 0:
                block["shortcut"] = convolution_norm(draws, inputs, 4 * width, 1)
            blocks.append(block)
            inputs = 4 * width
    strides = [2 if index == 0 and stage else 1 for stage, count in enumerate((3, 4, 6, 3)) for index in range(count)]
    parameters = {"stem": convolution_norm(draws, 3, 64, 7), "blocks": blocks,
                  "head": {"kernel": draws.normal((2048, 1000), 0.01), "bias": jnp.zeros(1000)}}
    dtype = jnp.bfloat16 if options.dtype == "bf16" else jnp.float32

    def loss(parameters, running, batch, key):
        images, labels = batch
        statistics_now = []

        def layer(values, x, stride=1):
            y, observed = convolve_and_normalize(values, x, stride, dtype)
            statistics_now.append(observed)
            return y

        x = jax.nn.relu(layer(parameters["stem"], images, 2))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)])
        for block, stride in zip(parameters["blocks"], strides):
            y = jax.nn.relu(layer(block["a"], x))
            y = jax.nn.relu(layer(block["b"], y, stride))
            y = layer(block["c"], y)
            x = jax.nn.relu(y + (layer(block["shortcut"], x, stride) if "shortcut" in block else x))
        x = x.astype(jnp.float32).mean((1, 2)).astype(dtype)
        logits = (x @ parameters["head"]["kernel"].astype(dtype)).astype(jnp.float32) + parameters["head"]["bias"]
        moved = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, running, statistics_now) if running else statistics_now
        return cross_entropy(logits, labels), moved

    pixels = int(options.size)
    batch = (draws.normal((options.batch, pixels, pixels, 3), 1), jnp.arange(options.batch) * 37 % 1000)
    return parameters, loss, batch


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def dense(draws, inputs, outputs):
    return {"kernel": draws.normal((inputs, outputs), 0.02), "bias": jnp.zeros(outputs)}


def norm(size):
    return {"scale": jnp.ones(size), "bias": jnp.zeros(size)}


def layer_norm(layer, x):
    x = x.astype(jnp.float32)
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-12) * layer["scale"] + layer["bias"]


def make_bert(options, draws):
    layers, hidden, heads, intermediate = SIZES[options.size]
    parameters = {
        "words": draws.normal((options.vocab, hidden), 0.02), "positions": draws.normal((512, hidden), 0.02),
        "types": draws.normal((2, hidden), 0.02), "norm": norm(hidden), "pooler": dense(draws, hidden, hidden),
        "head": dense(draws, hidden, 2),
        "layers": [{"qkv": dense(draws, hidden, 3 * hidden), "out": dense(draws, hidden, hidden), "norm": norm(hidden),
                    "up": dense(draws, hidden, intermediate), "down": dense(draws, intermediate, hidden),
                    "last": norm(hidden)} for _ in range(layers)]}
    dtype = jnp.bfloat16 if options.dtype == "bf16" else jnp.float32
    length = options.length

    def project(layer, x):
        return x.astype(dtype) @ layer["kernel"].astype(dtype) + layer["bias"].astype(dtype)

    def loss(parameters, running, batch, key):
        ids, lengths, labels = batch
        keys = iter(jax.random.split(key, 3 * layers + 2))

        def drop(x):
            kept = jax.random.bernoulli(next(keys), 1 - options.dropout, x.shape)
            return jnp.where(kept, x / (1 - options.dropout), 0).astype(x.dtype)

        masked = jnp.where(jnp.arange(length)[None] < lengths[:, None], 0.0, -1e9)[:, None, None]
        x = drop(layer_norm(parameters["norm"],
                            parameters["words"][ids] + parameters["positions"][:length] + parameters["types"][0]))
        for layer in parameters["layers"]:
            q, k, v = jnp.moveaxis(project(layer["qkv"], x).reshape(options.batch, length, 3, heads, hidden // heads), 2, 0)
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / math.sqrt(hidden // heads) + masked
            weights = drop(jax.nn.softmax(scores)).astype(dtype)
            attended = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(options.batch, length, hidden)
            x = layer_norm(layer["norm"], x + drop(project(layer["out"], attended)))
            y = project(layer["down"], jax.nn.gelu(project(layer["up"], x), approximate=False))
            x = layer_norm(layer["last"], x + drop(y))
        pooled = drop(jnp.tanh(project(parameters["pooler"], x[:, 0])))
        return cross_entropy(project(parameters["head"], pooled).astype(jnp.float32), labels), running

    draws.key, ids, lengths = jax.random.split(draws.key, 3)
    batch = (jax.random.randint(ids, (options.batch, length), 1000, options.vocab),
             jax.random.randint(lengths, (options.batch,), length // 2, length + 1), jnp.arange(options.batch) % 2)
    return parameters, loss, batch


def momentum(parameters, gradients, state, step):
    state = jax.tree.map(lambda velocity, p, g: 0.9 * velocity + g + 1e-4 * p, state, parameters, gradients)
    return jax.tree.map(lambda p, velocity: p - 0.01 * velocity, parameters, state), state


def adamw(parameters, gradients, state, step):
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state[0], gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state[1], gradients)
    rate, scale = 2e-5, jnp.sqrt(1 - 0.999 ** step) / (1 - 0.9 ** step)
    update = jax.tree.map(lambda p, m, v: p * (1 - rate * 0.01) - rate * scale * m / (jnp.sqrt(v) + 1e-6),
                          parameters, first, second)
    return update, (first, second)


def main():
    options = parse_options()
    baseline = peak_rss_bytes()
    draws = Draws(options.seed)
    vision = options.network == "resnet50"
    parameters, loss, batch = (make_resnet50 if vision else make_bert)(options, draws)
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    state, update = (zeros, momentum) if vision else ((zeros, jax.tree.map(jnp.zeros_like, parameters)), adamw)
    running = []

    def step(parameters, state, running, index):
        key = jax.random.fold_in(jax.random.key(options.seed), index)
        (value, running), gradients = jax.value_and_grad(loss, has_aux=True)(parameters, running, batch, key)
        parameters, state = update(parameters, gradients, state, index + 1.0)
        return parameters, state, running, value

    compiled = jax.jit(step, donate_argnums=(0, 1, 2))
    losses, times = [], []
    for index in range(options.warmup + options.steps):
        before = time.perf_counter()
        parameters, state, running, value = compiled(parameters, state, running, index)
        losses.append(float(value))
        jax.block_until_ready(parameters)
        if index >= options.warmup:
            times.append(time.perf_counter() - before)
    print_report(options.batch, times, framework="jax " + jax.__version__, dtype=options.dtype, device="cpu", compiled="jit",
                 peak_bytes=peak_rss_bytes(), baseline_bytes=baseline, losses=losses)


if __name__ == "__main__":
    main()
