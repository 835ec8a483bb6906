# shellcheck shell=bash
# Sourced first: usage prints the comment at the head of the script that sources this; --help prints it and ends.

usage_of=$(readlink -f "$0")
usage() { awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$usage_of"; }
refuse() {
  usage >&2
  exit 2
}

for argument in "$@"; do
  if [[ $argument == -h || $argument == --help ]]; then
    usage
    exit 0
  fi
done
