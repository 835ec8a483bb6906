#!/usr/bin/env python3
"""Writes tokenizer.json: texts and the ids that Hugging Face's BertTokenizer gives them over a small vocabulary.

Usage: make_tokenizer_golden.py [output.json]   (needs the package transformers)
"""
import json
import pathlib
import sys
import tempfile

from transformers import BertTokenizer

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


def main():
    output = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("tokenizer.json"))
    golden = {"vocabulary": VOCABULARY, "cases": []}
    with tempfile.TemporaryDirectory() as directory:
        vocabulary = pathlib.Path(directory) / "vocab.txt"
        vocabulary.write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
        for lowercase in (True, False):
            tokenizer = BertTokenizer(str(vocabulary), do_lower_case=lowercase)
            inputs = [(text, None, 256) for text in TEXTS]
            inputs += [(first, second, length) for first, second in PAIRS for length in (5, 8, 9, 12, 13, 64)]
            for first, second, length in inputs:
                encoded = tokenizer(first, second, truncation="longest_first", max_length=length,
                                    return_token_type_ids=True)
                golden["cases"].append({"lowercase": lowercase, "first": first, "second": second, "max_length": length,
                                        "ids": encoded["input_ids"], "token_types": encoded["token_type_ids"]})
    lines = [json.dumps(case) for case in golden["cases"]]
    output.write_text('{"vocabulary": ' + json.dumps(golden["vocabulary"]) + ',\n"cases": [\n' + ",\n".join(lines)
                      + "\n]}\n")


if __name__ == "__main__":
    main()
