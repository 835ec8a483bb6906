#!/usr/bin/env python3
"""Writes translation.json: translations with what sacreBLEU says of them, and a vocabulary that the package tokenizers
learns.

Usage: make_translation_golden.py [output.json]   (needs the packages sacrebleu and tokenizers)
"""
import json
import pathlib
import sys

import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

LINES = [
    "A man in an orange hat starring at something.",
    "It costs 1,234.50 euros, i.e. 12%-15% more; \"really?\" (yes!)",
    "&quot;Fish &amp; chips&quot; &lt;b&gt; e-mail: a.b@c.org, http://x.y/z",
    "Zwei M\u00e4nner stehen am Herd\u2026 \u201eund\u201c kochen \u2013 in 1990-2000.",
    "...,,. 3-4 a-b 5- .5 ,6 7. 8,",
    "\u65e5\u672c\u8a9e\u306e\u6587\u3002 \u00a0 x\u2003y\u3000z\x1cq",
    "tabs\tand  two   spaces",
    "",
]
TEXT = """A man in an orange hat starring at something.
Ein Mann mit einem orangefarbenen Hut, der etwas anstarrt.
A Boston Terrier is running on lush green grass in front of a white fence.
Ein Boston Terrier l\u00e4uft \u00fcber saftig-gr\u00fcnes Gras vor einem wei\u00dfen Zaun.
A girl in karate uniform breaking a stick with a front kick.
Ein M\u00e4dchen in einem Karateanzug bricht ein Brett mit einem Tritt.
Five people wearing winter jackets and helmets stand in the snow, with snowmobiles in the background.
F\u00fcnf Leute in Winterjacken und mit Helmen stehen im Schnee mit Schneemobilen im Hintergrund.
"""
VOCABULARY = 380

CORPORA = {
    "some_words_match": (["the cat sat on a mat .", "he reads 2 books, slowly", "nothing alike here at all"],
                         ["the cat sat on the mat.", "He reads two books slowly.", "Ganz etwas anderes."]),
    "same": (LINES[:5], LINES[:5]),
    "short": (["A man", "Two"], ["A man in a hat is looking at something .", "Two dogs run over the green grass ."]),
    "long": (["a b c d e f g h i j k l m n"], ["a b c d e"]),
    "smoothed": (["the quick brown fox jumps"], ["the slow brown dog jumps"]),
    "nothing": (["x y z"], ["a b c d e"]),
    "empty": (["", "one two three four five"], ["not empty", "one two three four five six"]),
    "entities": (LINES[2:6], [LINES[3], LINES[2], LINES[5], LINES[4]]),
    "three_words": (["a b c"], ["a b c"]),
}


def scores(translations, references):
    return {"translations": translations, "references": references,
            "bleu": sacrebleu.corpus_bleu(translations, [references]).score,
            "chrf": sacrebleu.corpus_chrf(translations, [references]).score}


def signature():
    translations, references = CORPORA["same"]
    bleu, chrf = sacrebleu.BLEU(), sacrebleu.CHRF()
    bleu.corpus_score(translations, [references])
    chrf.corpus_score(translations, [references])
    return f"BLEU {bleu.get_signature()}, chrF2 {chrf.get_signature()}"


def learn():
    """As learn_byte_bpe does: its vocabulary, merges, and tokens of two of the lines."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Prepend(" ")
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, min_frequency=2, special_tokens=["</s>", "<pad>"],
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    lines = TEXT.splitlines()
    tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    encoded = [{"text": line, "ids": tokenizer.encode(line).ids, "decoded": tokenizer.decode(tokenizer.encode(line).ids)}
               for line in lines[:2] + [LINES[3]]]
    return {"text": TEXT, "size": VOCABULARY, "vocab": model["vocab"], "merges": model["merges"], "encoded": encoded}


def main():
    golden = {
        "comment": f"by make_translation_golden.py with sacrebleu {sacrebleu.__version__}",
        "signature": signature(),
        "tokens": [{"line": line, "tokens": Tokenizer13a()(line.rstrip())} for line in LINES],
        "corpora": {name: scores(*corpus) for name, corpus in CORPORA.items()},
        "vocabulary": learn(),
    }
    target = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("translation.json"))
    target.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
