#!/usr/bin/env python3
"""Trains on hosts that are network namespaces of this machine, with links of a set rate, and compares with the prediction.

Usage: network_scaling.py CONFIG [-o KEY=VALUE ...] [--ranks 2 4 8] [--rate 200] [--latency 0.1] [--steps 100] [--rounds 2]
                          [--program build/release/bin/ptrain] [--out FILE]

For each number of ranks, in turn: as many runs of one rank each, side by side, whose step is what a rank takes when the
cores are shared like that; then the ranks together, with synchronous and with delayed updates. `ptrain estimate` predicts
these from the runs of one rank and the links: --rate in Mbit/s that each host sends at most, and --latency in ms of a
message between two, which is the machine's own.
Prints a table, medians over the rounds; --out keeps all rounds. Needs root, iproute2 (ip, tc) and mpirun.
"""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

MODES = ("synchronous", "delayed")
NETWORK = "10.79.0"


class Hosts:
    """Namespaces on a bridge, a link of its own rate for each; reached by mpirun through an agent instead of ssh."""

    def __init__(self, count, folder):
        self.count, self.tag = count, str(os.getpid())
        self.agent = folder / "agent"

    def make(self, rate):
        self.call("ip", "link", "add", "name", self.bridge, "type", "bridge")
        self.call("ip", "link", "set", self.bridge, "up")
        for host in range(1, self.count + 1):
            space, outer = self.space(host), f"pn{host}-{self.tag}"
            self.call("ip", "netns", "add", space)
            self.call("ip", "link", "add", "name", outer, "type", "veth", "peer", "name", "rank0", "netns", space)
            self.call("ip", "link", "set", outer, "master", self.bridge, "up")
            self.call("ip", "-n", space, "addr", "add", f"{NETWORK}.{host}/24", "dev", "rank0")
            for device in ("lo", "rank0"):
                self.call("ip", "-n", space, "link", "set", device, "up")
            self.call("ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", "rank0", "root", "tbf", "rate",
                      f"{rate}mbit", "burst", "256kb", "limit", "64mb")
        self.agent.write_text(
            "#!/usr/bin/env bash\nhost=${1##*.}\nshift\n"
            f"exec ip netns exec ptrain-net$host-{self.tag} unshare --pid --fork --mount-proc --uts "
            "bash -c \"hostname host$host; exec bash -c \\\"\\$1\\\"\" - \"$*\"\n")
        self.agent.chmod(0o755)

    @property
    def bridge(self):
        return f"pnsw{self.tag}"

    def space(self, host):
        return f"ptrain-net{host}-{self.tag}"

    @staticmethod
    def call(*command, check=True):
        return subprocess.run(command, check=check, stdout=subprocess.DEVNULL,
                              stderr=None if check else subprocess.DEVNULL)

    def remove(self):
        for host in range(1, self.count + 1):
            found = subprocess.run(["ip", "netns", "pids", self.space(host)], capture_output=True, text=True)
            for pid in found.stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), 9)
            self.call("ip", "netns", "del", self.space(host), check=False)
        self.call("ip", "link", "del", self.bridge, check=False)

    def mpirun(self, command):
        ranks = []
        for host in range(1, self.count + 1):
            ranks += [] if host == 1 else [":"]
            ranks += ["-np", "1", "--host", f"{NETWORK}.{host}:1", "-x", "OMP_NUM_THREADS=1", *map(str, command)]
        interfaces = f"{NETWORK}.0/24"
        return ["ip", "netns", "exec", self.space(1), "unshare", "--uts", "bash", "-c", 'hostname host1; exec "$@"', "-",
                "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "plm", "rsh", "--mca",
                "plm_rsh_agent", str(self.agent), "--mca", "oob_tcp_if_include", interfaces, "--mca",
                "btl_tcp_if_include", interfaces, "--mca", "btl", "tcp,self", "--mca", "pml", "ob1", *ranks]


def read(folder):
    return json.loads((folder / "report.json").read_text())


def step_ms(report):
    return report["latency_ms"]["step"]["mean"]


class Measurement:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.settings = [f"train.steps={arguments.steps}", f"train.measure_after_steps={arguments.steps // 5}",
                         "output.save=false", "output.fresh=true", *arguments.override]

    def command(self, out, *settings):
        words = [self.arguments.program, "run", self.arguments.config, "--progress", "none", "--out", str(out)]
        for setting in (*self.settings, *settings):
            words += ["-o", setting]
        return words

    def run(self, command):
        result = subprocess.run(command, capture_output=True, text=True, timeout=1800)
        if result.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\nended with {result.returncode}:\n{result.stderr[-2000:]}")

    def run_alone(self, ranks):
        """The report of one of `ranks` runs of one rank each, side by side."""
        outs = [self.folder / f"alone{rank}" for rank in range(ranks)]
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        runs = [subprocess.Popen(self.command(out, "dist.ranks=1", "output.per_op=true"), env=environment, text=True,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for out in outs]
        errors = [run.communicate()[1] for run in runs]
        if any(run.returncode for run in runs):
            sys.exit(f"a run of one rank failed:\n{errors[0][-2000:]}")
        return sorted((read(out) for out in outs), key=step_ms)[ranks // 2], outs

    def run_together(self, hosts, mode):
        out = self.folder / mode
        self.run(hosts.mpirun(self.command(out, f"dist.ranks={hosts.count}", f"dist.updates={mode}")))
        return read(out)

    def predict(self, ranks, mode, measured):
        links = self.folder / "links.yaml"
        gigabytes = self.arguments.rate / 8000
        link = f"{{latency_us: {self.arguments.latency * 1000}, bandwidth_gb_s: {gigabytes}}}"
        links.write_text(f"ranks_per_node: 1\ninside_node: {link}\nbetween_nodes: {link}\n")
        one = self.folder / "one.json"
        one.write_text(json.dumps(measured))
        words = [self.arguments.program, "estimate", self.arguments.config, "--ranks", str(ranks), "--links", links,
                 "--measured", one, "--json", "--zipf", str(self.arguments.zipf), "-o", f"dist.ranks={ranks}", "-o",
                 f"dist.updates={mode}"]
        for setting in self.arguments.override:
            words += ["-o", setting]
        return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)[0]["step_ms"]


def measure(arguments, ranks, folder):
    measurement = Measurement(arguments, folder)
    rounds = {"alone": [], **{f"{mode} {what}": [] for mode in MODES for what in ("measured", "predicted", "exposed")}}
    hosts = Hosts(ranks, folder)
    try:
        hosts.make(arguments.rate)
        for _ in range(arguments.rounds):
            alone, _ = measurement.run_alone(ranks)
            rounds["alone"].append(step_ms(alone))
            for mode in MODES:
                report = measurement.run_together(hosts, mode)
                rounds[f"{mode} measured"].append(step_ms(report))
                rounds[f"{mode} exposed"].append(report["distributed"]["exchange"]["exposed_ms"])
                rounds[f"{mode} predicted"].append(measurement.predict(ranks, mode, alone))
    finally:
        hosts.remove()
    return rounds


def print_table(results):
    print("| ranks | one rank ms | synchronous ms | predicted | delayed ms | predicted | synchronous / delayed |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for ranks, rounds in results.items():
        value = {name: statistics.median(values) for name, values in rounds.items()}
        ratio = statistics.median(s / d for s, d in zip(rounds["synchronous measured"], rounds["delayed measured"]))
        cells = [f"{value['alone']:.1f}"]
        for mode in MODES:
            cells += [f"{value[mode + ' measured']:.1f}", f"{value[mode + ' predicted']:.1f}"]
        print(f"| {ranks} | {' | '.join(cells)} | {ratio:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("-o", "--override", action="append", default=[])
    parser.add_argument("--zipf", type=float, default=0, help="frequencies of a divided table's rows, as of estimate")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--program", default="build/release/bin/ptrain")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("network namespaces need root")
    results = {}
    for ranks in arguments.ranks:
        with tempfile.TemporaryDirectory() as folder:
            results[ranks] = measure(arguments, ranks, pathlib.Path(folder))
        if arguments.out:
            document = {"arguments": vars(arguments), "rounds": results}
            pathlib.Path(arguments.out).write_text(json.dumps(document, indent=1) + "\n")
    print_table(results)


if __name__ == "__main__":
    main()
