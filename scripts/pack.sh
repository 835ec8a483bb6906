#!/usr/bin/env bash
# Makes dist/ptrain, one folder that runs on a GPU machine with nothing but the driver and the CUDA libraries (from the
# system, or from pip): programs, configurations, the libraries that a bare system lacks, scripts/gpu_validate.sh.
#   --build DIR   pack what was built there (default: build/pack, built first, for any x86-64-v3 processor)
#   --archive     also dist/ptrain.tar.xz
set -euo pipefail
cd "$(dirname "$0")/.."

build='' archive=0
while (($#)); do
  case "$1" in
    --build) build=$2 && shift ;;
    --archive) archive=1 ;;
    *)
      sed -n '2,5s/^# \{0,1\}//p' "$0"
      exit 2
      ;;
  esac
  shift
done
if [[ -z $build ]]; then
  build=build/pack
  cmake --preset pack
  cmake --build "$build" --parallel "$(nproc)" --target ptrain device_test
fi

rm -rf dist/ptrain
cmake --install "$build" --prefix "$PWD/dist/ptrain" --component pack --strip
# What the loader would not find there: everything but the C and C++ runtimes, the driver and the CUDA libraries.
missing=$(LD_LIBRARY_PATH='' ldd dist/ptrain/bin/ptrain | grep 'not found' | grep -v -E 'libcu|libnccl|libnvrtc' || true)
if [[ -n $missing ]]; then
  echo "the packed program lacks libraries: $missing" >&2
  exit 1
fi
du -sh dist/ptrain
if ((archive)); then
  tar -C dist -cJf dist/ptrain.tar.xz ptrain
  du -sh dist/ptrain.tar.xz
fi
