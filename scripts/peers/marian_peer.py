#!/usr/bin/env python3
"""Translates the lines of a file by transformers, from the folder of a model that ptrain trained: what `ptrain infer FOLDER FILE
--beams N` is to print. A post-norm model is a MarianMTModel there, a pre-norm one a PegasusForConditionalGeneration. With
--against FILE it compares with that output.
"""
import sys

import torch
import transformers

from translation_lines import parse_options, translate_lines


def main():
    options = parse_options(__doc__)
    torch.set_num_threads(options.threads)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(options.model).eval()
    end = model.config.eos_token_id

    def translate(rows):
        longest = max(map(len, rows))
        ids = torch.tensor([row + [end] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        with torch.inference_mode():
            answers = model.generate(input_ids=ids, attention_mask=mask, num_beams=options.beams, do_sample=False,
                                     max_new_tokens=options.max_tokens, early_stopping=False, length_penalty=1.0)
        return [answer[:answer.index(end)] if end in answer else answer for answer in answers[:, 1:].tolist()]

    framework = f"transformers {transformers.__version__}, PyTorch {torch.__version__}"
    return translate_lines(options, end, framework, translate)


if __name__ == "__main__":
    sys.exit(main())
