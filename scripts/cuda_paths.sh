# shellcheck shell=bash
# Sourced: helps the dynamic loader find CUDA's libraries in the system, in CUDA_HOME, in the toolkit or where pip
# installed them (site-packages/nvidia/*/lib of the current Python, of an activated environment, of the user). Libraries
# that the system finds already are left to it.

# Folders that may contain CUDA's libraries.
ptrain_cuda_folders() {
  local site
  local sites=(${VIRTUAL_ENV:+"$VIRTUAL_ENV"/lib/python3*/site-packages} ${CONDA_PREFIX:+"$CONDA_PREFIX"/lib/python3*/site-packages})
  if command -v python3 >/dev/null; then
    sites+=("$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)")
  fi
  sites+=(/opt/*/.venv/lib/python3*/site-packages /usr/local/lib/python3*/*-packages /usr/lib/python3/dist-packages
    "${HOME:-/root}"/.local/lib/python3*/site-packages)
  printf '%s\n' ${CUDA_HOME:+"$CUDA_HOME"/lib64 "$CUDA_HOME"/lib}
  for site in "${sites[@]}"; do
    printf '%s\n' "$site"/nvidia/*/lib
  done
  [[ -n ${CUDA_HOME:-} ]] || printf '%s\n' /usr/local/cuda/lib64 /usr/local/cuda/lib
  printf '%s\n' ${CONDA_PREFIX:+"$CONDA_PREFIX"/lib}
}

ptrain_add_cuda_paths() {
  local folder library found folders
  found=$(ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null || true)
  mapfile -t folders < <(ptrain_cuda_folders)
  for library in libcudnn.so.9 libcublasLt.so.13 libcublasLt.so.12 libnvrtc.so.13 libnvrtc.so.12 libnccl.so.2 \
    libnvjpeg.so.13 libnvjpeg.so.12; do
    [[ $found == *"$library"* ]] && continue
    for folder in "${folders[@]}"; do
      [[ -e $folder/$library ]] || continue
      [[ ":${LD_LIBRARY_PATH:-}:" == *":$folder:"* ]] || LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
      break
    done
  done
  export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
}

# ptrain_require_libraries PROGRAM: for each library that the loader does not find, prints how to install it; returns 1
# if there is one.
ptrain_require_libraries() {
  local library package version missing=0
  while read -r library _; do
    missing=1 version=${library##*.so.}
    case $library in
      libcudnn.so.*) package="pip install nvidia-cudnn-cu$(ptrain_cuda_major "$1")" ;;
      libcublasLt.so.12 | libnvrtc.so.12) package="pip install nvidia-cublas-cu12 nvidia-cuda-nvrtc-cu12" ;;
      libcublasLt.so.* | libnvrtc.so.*) package="pip install 'nvidia-cublas==$version.*' 'nvidia-cuda-nvrtc==$version.*'" ;;
      libnccl.so.*) package="pip install nvidia-nccl-cu$(ptrain_cuda_major "$1")" ;;
      *) package="the system's package of it" ;;
    esac
    echo "error: $library was not found in the system, in CUDA_HOME or in a Python's site-packages/nvidia/*/lib; to get it: $package" >&2
  done < <(ldd "$1" 2>/dev/null | grep 'not found')
  return "$missing"
}

# The CUDA version that PROGRAM was linked with, from its cuBLASLt.
ptrain_cuda_major() {
  local library
  library=$(ldd "$1" | grep -o 'libcublasLt\.so\.[0-9]*' | head -n 1)
  echo "${library##*.}"
}

ptrain_add_cuda_paths
