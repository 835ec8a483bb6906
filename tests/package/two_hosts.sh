#!/usr/bin/env bash
# What scripts/launch says, on two hosts that are network namespaces: each enters a root with what the image holds (the
# packages that the Dockerfile installs, its ssh settings, the packed tree), and runs the commands that compose.yaml and
# mpijob.yaml give to their containers (keys, sshd on the second host, mpirun on the first), and ptrain.sbatch.
#   tests/package/two_hosts.sh BUILD FOLDER     FOLDER has the packages of BUILD; exit code 77: no right to do it
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(cd "$1" && pwd)
packages=$(cd "$2" && pwd)
for tool in mpirun sshd; do
  command -v "$tool" /usr/sbin/"$tool" >/dev/null || { echo "skipped: needs $tool" && exit 77; }
done
if ! grep -q libmpi <<<"$(ldd "$build/bin/ptrain")"; then
  echo "skipped: ptrain was built without MPI"
  exit 77
fi
# shellcheck source=tests/package/root.sh
. tests/package/root.sh
# shellcheck source=tests/net/hosts.sh
. tests/net/hosts.sh
trap 'remove_hosts; rm -rf "$root"' EXIT

# The image, as the Dockerfile makes it.
# shellcheck disable=SC2046
lend_packages bash coreutils $(sed -n 's/.*apt-get install .*--no-install-recommends \(.*\) \\$/\1/p' Dockerfile)
cp -a /etc/alternatives "$root/etc/" # mpirun is one of them
ln -sf /etc/alternatives/mpirun "$root/usr/bin/mpirun"
mkdir -p "$root"/{sys,etc/ssh/{ssh,sshd}_config.d,opt,root/.ssh,run/sshd,usr/local/bin,ptrain/runs}
for file in ssh_config sshd_config; do
  echo "Include /etc/ssh/$file.d/*.conf" >"$root/etc/ssh/$file"
done
cp scripts/launch/ssh_client.conf "$root/etc/ssh/ssh_config.d/ptrain.conf"
cp scripts/launch/ssh_server.conf "$root/etc/ssh/sshd_config.d/ptrain.conf"
tar -C "$root/opt" -xf "$packages"/ptrain-*.tar.xz
ln -s /opt/ptrain/bin/ptrain "$root/usr/local/bin/ptrain"
printf 'root:x:0:0:root:/root:/bin/bash\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n' >"$root/etc/passwd"
printf '10.77.0.1 first\n10.77.0.2 second\n127.0.0.1 localhost\n' >"$root/etc/hosts"
touch "$root"/dev/{null,zero,random,urandom}
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root OMPI_MCA_mpi_yield_when_idle=1)
while read -r word; do environment+=("$word"); done < <(sed -n 's/^ENV //p' Dockerfile | tr ' ' '\n')

# on NAMESPACE HOST COMMAND...: as a container of the image named HOST.
# shellcheck disable=SC2016
on() {
  local namespace=$1 host=$2
  shift 2
  ip netns exec "$namespace" unshare --mount --pid --uts --fork --mount-proc="$root/proc" bash -c '
    root=$1 && hostname "$2" && shift 2
    for device in null zero random urandom; do mount --bind "/dev/$device" "$root/dev/$device"; done
    mount --rbind /sys "$root/sys"
    exec chroot "$root" /usr/bin/env -C /ptrain -i "$@"' - "$root" "$host" "${environment[@]}" "$@"
}

# command_of FILE NAME: the words of the first command after the line "NAME:" or "name: NAME", a line each.
command_of() {
  python3 - "$1" "$2" <<'PYTHON'
import json, re, sys
text = open(sys.argv[1]).read()
after = re.split(rf"^ *(?:- name: )?{sys.argv[2]}:?(?: #.*)?$", text, maxsplit=1, flags=re.M)[1]
print("\n".join(json.loads(re.search(r"^ *command: (\[.*\])$", after, flags=re.M)[1])).replace("$$", "$"))
PYTHON
}

# check_run NAME: two ranks trained.
check_run() {
  python3 - "$root/ptrain/runs/$1/report.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["status"] == "ok", report
assert report["distributed"]["engine"] == "mpi", report["distributed"]
hosts = [rank["host"] for rank in report["distributed"]["ranks"]]
assert hosts == [0, 1], hosts
PYTHON
  echo "$1: two ranks on two hosts"
}

compose=scripts/launch/compose.yaml mpijob=scripts/launch/mpijob.yaml
environment+=(CONFIG=configs/quick/bert_synthetic.yaml "ARGS=-o threads=1 -o train.steps=8 -o eval.max_samples=32")
on "$near" keys /bin/bash -c "$(command_of $compose keys)"
on "$far" second /bin/bash -c "$(command_of $compose second)" 2>"$root/tmp/sshd.log" &
on "$near" first /bin/bash -c "$(command_of $compose first)" || { cat "$root/tmp/sshd.log" && exit 1; }
check_run compose

# The operator gives the launcher the list of hosts and the keys, and starts a worker's command in each.
[[ $(command_of $mpijob worker | tail -n 1) == "$(command_of $compose second)" ]] # the sshd that runs already
printf 'first slots=1\nsecond slots=1\n' >"$root/etc/hostfile"
environment+=(OMPI_MCA_orte_keep_fqdn_hostnames=true OMPI_MCA_orte_default_hostfile=/etc/hostfile)
mapfile -t launcher < <(command_of $mpijob launcher)
on "$near" first "${launcher[@]}" -o threads=1 -o train.steps=8 -o eval.max_samples=32
check_run mpijob

# Slurm and Apptainer are stood for: mpirun over the same hosts, and the root that this already is.
cat >"$root/usr/local/bin/srun" <<'SRUN'
#!/bin/bash
while [[ $1 == --* ]]; do shift; done
exec mpirun -np 2 --bind-to none "$@"
SRUN
cat >"$root/usr/local/bin/apptainer" <<'APPTAINER'
#!/bin/bash
[[ "$1 $2" == "exec ptrain.sif" ]] && exec "${@:3}"
APPTAINER
chmod +x "$root"/usr/local/bin/{srun,apptainer}
cp scripts/launch/ptrain.sbatch "$root/ptrain/"
environment+=(IMAGE=ptrain.sif SLURM_JOB_NAME=sbatch SLURM_JOB_ID=7)
on "$near" first /bin/bash ptrain.sbatch configs/quick/bert_synthetic.yaml -o threads=1 -o train.steps=8 -o eval.max_samples=32
check_run sbatch-7
