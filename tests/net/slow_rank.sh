#!/usr/bin/env bash
# Four hosts on one machine: network namespaces on a bridge, a rank in each, mpirun over TCP between them. `ptrain doctor
# --ranks` must find nothing where all are alike, a host whose link is slow, one whose processor is, and one that is silent.
# Needs root, iproute2 and mpirun.
#   usage: tests/net/slow_rank.sh [PTRAIN [REPEATS [ALIKE]]]    how often each fault, and none, is tried; default: once
set -euo pipefail
cd "$(dirname "$0")/../.."

ptrain=$(realpath "${1:-build/release/bin/ptrain}")
repeats=${2:-1} alike=${3:-$repeats}
hosts=(1 2 3 4)
work=$(mktemp -d)
core=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/') # the first that this shell may use

command -v mpirun >/dev/null || { echo "skipped: needs mpirun"; exit 77; }
grep -q libmpi <<<"$(ldd "$ptrain")" || { echo "skipped: ptrain was built without MPI"; exit 77; }
command -v ip >/dev/null || { echo "skipped: needs iproute2"; exit 77; }
space() { echo "ptrain-rank$1-$$"; }
if ((EUID != 0)) || ! ip netns add "$(space 1)" 2>/dev/null; then
  echo "skipped: needs the right to make network namespaces"
  exit 77
fi
switch=ptsw$$
remove_hosts() {
  local host pid
  for host in "${hosts[@]}"; do
    for pid in $(ip netns pids "$(space "$host")" 2>/dev/null); do kill -9 "$pid" 2>/dev/null || true; done
    ip netns del "$(space "$host")" 2>/dev/null || true
  done
  ip link del "$switch" 2>/dev/null || true
  rm -rf "$work"
}
trap remove_hosts EXIT

ip link add name "$switch" type bridge
ip link set "$switch" up
for host in "${hosts[@]}"; do
  ((host == 1)) || ip netns add "$(space "$host")"
  ip link add name "pt$host-$$" type veth peer name rank0 netns "$(space "$host")"
  ip link set "pt$host-$$" master "$switch" up
  ip -n "$(space "$host")" addr add "10.78.0.$host/24" dev rank0
  ip -n "$(space "$host")" link set lo up
  ip -n "$(space "$host")" link set rank0 up
done

# mpirun reaches a host by this instead of ssh. Its processes are numbered by themselves, as on a machine of its own; its
# name is of its own, as ranks of one name share a host; $work/slow names the host with a slow processor.
cat >"$work/agent" <<AGENT
#!/usr/bin/env bash
host=\${1##*.}
shift
slowly=
[[ \$(cat "$work/slow" 2>/dev/null) != "\$host" ]] || slowly="taskset -c $core nice -n 15"
exec ip netns exec ptrain-rank\$host-$$ unshare --pid --fork --mount-proc --uts \
  bash -c "hostname host\$host; exec \$slowly bash -c \"\\\$1\"" - "\$*"
AGENT
chmod +x "$work/agent"

# check LOG: compares the ranks; the exit code is doctor's.
check() {
  local ranks=() host
  for host in "${hosts[@]}"; do
    ((host == 1)) || ranks+=(:)
    ranks+=(-np 1 --host "10.78.0.$host:1" -x OMP_NUM_THREADS=1 "$ptrain" doctor --ranks --disk "$work")
  done
  timeout 120 ip netns exec "$(space 1)" unshare --uts bash -c 'hostname host1; exec "$@"' - \
    mpirun --allow-run-as-root --oversubscribe --bind-to none --mca plm rsh --mca plm_rsh_agent "$work/agent" \
    --mca oob_tcp_if_include 10.78.0.0/24 --mca btl_tcp_if_include 10.78.0.0/24 --mca btl tcp,self --mca pml ob1 \
    "${ranks[@]}" >"$1" 2>&1
}

wrong=0
# count WHAT TIMES TEST...: runs TEST that often, and says how often it held.
count() {
  local what=$1 times=$2 good=0 i
  shift 2
  for ((i = 0; i < times; ++i)); do
    if "$@"; then good=$((good + 1)); else sed 's/^/    /' "$work/log"; fi
  done
  echo "$what: $good of $times"
  ((good == times)) || wrong=1
}

finds_nothing() { check "$work/log" && ! grep -q FAIL "$work/log"; }
finds_slow_link() {
  ip netns exec "$(space 3)" tc qdisc add dev rank0 root tbf rate 300mbit burst 64kb latency 100ms
  check "$work/log" || true
  ip netns exec "$(space 3)" tc qdisc del dev rank0 root
  [[ $(grep FAIL "$work/log" | grep -v '^ranks') == "rank 2 on host3 "*"links between hosts"* ]]
}
finds_slow_processor() {
  nice -n 5 taskset -c "$core" bash -c 'while :; do :; done' & # beside the slow rank; the others go before it
  local loop=$!
  echo 2 >"$work/slow"
  check "$work/log" || true
  rm "$work/slow"
  kill $loop
  wait $loop 2>/dev/null || true
  ! grep FAIL "$work/log" | grep -q "^rank [023]" || return 1
  # On a machine that is busy anyway it may get so little that the others wait for it in vain, which names it too.
  grep FAIL "$work/log" | grep -q "^rank 1 on host2 .*matrix product" ||
    grep -q "^error: rank 1 on host2 has kept the others waiting" "$work/log"
}
finds_silent_rank() {
  check "$work/log" &
  local checking=$! pid=
  while [[ -z $pid ]]; do # it measures when it has its file
    sleep 0.1
    kill -0 $checking 2>/dev/null || return 1
    pid=$(for candidate in $(ip netns pids "$(space 4)"); do
      ! readlink "/proc/$candidate/fd/"* 2>/dev/null | grep -q "/ptrain-check-3-" || echo "$candidate"
    done)
  done
  sleep 1
  kill -STOP "$pid"
  local begin=$SECONDS
  wait $checking || true
  kill -9 "$pid" 2>/dev/null || true
  ((SECONDS - begin < 60)) && grep -q "rank 3 on host4 .*it last did: step [0-9]*: [a-z]" "$work/log"
}

count "all alike, nothing found" "$alike" finds_nothing
count "slow link found" "$repeats" finds_slow_link
count "slow processor found" "$repeats" finds_slow_processor
count "silent rank found" "$repeats" finds_silent_rank
exit $wrong
