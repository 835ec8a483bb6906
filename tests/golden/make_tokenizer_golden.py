#!/usr/bin/env python3
"""Writes tokenizer.json, byte_bpe.json and gpt2_bpe.json: texts and the ids that Hugging Face's BertTokenizer, RobertaTokenizer
and GPT2Tokenizer give them, each over a small vocabulary; of all of SST-2's sentences, the checksum of RobertaTokenizer's ids.

Usage: make_tokenizer_golden.py SST2 [folder]   (needs the package transformers; SST2 has train.tsv and dev.tsv)
"""
import array
import json
import pathlib
import sys
import tempfile
import zlib

from tokenizers import AddedToken, ByteLevelBPETokenizer
from transformers import BertTokenizer, GPT2Tokenizer, RobertaTokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
VOCABULARY = (
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    + list(LETTERS) + ["##" + letter for letter in LETTERS]
    + list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + list("中文字日本語。，！—“”’…¿€")
    + ["the", "train", "##ing", "##ed", "un", "##believ", "##able", "cafe", "café", "##é", "é", "naive", "über", "uber",
       "strasse", "straße", "##ß", "ß", "москва", "Москва", "ελλας", "##ς", "σ", "##σ", "i", "##i", "한국", "ᄒ", "##ᅡ",
       "##ᆫ", "かな", "か", "##な", "カ", "##タ", "नम", "##स", "##त", "##े", "🙂", "😀", "👨", "##👩", "❤", "★", "x" * 60,
       "##" + "x" * 40, "hello", "world", "good", "bad", "##ly", "movie", "wo", "##n", "t"]
)
TEXTS = [
    "Hello, world! The unbelievable training trained.",
    "  leading\tand\ntrailing \r\n white\u00a0space\u3000everywhere\u2003 ",
    "Café cafe\u0301 CAFÉ naïve Über STRASSE straße ẞ",
    "中文字abc日本語。mixed中the文",
    "Москва МОСКВА Ελλάς ΕΛΛΑΣ İstanbul ıI",
    "한국 한국어 かな ガが カタ नमस्ते",
    "emoji 🙂😀👨‍👩‍👧 ❤️ ★ 1️⃣ 🇩🇪",
    "control \u0001\u0007\u200b\u200d\ufeff\u00ad chars\u0000 \ufffd end\u007f\u0085x",
    "don't won't it's \"quoted\" “curly” ’ … — ¿que? 5€ $3.50 a_b-c/d [x] {y} ~ ^ `",
    "x" * 100 + " " + "x" * 101 + " " + "é" * 100 + " " + "é" * 101,
    "[CLS] written [SEP] out [MASK] and [UNK] but [cls] [PAD] [ SEP ]",
    "\u0e01\u0e33\u0e31 \u05d0\u05b8\u05d1 \u0627\u064e\u0628 zalgo z\u0351\u0327\u0352a\u034f",
    "\U0002b740 \U0002b930 \U00020000x \uf900y \u3400",
    "ﬁ ﬂ ① ² ½ Å Å K ǆ",
    "é",
    " ",
]
PAIRS = [
    ("good movie", "bad movie"),
    ("the the the the the the the the", "good"),
    ("good", "the the the the the the the the the"),
    ("a b c d e f g h i j", "k l m n o p q r s"),
    ("a b c d e f g h i", "k l m n o p q r s t"),
    ("a b c d e f g h i", "k l m n o p q r s"),
]
BYTE_TEXTS = TEXTS + [
    "it's we're they've I'm you'll he'd DON'T don''t 'sure 'tis ' s",
    "one  two   three\n\nfour \n five\t\tsix \r\n seven ",
    "\u3000\u3000wide\u00a0\u00a0hard \u2003em \u0085next\u001cunit",
    "<s>marked</s> and <mask>, a  <mask>  <pad> <unk> <S> < s>",
    "x1y22z333 \u0661\u0662 \u2167 \u00bd 10,000.50",
    "the train trains the training " * 3 + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
    "\u0301\u0302 e\u0301e e\u200de \ud55c\uae00",
]

GPT2_TEXTS = ["one<|endoftext|>two <|endoftext|> three<|endoftext|>\n<|endoftext|><|endoftext|>", "<|end of text|> <|EndOfText|>",
              " = Title = \n", "a line \n"]


def encoded(tokenizer, inputs, **header):
    """A case for each of `inputs`: (first, second or None, max_length)."""
    cases = []
    for first, second, length in inputs:
        ids = tokenizer(first, second, truncation="longest_first", max_length=length, return_token_type_ids=True)
        cases.append({**header, "first": first, "second": second, "max_length": length, "ids": ids["input_ids"],
                      "token_types": ids["token_type_ids"]})
    return cases


def write(path, header, cases):
    lines = ["%s: %s" % (json.dumps(name), json.dumps(value)) for name, value in header.items()]
    cases = [json.dumps(case) for case in cases]
    path.write_text("{" + ",\n".join(lines) + ',\n"cases": [\n' + ",\n".join(cases) + "\n]}\n")


def checksum(tokenizer, sst2):
    """Of the ids, 32 bits each, of every sentence in the order of the files."""
    sentences, tokens, crc = 0, 0, 0
    for name in ("train.tsv", "dev.tsv"):
        for line in (sst2 / name).read_text(encoding="utf-8").splitlines():
            ids = tokenizer(line.rpartition("\t")[0], add_special_tokens=False)["input_ids"]
            sentences, tokens, crc = sentences + 1, tokens + len(ids), zlib.crc32(array.array("i", ids).tobytes(), crc)
    return {"sentences": sentences, "tokens": tokens, "crc32": crc}


def write_byte_bpe(path, sst2):
    with tempfile.TemporaryDirectory() as directory:
        trained = ByteLevelBPETokenizer()
        trained.train_from_iterator(BYTE_TEXTS * 2, vocab_size=600, min_frequency=2, show_progress=False,
                                    special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        trained.save_model(directory)
        # The mask takes white space before it along, as in the published files.
        tokenizer = RobertaTokenizer.from_pretrained(directory, mask_token=AddedToken("<mask>", lstrip=True))
        folder = pathlib.Path(directory)
        header = {"vocabulary": json.loads((folder / "vocab.json").read_text(encoding="utf-8")),
                 "merges": (folder / "merges.txt").read_text(encoding="utf-8"), "sst2": checksum(tokenizer, sst2)}
        inputs = [(text, None, 512) for text in BYTE_TEXTS]
        inputs += [(first, second, length) for first, second in PAIRS for length in (5, 8, 9, 12, 13, 64)]
        write(path, header, encoded(tokenizer, inputs))


def write_gpt2_bpe(path):
    with tempfile.TemporaryDirectory() as directory:
        trained = ByteLevelBPETokenizer()
        trained.train_from_iterator(BYTE_TEXTS * 2, vocab_size=420, min_frequency=2, show_progress=False,
                                    special_tokens=["<|endoftext|>"])
        trained.save_model(directory)
        tokenizer = GPT2Tokenizer.from_pretrained(directory)
        folder = pathlib.Path(directory)
        header = {"vocabulary": json.loads((folder / "vocab.json").read_text(encoding="utf-8")),
                 "merges": (folder / "merges.txt").read_text(encoding="utf-8")}
        write(path, header, [{"text": text, "ids": tokenizer(text)["input_ids"]} for text in BYTE_TEXTS + GPT2_TEXTS])


def main():
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent
    write_byte_bpe(folder / "byte_bpe.json", pathlib.Path(sys.argv[1]))
    write_gpt2_bpe(folder / "gpt2_bpe.json")
    golden = {"vocabulary": VOCABULARY, "cases": []}
    with tempfile.TemporaryDirectory() as directory:
        vocabulary = pathlib.Path(directory) / "vocab.txt"
        vocabulary.write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
        for lowercase in (True, False):
            tokenizer = BertTokenizer(str(vocabulary), do_lower_case=lowercase)
            inputs = [(text, None, 256) for text in TEXTS]
            inputs += [(first, second, length) for first, second in PAIRS for length in (5, 8, 9, 12, 13, 64)]
            golden["cases"] += encoded(tokenizer, inputs, lowercase=lowercase)
    write(folder / "tokenizer.json", {"vocabulary": golden["vocabulary"]}, golden["cases"])


if __name__ == "__main__":
    main()
