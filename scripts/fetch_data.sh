#!/usr/bin/env bash
# Puts data sets under data/: sst2 (train.tsv, dev.tsv) and cifar10 (an image folder, or the binary form).
#   scripts/fetch_data.sh [sst2|cifar10]... [--from DIRECTORY]
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
    sst2 | cifar10) sets+=("$1") ;;
    *) refuse ;;
  esac
  shift
done
if ((${#sets[@]} == 0)); then sets=(sst2 cifar10); fi
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

for set in "${sets[@]}"; do
  case "$set" in
    sst2) fetch_sst2 ;;
    cifar10) fetch_cifar10 ;;
  esac
done
exit "$status"
