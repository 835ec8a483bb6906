#!/usr/bin/env bash
# Installs ptrain's build dependencies: packages of Debian 12 or Ubuntu 22.04 and later, and a newer oneDNN in
# .deps/onednn.
#   usage: scripts/install_deps.sh [--dev] [--cuda]
# --dev adds what scripts/test.sh needs; --cuda adds the headers that the CUDA preset builds with besides the CUDA toolkit
# and cuDNN. Does nothing where all is there already.
set -euo pipefail
. "$(dirname "$0")/usage.sh"
cd "$(dirname "$0")/.."

packages=(ca-certificates ccache cmake dpkg-dev file g++ git ninja-build python3 python3-pip
  libcli11-dev libdeflate-dev libdnnl-dev libfmt-dev libgtest-dev libjpeg-dev libpng-dev libpugixml-dev libutf8proc-dev
  libwebp-dev libyaml-cpp-dev libzstd-dev nlohmann-json3-dev ocl-icd-opencl-dev xz-utils zlib1g-dev dataset-fashion-mnist) # OpenCL: libdnnl-dev looks for it
packages+=(libcpp-httplib-dev pkg-config) # ptrain serve
optional=(libopenmpi-dev openmpi-bin) # for ranks that are processes
optional+=(libsentencepiece-dev)      # for SentencePiece's vocabularies
cuda=false
for argument in "$@"; do
  case "$argument" in
    --dev)
      packages+=(clang clang-format clang-tidy codespell fish iproute2 libomp-dev man-db openssh-server zsh)
      optional+=(libclang-rt-dev) # libFuzzer's and the sanitizers' runtime; part of clang itself on Ubuntu 22.04
      ;;
    --cuda) cuda=true ;;
    *) refuse ;;
  esac
done

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
  local wanted=0
  for package in "${optional[@]}"; do
    if ! installed "$package" && apt-cache show "$package" >/dev/null 2>&1; then wanted=1; fi
  done
  if ((${#missing[@]} == 0 && (wanted == 0 || EUID != 0))); then return; fi
  if ! command -v apt-get >/dev/null; then
    echo "No apt-get here. Install by other means: ${missing[*]}" >&2
    return 1
  fi
  local sudo=()
  if ((EUID != 0)); then sudo=(sudo); fi
  "${sudo[@]}" apt-get update -q || ((${#missing[@]} == 0)) # may fail if only optional packages are missing
  for package in "${optional[@]}"; do
    if ! installed "$package" && apt-cache show "$package" >/dev/null 2>&1; then missing+=("$package"); fi
  done
  if ((${#missing[@]} == 0)); then return; fi
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
}

# download_wheels FOLDER PACKAGE==VERSION...
download_wheels() {
  local folder=$1
  shift
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$folder" "$@"
}

# oneDNN 3.2 with GNU OpenMP: its bf16 code is faster than that of Debian 12's 2.6. Best effort.
install_onednn() {
  local target=.deps/onednn work
  if [[ -e $target/lib/libdnnl.so && -e $target/include/dnnl.hpp ]]; then return; fi
  if [[ "$(uname -m)" != x86_64 ]]; then return 1; fi
  work=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" RETURN
  download_wheels "$work" onednn-cpu-gomp==2023.2.0 onednn-devel-cpu-gomp==2023.2.0 || return 1
  python3 - "$work" <<'PYTHON' || return 1
import pathlib, sys, zipfile
work = pathlib.Path(sys.argv[1])
for wheel in work.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work / "wheels", [name for name in archive.namelist() if ".data/data/" in name])
PYTHON
  mkdir -p "$work/onednn"
  cp -a "$work"/wheels/*.data/data/. "$work/onednn/" || return 1
  ln -sf libdnnl.so.3.2 "$work/onednn/lib/libdnnl.so.3"
  ln -sf libdnnl.so.3 "$work/onednn/lib/libdnnl.so"
  mkdir -p .deps
  rm -rf "$target"
  mv "$work/onednn" "$target"
}

# cudnn-frontend's headers (MIT licence), which its PyPI package includes along with its Python module. Best effort.
install_cudnn_frontend() {
  local target=.deps/cudnn_frontend work
  if [[ -e $target/include/cudnn_frontend.h ]]; then return; fi
  work=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" RETURN
  download_wheels "$work" nvidia-cudnn-frontend==1.32.0 || return 1
  python3 - "$work" <<'PYTHON' || return 1
import pathlib, sys, zipfile
work = pathlib.Path(sys.argv[1])
(wheel,) = work.glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    wanted = [name for name in archive.namelist() if name.startswith("include/") or name.endswith("LICENSE-MIT.txt")]
    archive.extractall(work / "cudnn_frontend", wanted)
PYTHON
  mkdir -p .deps
  rm -rf "$target"
  mv "$work/cudnn_frontend" "$target"
}

install_packages
if [[ $cuda == true ]]; then
  if install_cudnn_frontend; then
    echo "cudnn-frontend: .deps/cudnn_frontend (1.32.0)"
  else
    echo "cudnn-frontend 1.32.0 could not be fetched from PyPI; the CUDA preset needs its headers from elsewhere."
  fi
fi
if install_onednn; then
  echo "oneDNN: .deps/onednn (3.2)"
else
  echo "oneDNN 3.2 could not be fetched from PyPI; the system's libdnnl is used instead (slower in bf16)."
fi
