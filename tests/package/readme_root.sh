#!/usr/bin/env bash
# Follows README.md to the letter in a bare Debian 12 root, as someone does who has just cloned it: packages, clone, the
# first command, then every later command in order. Those whose data, devices or programs are not there are skipped by
# name. Says each command's exit code and seconds, and the first one's apart: packages, build, training.
#   tests/package/readme_root.sh [--limit SECONDS] [--data FOLDER] [--keep]
# --limit ends what takes longer as Ctrl-C does, but for installing, building and sweeps: a run then has to leave its
# report.
# --data is the folder of data sets that the README calls FOLDER, photos in it; --keep leaves the root where it is.
# Exit code 1: a command failed; 77: no right to change the root, or no Debian 12 to install from. Takes three quarters
# of an hour on two cores without --limit; apt's and pip's settings of this system are those of the root.
set -euo pipefail
cd "$(dirname "$0")/../.."

limit=0
keep=false
data=
while (($#)); do
  case "$1" in
    --limit)
      limit=${2:?--limit needs seconds}
      shift
      ;;
    --data)
      data=$(cd "${2:?--data needs a folder}" && pwd)
      shift
      ;;
    --keep) keep=true ;;
    *)
      sed -n '5,11s/^# \{0,1\}//p' "$0"
      exit 2
      ;;
  esac
  shift
done

# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
  sed -n 's/^bookworm //p' | head -n 1)
if ((EUID != 0)) || [[ -z $mirror ]] || ! unshare --mount true 2>/dev/null; then
  echo "skipped: needs root, and a Debian 12 whose packages it may install"
  exit 77
fi

work=$(mktemp -d)
root=$work/root
clone=/home/reader/source # ~/ptrain is where the README unpacks a package
downloads=/home/reader/downloads
log=$work/log.txt
clean_up() {
  if $keep; then echo "root: $root"; else rm -rf --one-file-system "$work"; fi
}
trap clean_up EXIT

# inside USER COMMAND: a shell of the root, with processes, devices and mounts of its own, and the program in PATH.
inside() {
  local -a settings=()
  local name
  for name in "${!PIP_@}" http_proxy https_proxy no_proxy; do
    if [[ -n ${!name:-} ]]; then settings+=("$name=${!name}"); fi
  done
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev"
    exec chroot "$1" runuser -u "$2" -- env -i "${@:4}" \
      PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin bash -c "$3"' \
    - "$root" "$1" "export HOME=~$1 PATH=$clone/build/release/bin:\$PATH; $2" "${settings[@]}"
}

make_root() {
  local tool=debootstrap folder file
  if ! command -v debootstrap >/dev/null; then
    (cd "$work" && apt-get download -q debootstrap >"$log" 2>&1 && dpkg-deb --extract debootstrap_*.deb tool)
    tool=$work/tool/usr/sbin/debootstrap
    export DEBOOTSTRAP_DIR=$work/tool/usr/share/debootstrap
  fi
  "$tool" --variant=minbase bookworm "$root" "$mirror" >"$log" 2>&1 || { tail -n 20 "$log" && return 1; }
  rm -f "$root/etc/apt/sources.list"
  cp -a /etc/apt/sources.list.d/debian* /etc/apt/sources.list "$root/etc/apt/sources.list.d/" 2>/dev/null || true
  if [[ -e $root/etc/apt/sources.list.d/sources.list ]]; then
    mv "$root/etc/apt/sources.list.d/sources.list" "$root/etc/apt/sources.list"
  fi
  grep -ls '^Acquire' /etc/apt/apt.conf.d/* | xargs -r cp -t "$root/etc/apt/apt.conf.d/"
  for file in /etc/hosts /etc/resolv.conf /etc/pip.conf /etc/ssl/certs/ca-certificates.crt \
    /usr/local/share/ca-certificates/*.crt; do
    if [[ -e $file ]]; then install -D "$file" "$root$file"; fi
  done
  for folder in ${PIP_FIND_LINKS:-}; do
    if [[ -d $folder ]]; then mkdir -p "$root$folder" && cp -a "$folder/." "$root$folder"; fi
  done
}

# The README's commands, in order; examples in fences are for other machines.
commands() { awk '/^```/ { fence = !fence } !fence && /^    [^ ]/ { sub(/^    /, ""); print }' README.md; }

# Why a command cannot be followed here; nothing where it can.
obstacle() {
  local line=${1%%  #*} word
  case $line in
    scripts/test.sh*) echo "the tests themselves" && return ;;
    mpirun\ -np\ 2*) (($(nproc) >= 2)) || { echo "2 slots, and here are $(nproc)" && return; } ;;
    docker* | sbatch*) inside reader "command -v ${line%% *}" >/dev/null || { echo "no ${line%% *}" && return; } ;;
    *--cuda* | cmake\ --preset\ cuda* | *--device\ cuda*) inside reader "command -v nvcc" >/dev/null || { echo "no CUDA toolkit" && return; } ;;
    *peers/*) echo "hours of PyTorch" && return ;;
    *--burn-in*) echo "as long as it says" && return ;;
    *\ serve\ *) echo "answers until it is ended" && return ;;
  esac
  for word in $line; do
    case $word in
      CONFIG | REPORT | OTHER | MACHINE | *'/MACHINE/'*) echo "$word is the reader's own" && return ;;
      FOLDER) [[ -n $data ]] || { echo "$word is the reader's own (--data)" && return; } ;;
      data/* | weights/* | photos/ | .deps/*) [[ -e $root$clone/$word ]] || { echo "$word is not there" && return; } ;;
      configs/bert_finetune*) [[ -e $root$clone/data/sst2 ]] || { echo "data/sst2 is not there" && return; } ;;
      *dist/ptrain[-_]* | dist/ptrain/*) compgen -G "$root$clone/$word" >/dev/null || { echo "$word was not made" && return; } ;;
      runs/bert_finetune) [[ -e $root$clone/$word/model.safetensors ]] || { echo "$word was not trained to its end" && return; } ;;
    esac
  done
}

# follow COMMAND: runs it in the clone, its output with seconds before each line in $log; prints its code and time. What
# the limit ends has to end as it does by Ctrl-C.
follow() {
  local start=$SECONDS code=0 line=${1//FOLDER/$downloads} within='' signal=INT ended=130
  case $line in # mpirun passes this one on; by Ctrl-C it ends its ranks at once
    mpirun*) signal=USR1 ended=138 ;;
  esac
  case $line in
    scripts/quickstart.sh* | scripts/package.sh* | scripts/fetch_* | *install* | tar* | cmake* | *\ bench\ configs/*) ;;
    *) if ((limit > 0)); then within="timeout --preserve-status --signal=$signal --kill-after=60 $limit "; fi ;;
  esac
  case $line in # what the README takes for granted there: an environment of the reader's
    pip*) inside reader "sudo apt-get install -qy --no-install-recommends python3-venv && python3 -m venv ~/environment" >"$log" 2>&1
      line=". ~/environment/bin/activate && $line && ptrain --version" ;;
  esac
  inside reader "cd $clone && ${within}bash -c $(printf %q "$line")" </dev/null 2>&1 |
    while IFS= read -r line; do printf '%5d %s\n' $((SECONDS - start)) "$line"; done >"$log" || code=${PIPESTATUS[0]}
  case $line in # a verdict on a machine that does other work may be any
    *\ compare\ * | *\ baseline\ check\ *) ((code != 4 && code != 5)) || code=0 ;;
  esac
  if [[ -n $within ]] && ((code == ended && SECONDS - start >= limit)); then
    printf 'ended  %5d s  %s\n' $((SECONDS - start)) "$1"
  else
    printf '%-5s  %5d s  %s\n' "$code" $((SECONDS - start)) "$1"
    if ((code != 0)); then
      failed+=("$1")
      tail -n 5 "$log" | sed 's/^/       | /'
    fi
  fi
}

# Where the first command's time went, by its own output: CMake begins where packages end.
split_first() {
  local packages build all
  packages=$(sed -n -E 's/^ *([0-9]+) (Preset CMake|-- ).*/\1/p' "$log" | head -n 1)
  build=$(sed -n -E 's/^ *([0-9]+) built after.*/\1/p' "$log" | head -n 1)
  all=$(tail -n 1 "$log" | awk '{ print $1 }')
  if [[ -n $packages && -n $build ]]; then
    echo "       of which packages $packages s, build $((build - packages)) s, training $((all - build)) s"
  fi
}

failed=()
echo "code   time     command"
make_root
printf '%-5s  %5d s  %s\n' - "$SECONDS" "(a bare Debian 12)"
start=$SECONDS
inside root "apt-get update -q && apt-get install -qy --no-install-recommends git sudo ca-certificates && useradd --create-home \
  --shell /bin/bash reader && echo 'reader ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/reader" >"$log" 2>&1 || { tail "$log" && exit 1; }
printf '%-5s  %5d s  %s\n' - $((SECONDS - start)) "(git and sudo)"
git clone -q --no-hardlinks . "$root$clone"
if [[ -n $data ]]; then
  cp -a "$data/." "$root$downloads"
  mkdir "$root$clone/photos"
  find "$data" -iname '*.jpeg' -exec cp -t "$root$clone/photos" {} +
fi
inside root "chown -R reader: ~reader"
first=true
while IFS= read -r line <&3; do
  reason=$(obstacle "$line")
  if [[ -n $reason ]]; then
    printf 'skip            %s: %s\n' "$line" "$reason"
    continue
  fi
  follow "$line"
  if $first; then split_first; fi
  first=false
done 3< <(commands)
echo "${#failed[@]} failed"
((${#failed[@]} == 0))
