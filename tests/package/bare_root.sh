#!/usr/bin/env bash
# Packs what BUILD holds and runs the pack in a root with the C and C++ runtimes and a shell, and nothing else: no OpenMPI,
# no oneDNN, no image libraries. CUDA's libraries, which a pack never holds, are lent to a program that was linked to them.
#   tests/package/bare_root.sh BUILD       exit code 77: this user may not change the root
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(cd "$1" && pwd)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{dev,proc,tmp,pack,cuda,usr/bin,usr/lib,usr/lib64}
enter=(unshare --mount --pid --fork --mount-proc="$root/proc") # the loader finds its own folder by /proc
if ((EUID != 0)); then enter+=(--map-root-user); fi
if ! "${enter[@]}" chroot / true 2>/dev/null; then
  echo "skipped: no permission to change the root"
  exit 77
fi
for folder in bin lib lib64; do ln -s "usr/$folder" "$root/$folder"; done

# lend FILE...: copies files of this system to the same places.
lend() {
  local file
  for file in "$@"; do
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
  done
}

libraries_of() { ldd "$1" | grep -o '/[^ )]*' || true; }

for tool in bash dirname env readlink; do
  tool=$(command -v "$tool")
  # shellcheck disable=SC2046
  lend "$tool" $(libraries_of "$tool")
done
for library in $(libraries_of "$build/bin/ptrain"); do
  case $(basename "$library") in
    ld-linux* | libc.so* | libm.so* | libdl.so* | librt.so* | libpthread.so* | libstdc++.so* | libgcc_s.so*) lend "$library" ;;
    libcudnn.so*) cp -L "$library" "$(dirname "$library")/libcudnn_graph.so.9" "$root/cuda/" ;; # which it loads by itself
    libcu* | libnccl* | libnv*) cp -L "$library" "$root/cuda/" ;;
  esac
done

cmake --install "$build" --prefix "$root/pack" --component pack --strip >"$root/install.log" || {
  cat "$root/install.log"
  exit 1
}
inside() { "${enter[@]}" chroot "$root" /bin/bash -c "export LD_LIBRARY_PATH=/cuda HOME=/tmp; cd /tmp && $1"; }

inside '/pack/bin/ptrain --version'
inside '/pack/ptrain.sh doctor'
inside '/pack/ptrain.sh plan /pack/configs/quick/bert_synthetic.yaml'
inside '/pack/ptrain.sh run /pack/configs/quick/bert_synthetic.yaml -o train.steps=20 --progress none --output-dir /tmp/run'
test -s "$root/tmp/run/report.json"
echo "the pack runs in a bare root"
