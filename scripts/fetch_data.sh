#!/usr/bin/env bash
# Puts data sets under data/: sst2 (train.tsv, dev.tsv), cifar10 (an image folder, or the binary form) and multi30k (English
# and German lines of train, val and test_2016_flickr; train.jsonl and dev.jsonl, the same pairs as chats).
#   scripts/fetch_data.sh [sst2|cifar10|multi30k]... [--from DIRECTORY]
# They are copied from DIRECTORY (default: $PTRAIN_SHARED_DATA); without one the script prints where to get them.
set -euo pipefail
. "$(dirname "$0")/usage.sh"
cd "$(dirname "$0")/.."

from=${PTRAIN_SHARED_DATA:-}
sets=()
while (($#)); do
  case "$1" in
    --from)
      from=${2:?--from needs a directory}
      shift
      ;;
    sst2 | cifar10 | multi30k) sets+=("$1") ;;
    *) refuse ;;
  esac
  shift
done
if ((${#sets[@]} == 0)); then sets=(sst2 cifar10 multi30k); fi
status=0

fetch_sst2() {
  if [[ -s data/sst2/train.tsv && -s data/sst2/dev.tsv ]]; then echo "data/sst2 is there"; return; fi
  if [[ -n $from && -f $from/sst2/train.tsv && -f $from/sst2/dev.tsv ]]; then
    mkdir -p data/sst2
    cp "$from"/sst2/{train,dev}.tsv data/sst2/
    echo "data/sst2: $(wc -l <data/sst2/train.tsv) training lines"
  else
    echo "SST-2 not found. Get SST-2.zip of the GLUE benchmark (https://gluebenchmark.com/tasks) and unpack its train.tsv" \
      "and dev.tsv into data/sst2/." >&2
    status=1
  fi
}

fetch_cifar10() {
  if [[ -d data/cifar10/train || -d data/cifar10/cifar-10-batches-bin ]]; then echo "data/cifar10 is there"; return; fi
  mkdir -p data/cifar10
  if [[ -n $from && -f $from/cifar10-imagefolder.tar.xz ]]; then
    tar -C data/cifar10 -xf "$from/cifar10-imagefolder.tar.xz"
    echo "data/cifar10: image folder"
  elif [[ -n $from && -f $from/cifar-10-binary.tar.gz ]]; then
    tar -C data/cifar10 -xf "$from/cifar-10-binary.tar.gz"
    echo "data/cifar10: binary form, for data.source cifar; its images are decoded already"
  else
    rmdir data/cifar10
    echo "CIFAR-10 not found. Get cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html and run" \
      "scripts/fetch_data.sh cifar10 --from its folder." >&2
    status=1
  fi
}

# write_chats NAME OUT: a chat of each pair of data/multi30k/NAME.en and NAME.de, which asks for the translation.
write_chats() {
  python3 - "data/multi30k/$1" "data/multi30k/$2.jsonl" <<'EOF'
import json
import sys

name, out = sys.argv[1:]
with open(name + ".en") as questions, open(name + ".de") as answers, open(out, "w") as chats:
    for question, answer in zip(questions, answers):
        turns = [("user", f"Translate into German: {question.strip()}"), ("assistant", answer.strip())]
        chats.write(json.dumps({"messages": [{"role": role, "content": text} for role, text in turns]}) + "\n")
EOF
}

fetch_multi30k() {
  if [[ -s data/multi30k/dev.jsonl ]]; then echo "data/multi30k is there"; return; fi
  if [[ -z $from || ! -f $from/multi30k/train.en.gz ]]; then
    echo "Multi30k not found. Get train, val and test_2016_flickr, .en.gz and .de.gz each, from data/task1/raw of" \
      "https://github.com/multi30k/dataset and run scripts/fetch_data.sh multi30k --from the folder above multi30k/." >&2
    status=1
    return
  fi
  mkdir -p data/multi30k
  local packed
  for packed in "$from"/multi30k/*.{en,de}.gz; do
    gunzip -c "$packed" >"data/multi30k/$(basename "$packed" .gz)"
  done
  write_chats train train
  write_chats val dev
  echo "data/multi30k: $(wc -l <data/multi30k/train.en) training pairs"
}

for set in "${sets[@]}"; do
  case "$set" in
    sst2) fetch_sst2 ;;
    cifar10) fetch_cifar10 ;;
    multi30k) fetch_multi30k ;;
  esac
done
exit "$status"
