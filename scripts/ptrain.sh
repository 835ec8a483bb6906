#!/usr/bin/env bash
# Runs ptrain from a packed folder, with the CUDA libraries found wherever they are: ptrain.sh run configs/resnet50.yaml
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
# shellcheck source=scripts/cuda_paths.sh
. "$here/scripts/cuda_paths.sh"
exec "$here/bin/ptrain" "$@"
