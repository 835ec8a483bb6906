#!/usr/bin/env bash
# Weak and strong scaling of data-parallel training, from runs of one rank up to several, and one table of both.
#   usage: scripts/scaling.sh [--out FOLDER] [--ranks "1 2 4"] [--steps 12] [--mpi] [--ddp] CONFIG [-o KEY=VALUE]...
# Every rank has equally many cores: CORES (default: the machine's cores over the largest number of ranks), also when one
# rank is measured alone. Rounds alternate between the numbers of ranks (ROUNDS, default 2).
#   weak     data.batch_size samples on every rank; efficiency is the rate per rank over that of one rank
#   strong   data.batch_size samples on all ranks together; efficiency is the speed-up over the number of ranks
#   --mpi    ranks are processes under mpirun instead of threads
#   --ddp    the same weak scaling in PyTorch (scripts/peers/ddp_peer.py, ResNet-50 at 224 px), in the same rounds
set -euo pipefail
. "$(dirname "$0")/usage.sh"
cd "$(dirname "$0")/.."

out=runs/scaling ranks="1 2" steps=12 mpi=0 ddp=0 config="" options=()
while (($# > 0)); do
  case "$1" in
    --out) out=$2 && shift 2 ;;
    --ranks) ranks=$2 && shift 2 ;;
    --steps) steps=$2 && shift 2 ;;
    --mpi) mpi=1 && shift ;;
    --ddp) ddp=1 && shift ;;
    -o) options+=(-o "$2") && shift 2 ;;
    -*) refuse ;;
    *) config=$1 && shift ;;
  esac
done
[[ -n $config ]] || refuse

ptrain=${PTRAIN:-build/release/bin/ptrain}
python=${PYTHON:-.deps/peers/bin/python}
largest=$(tr ' ' '\n' <<<"$ranks" | sort -n | tail -1)
available=$(nproc)
cores=${CORES:-$((available / largest > 0 ? available / largest : 1))}
rounds=${ROUNDS:-2}
batch=$("$ptrain" validate "$config" --json "${options[@]}" | python3 -c 'import json, sys; print(json.load(sys.stdin)["data"]["batch_size"])')
mkdir -p "$out"

# share N: the cores of N ranks together, in taskset's form.
share() { echo "0-$(($1 * cores < available ? $1 * cores - 1 : available - 1))"; }

# run KIND RANKS BATCH ROUND: one report in $out.
run() {
  local kind=$1 n=$2 size=$3 name="$out/$1-$2-$4"
  local command=("$ptrain" run "$config" "${options[@]}" --out "$name" --fresh --progress none -o "data.batch_size=$size"
    -o "train.steps=$steps" -o train.measure_after_steps=3 -o eval.every_epochs=0 -o output.save=false)
  if ((mpi)); then
    OMP_NUM_THREADS=$cores taskset -c "$(share "$n")" mpirun --allow-run-as-root --oversubscribe --bind-to none \
      -np "$n" "${command[@]}" >/dev/null
  else
    OMP_NUM_THREADS=$((cores * n)) taskset -c "$(share "$n")" "${command[@]}" -o "dist.ranks=$n" >/dev/null
  fi
}

for ((round = 0; round < rounds; ++round)); do
  for n in $ranks; do
    run weak "$n" "$batch" "$round"
    if ((batch % n == 0)); then run strong "$n" $((batch / n)) "$round"; fi
    if ((ddp)); then
      taskset -c "$(share "$n")" "$python" scripts/peers/ddp_peer.py --ranks "$n" --threads "$cores" --batch "$batch" \
        --steps $((steps - 3)) --warmup 3 >"$out/ddp-$n-$round.json"
    fi
  done
done

python3 - "$out" "$rounds" $ranks <<'PYTHON' | tee "$out/scaling.md"
"""Makes the table of the reports; a figure is the best of the rounds, for noise only ever slows a run down."""
import json
import pathlib
import sys

out, rounds, ranks = pathlib.Path(sys.argv[1]), int(sys.argv[2]), [int(n) for n in sys.argv[3:]]


def report(kind, n):
    reports = [out / f"{kind}-{n}-{r}" / "report.json" for r in range(rounds)]
    found = [json.loads(path.read_text()) for path in reports if path.exists()]
    return max(found, key=lambda r: r["throughput"]["value"], default=None)


def ddp(n):
    lines = [out / f"ddp-{n}-{r}.json" for r in range(rounds)]
    found = [json.loads(path.read_text())["samples_per_second"] for path in lines if path.exists()]
    return max(found, default=None)


print("| kind | ranks | samples/s | per rank | efficiency | exchange ms | exposed ms | overlapped | waited ms | PyTorch DDP |")
print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
for kind in ("weak", "strong"):
    one = report(kind, 1)
    for n in ranks:
        r = report(kind, n)
        if r is None:
            continue
        rate = r["throughput"]["value"]
        base = one["throughput"]["value"] if one else float("nan")
        d = r["distributed"]
        e = d["exchange"] if d else None
        peer = ddp(n) if kind == "weak" else None
        cells = [kind, str(n), f"{rate:.2f}", f"{rate / n:.2f}", f"{rate / n / base:.3f}"]
        cells += [f"{e['transfer_ms']:.1f}", f"{e['exposed_ms']:.1f}", f"{e['overlapped']:.2f}"] if e else ["", "", ""]
        cells += [f"{max(k['waited_ms'] for k in d['ranks']):.1f}" if d else "", f"{peer:.2f}" if peer else ""]
        print("| " + " | ".join(cells) + " |")
PYTHON
