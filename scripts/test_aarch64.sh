#!/usr/bin/env bash
# Builds ptrain and the tests of its kernels, models and training for 64-bit Arm and runs them on this machine, emulated.
#   usage: scripts/test_aarch64.sh [CTEST OPTIONS]
# On Debian 12, as root or with sudo. Packages for Arm, from apt's mirror, are unpacked in .deps/aarch64; none of them
# is installed. Emulation tests correctness, not speed.
set -euo pipefail
. "$(dirname "$0")/usage.sh"
cd "$(dirname "$0")/.."

sudo=()
if ((EUID != 0)); then sudo=(sudo); fi
packages=(g++-aarch64-linux-gnu qemu-user-static debootstrap)
if ! dpkg-query -W "${packages[@]}" >/dev/null 2>&1; then
  "${sudo[@]}" apt-get install -qy --no-install-recommends "${packages[@]}"
fi

root=$PWD/.deps/aarch64
if [[ ! -f $root/complete ]]; then
  rm -rf "$root"
  mirror=$(apt-get indextargets --format '$(REPO_URI)' | head -n 1)
  "${sudo[@]}" debootstrap --foreign --arch=arm64 --variant=minbase \
    --include=libc6-dev,libcli11-dev,libdeflate-dev,libdnnl-dev,libfmt-dev,libgomp1,libgtest-dev,libjpeg62-turbo-dev,libpng-dev,libpugixml-dev,libstdc++-12-dev,libutf8proc-dev,libwebp-dev,libyaml-cpp-dev,libzstd-dev,nlohmann-json3-dev,ocl-icd-opencl-dev,zlib1g-dev \
    bookworm "$root" "$mirror"
  "${sudo[@]}" chown -R "$(id -u)" "$root"
  for package in "$root"/var/cache/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
  # A linker takes links for those of this machine.
  find "$root/usr/lib" -lname '/*' -printf '%p %l\n' | while read -r link target; do
    ln -sfr "$root$target" "$link"
  done
  touch "$root/complete"
fi

cmake --preset aarch64
cmake --build build/aarch64 --parallel "$(nproc)" --target ptrain tests/unit/all tests/ops/all golden_test
for folder in unit ops golden; do
  ctest --test-dir "build/aarch64/tests/$folder" --output-on-failure --parallel "$(nproc)" "$@"
done
