# shellcheck shell=bash
# Sourced by the tests of packages: a root folder with the C and C++ runtimes and a shell, and nothing else: no OpenMPI, no
# oneDNN, no image libraries. $root is the folder; it goes when the test ends. Ends with 77 where this user may not change
# the root. $build is the folder whose program is packed.

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{dev,etc,proc,tmp,usr/bin,usr/sbin,usr/lib,usr/lib64}
for folder in bin sbin lib lib64; do ln -s "usr/$folder" "$root/$folder"; done
enter=(unshare --mount --pid --fork --mount-proc="$root/proc") # the loader finds its own folder by /proc
if ((EUID != 0)); then enter+=(--map-root-user); fi
if ! "${enter[@]}" chroot / true 2>/dev/null; then
  echo "skipped: no permission to change the root"
  exit 77
fi

# lend FILE...: copies files of this system to the same places.
lend() {
  local file
  for file in "$@"; do
    mkdir -p "$root$(dirname "$file")"
    cp -L --remove-destination "$file" "$root$file" # never through a link that points out of the root
  done
}

# lend_program NAME...: programs with the libraries that they are linked to.
lend_program() {
  local program
  for program in "$@"; do
    program=$(command -v "$program")
    # shellcheck disable=SC2046
    lend "$program" $(libraries_of "$program")
  done
}

# lend_packages NAME...: every file but documents of these packages and of those that they depend on.
lend_packages() {
  local file files=$root/tmp/files
  # shellcheck disable=SC2046
  { dpkg-query --listfiles $(closure_of "$@") 2>/dev/null || true; } | # not every alternative is installed
    grep -E '^/(usr|lib|lib64|bin|sbin|etc)/' | grep -v -E '^/usr/share/(doc|man|locale|info)/' | sort -u |
    while read -r file; do [[ -d $file ]] || echo "${file#/}"; done >"$files"
  tar -C / -cf - --ignore-failed-read -T "$files" 2>/dev/null | tar -C "$root" -xf - --keep-directory-symlink
}

# The packages that PACKAGE... depend on, and those that they do: the installed ones.
closure_of() {
  apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
    --installed "$@" | grep '^[a-z]' | sort -u
}

libraries_of() { ldd "$1" | grep -o '/[^ )]*' || true; }

inside() { "${enter[@]}" chroot "$root" /bin/bash -c "export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin HOME=/tmp; cd /tmp && $1"; }

# check_install PREFIX: the package there does its quick job, and holds what every package holds.
check_install() {
  local file
  inside "$1/bin/ptrain --version && $1/bin/ptrain doctor"
  inside "$1/bin/ptrain run configs/quick/bert_synthetic.yaml -o train.steps=8 -o eval.max_samples=32 -o threads=1 --progress none --out /tmp/run"
  test -s "$root/tmp/run/report.json"
  for file in share/doc/ptrain/{copyright,README.md} share/bash-completion/completions/ptrain share/zsh/*/_ptrain \
    share/fish/vendor_completions.d/ptrain.fish share/man/man1/ptrain.1.gz share/doc/ptrain/licenses/nlohmann-json3-dev; do
    compgen -G "$root$1/$file" >/dev/null || { echo "the package lacks $file" >&2 && return 1; }
  done
  for file in "$root$1"/lib/ptrain/*.so.*; do
    check_licence "$root$1" "$(basename "$file")"
  done
}

# check_library PREFIX: the C example is compiled against the package there, and asks the model that check_install trained.
# Made-up text has no vocabulary, which the library says of its model.
check_library() {
  local flags answer
  flags=$(PKG_CONFIG_PATH=$root$1/lib/pkgconfig pkg-config --cflags --libs ptrain)
  # shellcheck disable=SC2086
  cc scripts/examples/classify.c -o "$root/tmp/classify" $flags "-Wl,-rpath,$1/lib"
  if answer=$(inside "/tmp/classify /tmp/run words 2>&1"); then return 1; fi
  [[ $answer == *"has no vocab.txt"* ]] || { echo "libptrain does not answer: $answer" >&2 && return 1; }
  test -s "$root$1/lib/cmake/ptrain/ptrain-config.cmake"
}

# check_licence PREFIX LIBRARY: a licence is there under the name of the library's package.
check_licence() {
  local stem=${2#lib} file
  stem=${stem%%.so*}
  case $stem in
    dnnl) stem=onednn ;;
    mpi | open-rte | open-pal) stem=openmpi ;;
    z) stem=zlib ;;
    crypto) stem=ssl ;;
    brotli*) stem=brotli ;;
    event*) stem=event ;;
  esac
  stem=$(tr -d '0-9._-' <<<"$stem")
  for file in "$1"/share/doc/ptrain/licenses/*; do
    [[ $(basename "$file" | tr -d '0-9._-') != *"$stem"* || ! -s $file ]] || return 0
  done
  echo "the package has no licence of $2" >&2
  return 1
}

for library in $(libraries_of "${build:?}/bin/ptrain"); do
  case $(basename "$library") in
    ld-linux* | libc.so* | libm.so* | libdl.so* | librt.so* | libpthread.so* | libstdc++.so* | libgcc_s.so*) lend "$library" ;;
  esac
done
lend_program bash dirname env readlink
