#!/usr/bin/env bash
# Runs ptrain from a packed folder with the right CUDA libraries: ptrain.sh run configs/resnet50.yaml
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
# shellcheck source=scripts/cuda_paths.sh
. "$here/scripts/cuda_paths.sh"
if ! "$here/bin/ptrain" --version >/dev/null 2>&1; then
  ptrain_require_libraries "$here/bin/ptrain" || exit 1
fi
exec "$here/bin/ptrain" "$@"
