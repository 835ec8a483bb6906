"""Labelled sentences for the PyTorch side, tokenised by transformers as ptrain's tsv source does."""
import pathlib

import torch
import transformers


def load(path, vocab, max_length):
    """(input_ids, attention_mask [rows, max_length], labels [rows]) of a TSV file of `sentence<TAB>label` rows."""
    rows = [line.rsplit("\t", 1) for line in pathlib.Path(path).read_text(encoding="utf-8").split("\n") if line]
    rows = [(sentence, int(label)) for sentence, label in rows if label.isdigit()]  # skips a header if there is one
    tokenizer = transformers.BertTokenizer.from_pretrained(str(pathlib.Path(vocab).parent), do_lower_case=True)
    encoded = tokenizer([sentence for sentence, _ in rows], padding="max_length", truncation=True,
                        max_length=max_length, return_tensors="pt")
    return encoded["input_ids"], encoded["attention_mask"], torch.tensor([label for _, label in rows])


@torch.no_grad()
def accuracy(model, data, batch=64):
    """Share of correct predictions, fp32, dropout off."""
    model.eval()
    correct = 0
    for ids, mask, labels in zip(*(tensor.split(batch) for tensor in data)):
        correct += (model(input_ids=ids, attention_mask=mask).logits.argmax(-1) == labels).sum().item()
    return correct / len(data[2])
