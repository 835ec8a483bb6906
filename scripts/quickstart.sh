#!/usr/bin/env bash
# From a fresh clone to a trained ResNet-50: installs packages, builds, trains on Fashion-MNIST, says where the report is.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_deps.sh
cmake --preset release -DPTRAIN_TESTS=OFF -B build/quickstart
cmake --build build/quickstart --target ptrain
mkdir -p runs/resnet50
build/quickstart/bin/ptrain run configs/resnet50.yaml --output-dir runs/resnet50 "$@"
echo "Report: $PWD/runs/resnet50/report.json"
