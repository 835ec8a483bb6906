#!/usr/bin/env python3
"""Writes weights.pth, weights_2.pdparams, weights_4.pdparams and weights_pickled.safetensors: the same tensors as PyTorch saves a
checkpoint, as Paddle saves arrays (pickles of protocol 2 and 4), and as the floats that are expected.

    python3 -m pip install torch numpy
    python3 tests/golden/make_pickle_golden.py
"""
import collections
import pathlib
import pickle

import numpy as np
import torch

import safetensors_file

FOLDER = pathlib.Path(__file__).parent


class Array(np.ndarray):
    """An array with a name, which Paddle saves as the two."""
    def __reduce__(self):
        return tuple, (("linear_0.w_0", self.view(np.ndarray)),)


def as_floats(tensor):
    return "F32", tuple(tensor.shape), tensor.detach().float().contiguous().numpy().tobytes()


def main():
    torch.manual_seed(3)
    shared = torch.randn(4, 6)
    state = collections.OrderedDict({
        "weight": torch.randn(3, 5), "half": torch.randn(7).half(), "bf16": torch.randn(2, 3).bfloat16(),
        "double": torch.randn(4).double(), "steps": torch.tensor(12), "transposed": shared.t(), "rows": shared[1:3],
        "column": shared[:, 2], "parameter": torch.nn.Parameter(torch.randn(2, 2)), "empty": torch.zeros(0, 4)})
    state._metadata = collections.OrderedDict({"": {"version": 1}})
    torch.save({"epoch": 3, "note": "none", "rate": 0.1, "best": None, "state_dict": state,
                "optimizer": {"state": {0: {"momentum": torch.zeros(2)}}, "groups": [{"lr": 0.1, "on": True}]}},
               FOLDER / "weights.pth")
    expected = {name: as_floats(tensor) for name, tensor in state.items() if tensor.is_floating_point() and tensor.numel() > 0}
    safetensors_file.write(FOLDER / "weights_pickled.safetensors", expected, {"made_with": "torch"})
    for protocol in (2, 4):
        arrays = {name: state[name].detach().contiguous().numpy() for name in ("weight", "half", "double", "steps", "rows")}
        arrays["bf16"] = state["bf16"].view(torch.int16).numpy().astype(np.uint16)
        arrays["weight"] = arrays["weight"].view(Array)
        arrays["StructuredToParameterName@@"] = {name: name for name in list(arrays)}
        with open(FOLDER / f"weights_{protocol}.pdparams", "wb") as file:
            pickle.dump(arrays, file, protocol=protocol)


if __name__ == "__main__":
    main()
