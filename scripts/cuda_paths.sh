# shellcheck shell=bash
# Sourced: lets the dynamic loader find cuDNN, cuBLASLt and NCCL where pip put them (site-packages/nvidia/*/lib) or in
# the toolkit. A library that the system finds already is left to it.
ptrain_add_cuda_paths() {
  local folders=() folder site library
  local sites=(${VIRTUAL_ENV:+"$VIRTUAL_ENV"/lib/python3*/site-packages} /opt/*/.venv/lib/python3*/site-packages
    /usr/local/lib/python3*/*-packages /usr/lib/python3/dist-packages "${HOME:-/root}"/.local/lib/python3*/site-packages)
  if command -v python3 >/dev/null; then
    sites=("$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')" "${sites[@]}")
  fi
  for site in "${sites[@]}"; do
    for folder in "$site"/nvidia/*/lib; do folders+=("$folder"); done
  done
  folders+=("${CUDA_HOME:-/usr/local/cuda}/lib64")
  local found
  found=$(ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null || true)
  for library in libcudnn.so.9 libcublasLt.so.13 libcublasLt.so.12 libnvrtc.so.13 libnvrtc.so.12 libnccl.so.2; do
    [[ $found == *"$library"* ]] && continue
    for folder in "${folders[@]}"; do
      [[ -e $folder/$library ]] || continue
      [[ ":${LD_LIBRARY_PATH:-}:" == *":$folder:"* ]] || LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
      break
    done
  done
  export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
}
ptrain_add_cuda_paths
