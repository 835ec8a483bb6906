#!/usr/bin/env bash
# scripts/device_code.py distinguishes machine code from PTX in a program that NVCC made.
#   tests/package/device_code.sh NVCC
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '__global__ void twice(float* x) { x[threadIdx.x] *= 2; } int main() { twice<<<1, 32>>>(nullptr); }' >"$work/twice.cu"

# make NAME CODE: a program with device code for CODE.
make() { "$1" -gencode "arch=compute_90,code=$3" -cudart none -c -o "$work/$2" "$work/twice.cu"; }

expect() {
  if [[ "$2" != "$3" ]]; then
    echo "$1: expected $2, got $3" >&2
    exit 1
  fi
}

make "$1" sass sm_90
make "$1" ptx compute_90
make "$1" both '[sm_90,compute_90]'
expect "machine code" "sass sm_90" "$(scripts/device_code.py "$work/sass" --for sm_90)"
expect "PTX" "ptx sm_90" "$(scripts/device_code.py "$work/ptx")"
expect "both" "ptx sm_90 sass sm_90" "$(scripts/device_code.py "$work/both" --for sm_90 | xargs)"
for case in "ptx --for sm_90" "sass --for sm_80"; do
  # shellcheck disable=SC2086
  if scripts/device_code.py "$work/"$case >/dev/null 2>"$work/said"; then
    echo "$case was taken for machine code" >&2
    exit 1
  fi
  grep -q 'no machine code' "$work/said"
done
if scripts/device_code.py /bin/true 2>/dev/null; then
  echo "device code was found where there is none" >&2
  exit 1
fi
