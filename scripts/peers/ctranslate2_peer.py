#!/usr/bin/env python3
"""Translates the lines of a file by CTranslate2 in fp32, from the folder of a model that ptrain trained, as marian_peer.py does
by transformers. Beams of the same score may end differently: CTranslate2 stops when it has as many texts as beams, ptrain
and transformers when none can become better.
"""
import sys
import tempfile

import ctranslate2
import tokenizers
import transformers
from ctranslate2.converters.transformers import BartLoader

from translation_lines import parse_options, translate_lines


class FolderConverter(ctranslate2.converters.converter.Converter):
    """Of the folder's weights. CTranslate2's own loader of MarianMTModel starts a translation with zeros and drops the last
    token, as Marian's published models need; these start with the end token, as BART's do."""

    def __init__(self, folder):
        self.folder = folder

    def _load(self):
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(self.folder)
        loader = BartLoader()
        model.config.normalize_embedding = False
        spec = loader.get_model_spec(model)
        tokens = list_tokens(self.folder)
        loader.set_vocabulary(spec, tokens)
        end = tokens[model.config.eos_token_id]
        spec.config.bos_token = spec.config.eos_token = spec.config.decoder_start_token = end
        spec.config.unk_token = end
        return spec


def list_tokens(folder):
    vocabulary = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    return sorted(vocabulary, key=vocabulary.get)


def main():
    options = parse_options(__doc__)
    end = transformers.AutoConfig.from_pretrained(options.model).eos_token_id
    tokens = list_tokens(options.model)
    ids = {token: i for i, token in enumerate(tokens)}
    with tempfile.TemporaryDirectory() as folder:
        FolderConverter(options.model).convert(folder, force=True)
        translator = ctranslate2.Translator(folder, compute_type="float32", inter_threads=1, intra_threads=options.threads)

    def translate(rows):
        found = translator.translate_batch([[tokens[i] for i in row] for row in rows], beam_size=options.beams,
                                           max_batch_size=options.batch, max_decoding_length=options.max_tokens,
                                           length_penalty=1.0)
        return [[ids[token] for token in result.hypotheses[0]] for result in found]

    return translate_lines(options, end, f"CTranslate2 {ctranslate2.__version__}", translate)


if __name__ == "__main__":
    sys.exit(main())
