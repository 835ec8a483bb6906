#!/usr/bin/env python3
"""Fine-tuning of BERT or a related model in PyTorch, the same work as `ptrain run` with synthetic text; prints one line of JSON.

transformers' ...ForSequenceClassification with SDPA attention and a padding mask, fused AdamW, dropout as in training.
"""
import torch
import transformers

import peer_common

# layers, hidden, heads, intermediate
SIZES = {
    "tiny": (2, 128, 2, 512), "mini": (4, 256, 4, 1024), "small": (4, 512, 8, 2048), "medium": (8, 512, 8, 2048),
    "base": (12, 768, 12, 3072), "distil": (6, 768, 12, 3072),
    "large": (24, 1024, 16, 4096), "minilm-l6": (6, 384, 12, 1536),
}


KINS = ("Bert", "DistilBert", "Roberta", "Ernie")


def make_model(options):
    layers, hidden, heads, intermediate = SIZES[options.size]
    names = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads,
             "intermediate_size": intermediate, "hidden_dropout_prob": options.dropout,
             "attention_probs_dropout_prob": options.dropout}
    if options.kin == "DistilBert":
        names = {"n_layers": layers, "dim": hidden, "n_heads": heads, "hidden_dim": intermediate,
                 "dropout": options.dropout, "attention_dropout": options.dropout}
    config = getattr(transformers, options.kin + "Config")(
        vocab_size=options.vocab, num_labels=options.classes, attn_implementation="sdpa", **names)
    return getattr(transformers, options.kin + "ForSequenceClassification")(config)


def main():
    options = peer_common.parse_options(
        __doc__.splitlines()[0], kin=("Bert", ", ".join(KINS)), size=("base", ", ".join(SIZES)), batch=(8, "sequences per step"),
        length=(128, "tokens per sequence, padding included"), classes=(2, "output classes"),
        vocab=(30522, "vocabulary size"), dropout=(0.1, "hidden and attention dropout"), lr=(2e-5, "learning rate"))
    peer_common.prepare(options)

    def build():
        model = make_model(options).train().to(options.device)
        if options.dtype == "pure-bf16":
            model = model.to(torch.bfloat16)
        optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, eps=1e-6, weight_decay=0.01, fused=True)
        device = options.device
        ids = torch.randint(1000, options.vocab, (options.batch, options.length), device=device)
        lengths = torch.randint(options.length // 2, options.length + 1, (options.batch, 1), device=device)
        mask = (torch.arange(options.length, device=device)[None, :] < lengths).long()
        labels = torch.randint(options.classes, (options.batch,), device=device)
        run = peer_common.compiled(options, model)

        def step_loss(step):
            logits = run(input_ids=ids, attention_mask=mask).logits
            return torch.nn.functional.cross_entropy(logits.float(), labels)

        return step_loss, optimizer

    peer_common.measure(options, build, options.batch)


if __name__ == "__main__":
    main()
