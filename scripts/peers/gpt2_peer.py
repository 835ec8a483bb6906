#!/usr/bin/env python3
"""GPT-2 fine-tuning in PyTorch, the same work as `ptrain run` with synthetic tokens; prints one line of JSON.

transformers' GPT2LMHeadModel of 124 million parameters with SDPA attention, fused AdamW, dropout as in training.
"""
import torch
import transformers

import peer_common


def main():
    options = peer_common.parse_options(
        __doc__.splitlines()[0], batch=(4, "blocks per step"), length=(256, "tokens of a block"),
        vocab=(50257, "vocabulary size"), dropout=(0.1, "all of them"), lr=(5e-5, "learning rate"))
    peer_common.prepare(options)

    def build():
        config = transformers.GPT2Config(
            vocab_size=options.vocab, resid_pdrop=options.dropout, embd_pdrop=options.dropout, attn_pdrop=options.dropout,
            attn_implementation="sdpa", use_cache=False)
        model = transformers.GPT2LMHeadModel(config).train().to(options.device)
        if options.dtype == "pure-bf16":
            model = model.to(torch.bfloat16)
        optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=0.01, fused=True)
        ids = torch.randint(options.vocab, (options.batch, options.length), device=options.device)
        run = peer_common.compiled(options, model)

        def step_loss(step):
            logits = run(input_ids=ids).logits[:, :-1]
            return torch.nn.functional.cross_entropy(logits.reshape(-1, options.vocab).float(), ids[:, 1:].reshape(-1))

        return step_loss, optimizer

    peer_common.measure(options, build, options.batch)


if __name__ == "__main__":
    main()
