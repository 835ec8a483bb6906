#!/usr/bin/env bash
# Tries ptrain with other people's clients and readers, which it installs: from PyPI into build/clients, and with the
# right to it from Debian. tests/clients/run.sh [TEST...] runs all tests here or those, such as test_slurm.
# PTRAIN_BIN is the program (default: build/release/bin/ptrain). What does not install is skipped by name.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=build/clients
if [[ ! -x $environment/bin/python ]]; then
  mkdir -p build
  python3 -m venv "$environment" || { echo "skipped: python3 -m venv does not work here"; exit 77; }
fi
modules=(tritonclient.http.aio mlperf_logging twine kserve openai tensorboard visualdl onnx onnxruntime tokenizers)
packages=(uv 'tritonclient[http]' aiohttp mlperf-logging twine kserve openai tensorboard onnx onnxruntime tokenizers)
installed() { "$environment/bin/python" -c "import ${modules[*]/%/,} sys" 2>/dev/null; }
# uv fetches and unpacks several at once: a fifth of pip's time.
installed || { timeout 60 "$environment/bin/pip" install --quiet --disable-pip-version-check uv &&
  timeout 120 "$environment/bin/uv" pip install --quiet --python "$environment/bin/python" "${packages[@]}" &&
  timeout 60 "$environment/bin/uv" pip install --quiet --python "$environment/bin/python" --no-deps visualdl; } ||
  echo "PyPI's ${packages[*]} visualdl do not all install: the tests of those that do not are skipped"
needed=(slurm-wlm munge prometheus lintian)
if ((EUID == 0)) && ! dpkg-query --show "${needed[@]}" &>/dev/null; then
  DEBIAN_FRONTEND=noninteractive timeout 120 apt-get install --yes --quiet=2 --no-install-recommends "${needed[@]}" \
    >/dev/null || echo "Debian's ${needed[*]} do not install: their tests are skipped"
fi
cd tests/clients
tests=("$@")
((${#tests[@]})) || tests=(discover)
exec "../../$environment/bin/python" -B -m unittest "${tests[@]}"
