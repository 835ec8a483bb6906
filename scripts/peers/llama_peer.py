#!/usr/bin/env python3
"""Training of SmolLM2-135M's network in PyTorch, the same work as `ptrain run` with synthetic tokens; prints one line of JSON.

transformers' LlamaForCausalLM with SDPA attention and fused AdamW; with --lora adapters by PEFT on a frozen base.
"""
import peft
import torch
import transformers

import peer_common


def build_network(options):
    config = transformers.LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=2048, rope_theta=100000.0, rms_norm_eps=1e-5,
        tie_word_embeddings=True, attn_implementation="sdpa", use_cache=False)
    model = transformers.LlamaForCausalLM(config).train().to(options.device)
    if options.dtype == "pure-bf16":
        model = model.to(torch.bfloat16)
    if options.lora == 0:
        return model
    adapters = peft.LoraConfig(r=options.lora, lora_alpha=2 * options.lora, target_modules="all-linear", task_type="CAUSAL_LM")
    return peft.get_peft_model(model, adapters)


def main():
    options = peer_common.parse_options(
        __doc__.splitlines()[0], batch=(2, "blocks per step"), length=(512, "tokens of a block"),
        lora=(0, "rank of adapters beside every linear layer; 0: all weights are trained"), lr=(1e-4, "learning rate"))
    peer_common.prepare(options)

    def build():
        model = build_network(options)
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=options.lr, weight_decay=0.01, fused=True)
        ids = torch.randint(49152, (options.batch, options.length), device=options.device)
        run = peer_common.compiled(options, model)

        def step_loss(step):
            logits = run(input_ids=ids).logits[:, :-1]
            return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), ids[:, 1:].reshape(-1))

        return step_loss, optimizer

    peer_common.measure(options, build, options.batch)


if __name__ == "__main__":
    main()
