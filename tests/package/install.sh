#!/usr/bin/env bash
# Installs a package into a bare root and runs it there.
#   tests/package/install.sh tar|wheel|deb BUILD FOLDER   FOLDER has the packages of BUILD; exit code 77: no right to do it
# CUDA's libraries, which a package never holds, are lent to a program that was linked to them.
set -euo pipefail
cd "$(dirname "$0")/../.."
form=$1
build=$(cd "$2" && pwd)
packages=$(cd "$3" && pwd)
# shellcheck source=tests/package/root.sh
. tests/package/root.sh

install_tar() {
  mkdir "$root/pack"
  tar -C "$root/pack" -xf "$packages"/ptrain-*.tar.xz
  mkdir "$root/cuda"
  for library in $(libraries_of "$build/bin/ptrain"); do
    case $(basename "$library") in
      libcudnn.so*) cp -L "$library" "$(dirname "$library")/libcudnn_graph.so.9" "$root/cuda/" ;; # which it loads by itself
      libcu* | libnccl* | libnv*) cp -L "$library" "$root/cuda/" ;;
    esac
  done
  export LD_LIBRARY_PATH=/cuda
  if [[ -e $root/pack/ptrain/ptrain.sh ]]; then inside '/pack/ptrain/ptrain.sh doctor'; fi
  check_install /pack/ptrain
  check_library /pack/ptrain
}

install_wheel() {
  local pip=(python3 -m pip --disable-pip-version-check --quiet --python "$root/venv/bin/python")
  python3 -m venv --without-pip "$root/venv"
  "${pip[@]}" install --no-index "$packages"/ptrain-*.whl
  check_install /venv
  test -s "$root/venv/lib/libptrain.so.0"
  "$root/venv/bin/python" -c 'import ptrain; assert ptrain.load_library().ptrain_version()'
  python3 - "$packages"/ptrain-*.whl <<'CHECK'
import email, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
about = email.message_from_bytes(wheel.read(metadata))
assert len(about.get_payload()) > 1000, "the wheel has no long description"
licences = [(entry.CRC, entry.file_size) for entry in wheel.infolist() if "licenses/" in entry.filename]
assert len(licences) == len(set(licences)), "the wheel has a licence twice"
CHECK
  "${pip[@]}" uninstall --yes ptrain
  [[ ! -e $root/venv/bin/ptrain && ! -e $root/venv/lib/ptrain ]] || { echo "pip left files behind" >&2 && exit 1; }
}

# The root knows and has what the package's dependencies bring, and dpkg installs it there.
install_deb() {
  local package depends
  depends=$(dpkg-deb --field "$packages"/ptrain_*.deb Depends | sed 's/([^)]*)//g; s/,/ /g')
  mkdir -p "$root"/var/lib/dpkg/{info,updates}
  # shellcheck disable=SC2086
  for package in $(closure_of $depends); do
    dpkg-query --status "$package" >>"$root/var/lib/dpkg/status" 2>/dev/null || continue # an alternative that is not here
    echo >>"$root/var/lib/dpkg/status"
  done
  # shellcheck disable=SC2086
  lend_packages $depends
  lend_program sh ldconfig rm tar
  dpkg --root="$root" --log=/dev/null --install "$packages"/ptrain_*.deb
  check_install /usr
  check_library /usr
}

"install_$form"
echo "the $form runs in a bare root"
