#!/usr/bin/env python3
"""Training of a network for clicks in PyTorch, the same work as `ptrain run` with synthetic clicks; prints one line of JSON.

Tables of words with sparse gradients and SparseAdam, which updates the rows that a batch reads; fused AdamW for the rest.
"""
import torch

import click_network
import peer_common

NUMBERS, CATEGORIES = 13, 26  # of Criteo's lines
WORDS = 20  # of each category, as in ptrain's synthetic clicks: they are anywhere in the tables, but few


class BothOptimizers:
    def __init__(self, model, lr):
        tables = [p for name, p in model.named_parameters() if name in model.TABLES]
        others = [p for name, p in model.named_parameters() if name not in model.TABLES]
        self.parts = [torch.optim.SparseAdam(tables, lr=lr), torch.optim.AdamW(others, lr=lr, weight_decay=0, fused=True)]

    def step(self):
        for part in self.parts:
            part.step()

    def zero_grad(self, set_to_none=True):
        for part in self.parts:
            part.zero_grad(set_to_none=set_to_none)


def draw_words(options, *shape):
    """Rows [batch, categories, *shape] of words."""
    rows = torch.randint(options.rows, (CATEGORIES, WORDS))
    category = torch.arange(CATEGORIES).view(1, -1, *(1 for _ in shape))
    return rows[category, torch.randint(WORDS, (options.batch, CATEGORIES, *shape))]


def make_bags(options):
    """Words [batch, categories, bag_size], padded with the row after the last."""
    words = draw_words(options, options.bag_size)
    counts = torch.randint(options.bag_size + 1, (options.batch, CATEGORIES, 1))
    return words.masked_fill(torch.arange(options.bag_size) >= counts, options.rows)


def main():
    options = peer_common.parse_options(
        __doc__.splitlines()[0], batch=(512, "clicks per step"), rows=(1000001, "rows of the tables"),
        width=(9, "numbers a word is looked up as"), lr=(1e-3, "learning rate"),
        model=("wide_deep", "one of " + ", ".join(click_network.NETWORKS)),
        bag_size=(0, "most words of a feature, none to all of which each has; 0: one word each"),
        bag=("sum", "sum or mean of a bag's rows"))
    peer_common.prepare(options)

    def build():
        network = click_network.NETWORKS[options.model]
        bag = options.bag if options.bag_size else None
        model = network(NUMBERS, CATEGORIES, options.rows + (1 if bag else 0), options.width, bag).train()
        for table in model.TABLES:
            model.get_submodule(table.removesuffix(".weight")).sparse = True
        numbers = torch.randn(options.batch, NUMBERS)
        words = make_bags(options) if bag else draw_words(options)
        labels = torch.randint(2, (options.batch,)).float()
        run = peer_common.compiled(options, model)

        def step_loss(step):
            return torch.nn.functional.binary_cross_entropy_with_logits(run(numbers, words)[:, 0].float(), labels)

        return step_loss, BothOptimizers(model, options.lr)

    peer_common.measure(options, build, options.batch)


if __name__ == "__main__":
    main()
