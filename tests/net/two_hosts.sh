#!/usr/bin/env bash
# Two hosts on one machine: two network namespaces joined by a veth pair, a rank in each, mpirun over TCP between them.
# First a run must complete and train what one rank trains; then the link is cut in the middle of a run, and both sides
# must end within the bound and name the other. Needs root, iproute2 and mpirun.
#   usage: tests/net/two_hosts.sh [PTRAIN]
set -euo pipefail
cd "$(dirname "$0")/../.."

ptrain=$(realpath "${1:-build/release/bin/ptrain}")
bound=12 # dist.timeout_seconds
work=$(mktemp -d)

command -v mpirun >/dev/null || { echo "skipped: needs mpirun"; exit 77; }
if ! grep -q libmpi <<<"$(ldd "$ptrain")"; then
  echo "skipped: ptrain was built without MPI"
  exit 77
fi
# shellcheck source=tests/net/hosts.sh
. tests/net/hosts.sh
trap 'remove_hosts; rm -rf "$work"' EXIT

# mpirun reaches the far host by this instead of ssh: the host's name is not looked at, for there is one other. Its
# processes are numbered by themselves, so that nobody sees the other side's in the process table.
cat >"$work/agent" <<AGENT
#!/usr/bin/env bash
shift
exec ip netns exec $far unshare --pid --fork --mount-proc bash -c "\$*"
AGENT
chmod +x "$work/agent"

cat >"$work/run.yaml" <<'YAML'
model: {name: bert, size: tiny, classes: 2, vocab_size: 200, max_positions: 32}
data: {source: synthetic, max_length: 16, batch_size: 8, synthetic_samples: 320, workers: 1}
train:
  steps: 20
  optimizer: {name: adamw, lr: 1.0e-3}
  schedule: {name: constant}
  log_every_steps: 1
eval: {every_epochs: 0}
output: {dir: run, save: false}
YAML

# run OUTPUT KEY=VALUE...: ptrain on both hosts; the far one, which has no disk in common, writes to OUTPUT-far.
run() {
  local output=$1 key keys=()
  shift
  for key in "$@"; do keys+=(-o "$key"); done
  local rank=("$ptrain" run "$work/run.yaml" --progress none -o data.batch_size=4 -o dist.timeout_seconds=$bound
    "${keys[@]}" --out)
  ip netns exec "$near" mpirun --allow-run-as-root --oversubscribe --bind-to none \
    --mca oob_tcp_keepalive_time $bound --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 2 \
    --mca plm_rsh_agent "$work/agent" --mca plm rsh \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 --mca btl tcp,self --mca pml ob1 \
    -np 1 --host 10.77.0.1:1 -x OMP_NUM_THREADS=1 "${rank[@]}" "$work/$output" : \
    -np 1 --host 10.77.0.2:1 -x OMP_NUM_THREADS=1 "${rank[@]}" "$work/$output-far"
}

losses() { python3 -c 'import json, sys; print([json.loads(l)["loss"] for l in open(sys.argv[1])])' "$1/metrics.jsonl"; }

echo "== a run across the two hosts"
OMP_NUM_THREADS=1 "$ptrain" run "$work/run.yaml" --out "$work/alone" --progress none >/dev/null
run together
python3 - "$(losses "$work/alone")" "$(losses "$work/together")" <<'PYTHON'
import json, sys
alone, together = map(json.loads, sys.argv[1:])
worst = max(abs(a - b) / abs(b) for a, b in zip(alone, together))
assert len(alone) == len(together) == 20 and worst < 1e-5, worst
print(f"20 losses agree with one rank's, worst relative difference {worst:.1e}")
PYTHON

echo "== the link is cut in the middle of a run"
run cut train.steps=1000000 >"$work/cut.out" 2>"$work/cut.err" &
launcher=$!
until [[ -e $work/cut/metrics.jsonl && $(wc -l <"$work/cut/metrics.jsonl") -gt 20 ]]; do sleep 0.1; done
ip -n "$near" link set near0 down
begin=$SECONDS
ranks() { pgrep -f "$ptrain run $work/run.yaml .*--out $work/cut" | while read -r pid; do
  [[ $(readlink "/proc/$pid/exe") == "$ptrain" ]] && echo "$pid"; done; }
while [[ -n $(ranks) ]] && ((SECONDS - begin < bound + 5)); do sleep 0.1; done
echo "ranks ended $((SECONDS - begin)) s after the cut; the bound is $bound s"
left=$(ranks || true)
# The launcher itself looks for its far daemon for a while.
while kill -0 "$launcher" 2>/dev/null && ((SECONDS - begin < bound + 8)); do sleep 0.5; done
status=124
if ! kill -0 "$launcher" 2>/dev/null; then
  status=0
  wait "$launcher" || status=$?
fi
echo "the launcher returned $status after $((SECONDS - begin)) s"
python3 - "$work" <<'PYTHON'
import json, pathlib, sys
for output, lost in (("cut", "rank 1"), ("cut-far", "rank 0")):
    message = json.loads((pathlib.Path(sys.argv[1]) / output / "report.json").read_text())["message"]
    print(f"{output}: {message}")
    assert message.startswith(lost), message
PYTHON
[[ -z $left ]] || { echo "FAILED: ranks are still there: $left"; exit 1; }
((status != 0)) || { echo "FAILED: the launcher returned 0"; exit 1; }
echo "passed"
