# shellcheck shell=bash
# Sourced by tests over a network: two network namespaces, $near (10.77.0.1 at near0) and $far (10.77.0.2 at far0), joined by
# a veth pair. remove_hosts, for the trap, ends what runs in them. Ends with 77 where that cannot be.
near=ptrain-near-$$ far=ptrain-far-$$

command -v ip >/dev/null || { echo "skipped: needs iproute2" && exit 77; }
if ((EUID != 0)) || ! ip netns add "$near" 2>/dev/null; then
  echo "skipped: needs the right to make network namespaces"
  exit 77
fi

remove_hosts() {
  local pid namespace
  for namespace in "$near" "$far"; do
    for pid in $(ip netns pids "$namespace" 2>/dev/null); do kill -9 "$pid" 2>/dev/null || true; done
    ip netns del "$namespace" 2>/dev/null || true
  done
}

ip netns add "$far"
ip link add name near0 netns "$near" type veth peer name far0 netns "$far"
ip -n "$near" addr add 10.77.0.1/24 dev near0
ip -n "$far" addr add 10.77.0.2/24 dev far0
for end in "$near near0" "$far far0"; do
  read -r namespace device <<<"$end"
  ip -n "$namespace" link set lo up
  ip -n "$namespace" link set "$device" up
done
