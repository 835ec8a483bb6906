#!/usr/bin/env bash
# Measures the effect of flags: runs a suite of flag settings, prints the table and the effects with their intervals,
# and writes a page of charts next to the records. An interrupted run resumes where it stopped.
#   scripts/compare_flags.sh [SUITE [OUT]] [-o key=value ...]
#   SUITE  default configs/bench/flags_resnet50.yaml
#   OUT    default runs/NAME of the suite
set -euo pipefail
. "$(dirname "$0")/usage.sh"

suite=$(dirname "$0")/../configs/bench/flags_resnet50.yaml out=
if [[ -n "${1:-}" && "$1" != -* ]]; then suite=$1 && shift; fi
if [[ -n "${1:-}" && "$1" != -* ]]; then out=$1 && shift; fi
out=${out:-runs/$(basename "$suite" .yaml)}
ptrain=${PTRAIN:-$(dirname "$0")/../build/release/bin/ptrain}
if [[ ! -x $ptrain ]]; then
  echo "no program at $ptrain: build it (scripts/test.sh, scripts/quickstart.sh), or set PTRAIN" >&2
  exit 1
fi

"$ptrain" bench "$suite" --out "$out" "$@"
"$ptrain" table "$out"
"$ptrain" table "$out" --format html --out "$out/index.html"
echo "page: $out/index.html"
