#!/usr/bin/env bash
# Compiles cuDNN's plans of common runs for a GPU that is only described, into share/ of the packages that
# scripts/package.sh --cuda makes of the same build: such a GPU then loads them instead of compiling. Needs cuDNN, no
# GPU.
#   usage: scripts/compile_plans.sh DESCRIPTION [--build DIR] [--out DIR]
#   DESCRIPTION  what `ptrain doctor --describe-gpu` printed on the GPU (scripts/gpu_validate.py: device.json)
# --build DIR  the build whose program compiles; default: build/package-cuda, built first
# --out DIR    default: DIR/plans of the build, which packages include
# The runs are those of gpu_validate.py without search: ResNet-50 224 px at 256 images, BERT-base 128 at 128 sequences
# and BERT-large 384 at 64. Plans are for one version of cuDNN; with another version they are compiled at run time.
set -euo pipefail
. "$(dirname "$0")/usage.sh"

description='' build='' out=''
while (($#)); do
  case "$1" in
    --build | --out)
      (($# > 1)) || refuse
      printf -v "${1#--}" %s "$(realpath -m "$2")"
      shift
      ;;
    -*) refuse ;;
    *)
      [[ -z $description ]] || refuse
      description=$(realpath -m "$1")
      ;;
  esac
  shift
done
[[ -n $description ]] || refuse
cd "$(dirname "$0")/.."
if [[ -z $build ]]; then
  build=$PWD/build/package-cuda
  [[ -f $build/CMakeCache.txt ]] || cmake --preset package-cuda # with package.sh's configuration, if there is one
  cmake --build "$build" --parallel "$(nproc)" --target ptrain fake_driver
fi
out=${out:-$build/plans}

# shellcheck source=scripts/cuda_paths.sh
. scripts/cuda_paths.sh
export LD_LIBRARY_PATH=$build/tests/plans/fake_driver:$LD_LIBRARY_PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compile CONFIG KEY=VALUE...
compile() {
  local overrides=() key
  printf '%s\n' "$1" >"$work/run.yaml"
  shift
  for key in "$@"; do overrides+=(-o "$key"); done
  echo "$*"
  "$build/bin/ptrain" estimate "$work/run.yaml" --compile-for "$description" --plans "$out" "${overrides[@]}"
}
for dtype in fp16 bf16; do # O1's plans, which are O2's too
  compile "model: {name: resnet50, classes: 1000}
data: {source: synthetic, augment: none, image_size: 224, batch_size: 256, synthetic_samples: 1024}
train: {optimizer: {name: momentum}}
eval: {every_epochs: 0}" amp.level=O1 amp.dtype=$dtype
  for size in 'base 128 128' 'large 384 64'; do
    read -r name length batch <<<"$size"
    compile "model: {name: bert, classes: 2, vocab_size: 30522}
data: {source: synthetic, synthetic_samples: 2048}
train: {optimizer: {name: adamw, lr: 2.0e-5}}
eval: {every_epochs: 0}" amp.level=O1 amp.dtype=$dtype model.size="$name" data.max_length="$length" data.batch_size="$batch"
  done
done
