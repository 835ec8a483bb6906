#!/usr/bin/env bash
# Makes packages of ptrain in dist/. Each holds the version, licences, shell completions, a manual page, configs/ and
# libptrain; deb and tar also its header, for pkg-config and CMake.
#   usage: scripts/package.sh [wheel|deb|tar|tree|image|all]... [--build DIR] [--out DIR] [--cuda] [--arch sm_90,...]
#   wheel   for pip, any Linux with this glibc or a newer one; gives the command ptrain
#   deb     for apt on this release of Debian or Ubuntu
#   tar     dist/ptrain and ptrain-VERSION-ARCH.tar.xz: bin lib share, for any folder of such a Linux (the default)
#   tree    dist/ptrain alone
#   image   a container image, by docker, podman or buildah, built in a container too (the Dockerfile)
#   all     wheel, deb, tar, and the image where one of these three can be used
#   --build DIR  pack what was built there; default: build/package, built first, for any x86-64-v3 processor
#   --out DIR    instead of dist
#   --cuda       with the CUDA backend (build/package-cuda). CUDA's libraries are never packed: the tar's ptrain.sh finds
#                them in the system or where pip put them, and its scripts/gpu_validate.py validates a machine
#                Tar and wheel are then without libptrain, which would double the device code, and with the plans that
#                scripts/compile_plans.sh compiled, if it did
#   --arch       with --cuda: machine code for these GPUs alone, without PTX; the tar then has at most 45 MiB
set -euo pipefail
. "$(dirname "$0")/usage.sh"
cd "$(dirname "$0")/.."

forms=() build='' out=dist preset=package architectures=()
while (($#)); do
  case "$1" in
    wheel | deb | tar | tree | image) forms+=("$1") ;;
    all) forms=(tar wheel deb image_if_possible) ;;
    --build) build=${2:?--build needs a folder} && shift ;;
    --out) out=${2:?--out needs a folder} && shift ;;
    --cuda) preset=package-cuda ;;
    --arch)
      if [[ ! ${2:-} =~ ^sm_[0-9]+(,sm_[0-9]+)*$ ]]; then
        echo "--arch: expected sm_90, or several such with commas, got ${2:-nothing}" >&2
        exit 2
      fi
      IFS=, read -ra architectures <<<"$2" && shift
      ;;
    *) refuse ;;
  esac
  shift
done
((${#forms[@]})) || forms=(tar)
mkdir -p "$out"
out=$(cd "$out" && pwd)

build_once() {
  [[ -z $build ]] || return 0
  build=build/$preset
  local targets=(ptrain libptrain)
  [[ $preset == package ]] || targets+=(device_test)
  local real=${architectures[*]/%/-real}
  real=${real//sm_/}
  cmake --preset "$preset" ${real:+"-DCMAKE_CUDA_ARCHITECTURES=${real// /;}"}
  cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"
}

# The tree for tar and wheel, in $out/ptrain.
tree_made=0
make_tree() {
  ((tree_made == 0)) || return 0
  tree_made=1
  build_once
  rm -rf "$out/ptrain"
  local component components=(program libraries gpu)
  [[ $preset == package-cuda ]] || components+=(library)
  for component in "${components[@]}"; do
    cmake --install "$build" --prefix "$out/ptrain" --component "$component" --strip >"$out/install.log" || {
      cat "$out/install.log" >&2
      return 1
    }
  done
  rm "$out/install.log"
  # PTX alone would be compiled at the first start, for minutes.
  local architecture program
  for architecture in "${architectures[@]}"; do
    for program in "$out"/ptrain/bin/*; do python3 scripts/device_code.py "$program" --for "$architecture"; done
  done
  # Lists libraries that the loader would not find there: everything but the C and C++ runtimes, the driver and the CUDA
  # libraries.
  local missing
  missing=$(find "$out/ptrain/bin/ptrain" "$out/ptrain/lib" -maxdepth 1 -type f -exec env LD_LIBRARY_PATH= ldd {} + |
    grep 'not found' | grep -v -E 'libcu|libnccl|libnvrtc' || true)
  if [[ -n $missing ]]; then
    echo "the packed program lacks libraries: $missing" >&2
    return 1
  fi
}

make_tar() {
  make_tree
  local version
  version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
  local file
  file=$out/ptrain-$version-$(uname -m).tar.xz
  tar -C "$out" --owner=0 --group=0 -cJf "$file.part" ptrain || {
    rm -f "$file.part"
    return 1
  }
  mv "$file.part" "$file"
  if ((${#architectures[@]} && $(stat -c %s "$file") > 45 << 20)); then
    echo "$file is larger than 45 MiB" >&2
    return 1
  fi
}

make_wheel() {
  make_tree
  python3 scripts/wheel.py "$out/ptrain" "$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")" "$out"
}

make_deb() {
  build_once
  cpack --config "$build/CPackConfig.cmake" -B "$out" >"$out/cpack.log" || {
    cat "$out/cpack.log" >&2
    return 1
  }
  rm -rf "$out/cpack.log" "$out/_CPack_Packages"
}

image_tool() {
  local tool
  for tool in docker podman buildah; do
    if "$tool" info >/dev/null 2>&1; then echo "$tool" && return; fi
  done
  echo "an image needs docker, podman or buildah, and the right to use it" >&2
  return 1
}

make_image() {
  local tool arguments=(--tag ptrain)
  tool=$(image_tool)
  [[ $preset == package ]] || arguments=(--tag ptrain:cuda --build-arg CUDA=12.6.3)
  "$tool" build "${arguments[@]}" .
}

make_image_if_possible() {
  if image_tool >/dev/null; then make_image; else echo "no image was made" >&2; fi
}

for form in "${forms[@]}"; do "make_$form"; done
find "$out" -mindepth 1 -maxdepth 1 -exec du -sh {} + # nothing if only an image was made
