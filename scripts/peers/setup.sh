#!/usr/bin/env bash
# Creates the Python environment of the PyTorch peers in $PTRAIN_PEERS_VENV (default .deps/peers): about 1 GB, CPU
# build.
#   usage: scripts/peers/setup.sh [--all]
#   --all  also one for AMD's zentorch, which needs its own PyTorch, and one for JAX, next to it (-zentorch, -jax)
set -euo pipefail
. "$(dirname "$0")/../usage.sh"
cd "$(dirname "$0")/../.."

venv=${PTRAIN_PEERS_VENV:-.deps/peers}
if ! python3 -c 'import ensurepip' 2>/dev/null; then
  echo "Python's venv is missing. On Debian or Ubuntu: apt-get install python3-venv" >&2
  exit 1
fi
install_in() {  # install_in FOLDER PACKAGE...
  [[ -x $1/bin/python ]] || python3 -m venv "$1"
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"
}
if [[ ${1:-} == --all ]]; then
  install_in "$venv-zentorch" 'torch==2.14.*' zentorch torchvision timm transformers numpy
  install_in "$venv-jax" jax
fi
# PyTorch's own index has the build without CUDA; PyPI's build, used if that index is unreachable, runs the same CPU
# code.
install_in "$venv" torch torchvision --index-url https://download.pytorch.org/whl/cpu || install_in "$venv" torch torchvision
install_in "$venv" timm transformers ctranslate2 gguf peft safetensors numpy onnx onnxruntime openvino
"$venv/bin/python" -c 'import torch, transformers; print("PyTorch", torch.__version__, "transformers", transformers.__version__)'
echo "Peers: $venv/bin/python"
