#!/usr/bin/env python3
"""Writes tokenizer.json, byte_bpe.json and gpt2_bpe.json: texts and the ids that Hugging Face's BertTokenizer, RobertaTokenizer
and GPT2Tokenizer give them, each over a small vocabulary; of all of SST-2's sentences, the checksum of RobertaTokenizer's ids.
Also tokenizer_forms.json: of each form of the file tokenizer.json, ids and decoded texts by the package tokenizers; and
sentencepiece.json: the same of small models of SentencePiece, which are written beside it.

Usage: make_tokenizer_golden.py SST2 [folder]   (needs the packages transformers and sentencepiece; SST2 has train.tsv and dev.tsv)
"""
import array
import json
import pathlib
import sys
import tempfile
import zlib

import sentencepiece
import tokenizers
from tokenizers import AddedToken, ByteLevelBPETokenizer, Regex, decoders, normalizers, pre_tokenizers, processors
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

CHAT_TEXTS = ["<|im_start|>user\nWhat is 12 + 3456?<|im_end|>\n<|im_start|>assistant\n", " <s> one</s>two</s></s> <unk>",
              "a\u0301 <t\u00fcr> <tu\u0308r> caf\u00e9 cafe\u0301", "IT'S we'LL 'RE it'\u017f x'\u017f\u017f", "year 2024: 1234567 a1b2",
              "first line\r\n\r\n  second\n \n\tthird   \n", "\u2581one \u2581 two", "x<|im_end|>  <wide>  y <wide>z",
              "!!\n\n??\r\n...\n", "   "]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace("{1,3}", "")


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


def train_byte_model():
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(BYTE_TEXTS * 2, vocab_size=400, min_frequency=2, show_progress=False)
    return json.loads(trained.to_str())["model"]


def train_character_model():
    """As SentencePiece's BPE with bytes for characters that have no token."""
    trained = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    trained.normalizer = normalizers.Replace(" ", "\u2581")
    marks = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, min_frequency=2, show_progress=False, special_tokens=marks,
                                             limit_alphabet=60)
    trained.train_from_iterator(BYTE_TEXTS * 2, trainer)
    return json.loads(trained.to_str())["model"]


def make_form(model, added, **parts):
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps({"version": "1.0", "model": model, "added_tokens": []}))
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.add_tokens([token if isinstance(token, AddedToken) else AddedToken(token, normalized=False, special=True)
                          for token in added])
    return tokenizer


def make_forms(models):
    """Name, its model, fields of the model that differ, and the tokenizer."""
    level = pre_tokenizers.ByteLevel
    chat = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    bytes_only = level(add_prefix_space=False, use_regex=False)
    spaces = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                decoders.Strip(" ", 1, 0)])
    whole_words = {"ignore_merges": True}

    def bytes_form(added, changes={}, **parts):
        return "bytes", changes, make_form({**models["bytes"], **changes}, added, decoder=decoders.ByteLevel(), **parts)

    def characters_form(**parts):
        marks = ["<unk>", "<s>", "</s>", AddedToken("<wide>", rstrip=True, normalized=False)]
        return "characters", {}, make_form(models["characters"], marks, decoder=spaces, **parts)

    marks = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, normalized=False)]
    return {
        "gpt2": bytes_form(["<|endoftext|>"], pre_tokenizer=level(add_prefix_space=False)),
        "smollm2": bytes_form(chat, pre_tokenizer=pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), level(add_prefix_space=False)])),
        "llama3": bytes_form(chat, whole_words, pre_tokenizer=pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), bytes_only])),
        "qwen2": bytes_form(chat + [AddedToken("<tu\u0308r>", normalized=True)], normalizer=normalizers.NFC(),
                            pre_tokenizer=pre_tokenizers.Sequence(
                                [pre_tokenizers.Split(Regex(QWEN), "isolated"), bytes_only])),
        "roberta": bytes_form(marks, pre_tokenizer=level(add_prefix_space=False),
                              post_processor=processors.RobertaProcessing(("</s>", 402), ("<s>", 400))),
        "llama2": characters_form(normalizer=normalizers.Sequence(
            [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])),
        "llama2_metaspace": characters_form(pre_tokenizer=pre_tokenizers.Metaspace("\u2581", "first", split=False)),
    }


def write_forms(path):
    models = {"bytes": train_byte_model(), "characters": train_character_model()}
    forms = {}
    for name, (model, changes, tokenizer) in make_forms(models).items():
        file = {**json.loads(tokenizer.to_str()), "model": {"shared": model, **changes}}
        cases = []
        for text in BYTE_TEXTS + CHAT_TEXTS:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            # The package takes characters of a normalised token for bytes.
            decoded = None if "<t\u00fcr>" in text else tokenizer.decode(ids, skip_special_tokens=False)
            cases.append({"text": text, "ids": ids, "decoded": decoded})
        forms[name] = {"file": file, "cases": cases}
    lines = [f"{json.dumps(name)}: {json.dumps(form, separators=(',', ':'))}" for name, form in forms.items()]
    models = json.dumps(models, separators=(",", ":"))
    path.write_text('{"models": ' + models + ',\n"forms": {\n' + ",\n".join(lines) + "\n}}\n")


def write_sentencepiece(folder):
    golden = {}
    for kind in ("bpe", "unigram"):
        path = folder / f"sentencepiece_{kind}.model"
        with path.open("wb") as writer:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(BYTE_TEXTS * 3), model_writer=writer, vocab_size=460, model_type=kind, byte_fallback=True,
                character_coverage=0.98, normalization_rule_name="identity", user_defined_symbols=["<|end|>"], num_threads=1,
                hard_vocab_limit=False, minloglevel=2)
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        cases = []
        for text in BYTE_TEXTS + CHAT_TEXTS + ["one <|end|>two"]:
            if "x" * 20 in text:
                continue  # ties, which versions of the package break in different ways
            text = text.replace("\0", "")  # which the package takes for the end of a text
            ids = processor.encode(text)
            cases.append({"text": text, "ids": ids, "decoded": processor.decode(ids)})
        golden[kind] = {"size": processor.vocab_size(), "end": processor.eos_id(), "cases": cases}
    lines = [f"{json.dumps(kind)}: {json.dumps(one, separators=(',', ':'))}" for kind, one in golden.items()]
    (folder / "sentencepiece.json").write_text("{" + ",\n".join(lines) + "}\n")


def main():
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent
    write_byte_bpe(folder / "byte_bpe.json", pathlib.Path(sys.argv[1]))
    write_gpt2_bpe(folder / "gpt2_bpe.json")
    write_forms(folder / "tokenizer_forms.json")
    write_sentencepiece(folder)
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
