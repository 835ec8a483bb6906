"""Jobs of scripts/launch/ptrain.sbatch in a real Slurm of one node, whose daemons this test starts. Started by run.sh,
which installs Debian's packages; skipped without them, and for anyone but root."""
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import BINARY, ROOT, ProgramTest  # noqa: E402

DAEMONS = ("munged", "slurmctld", "slurmd")
MISSING = [name for name in (*DAEMONS, "sbatch") if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")]
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SwitchType=switch/none
TmpFS={folder}/tmp
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports():
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait(reached, problem, describe=str):
    """`describe` gives what else is to be said of the problem."""
    deadline = time.monotonic() + 120
    while not reached():
        if time.monotonic() > deadline:
            raise AssertionError(f"{problem} {describe()}")
        time.sleep(0.2)


class Cluster:
    def __init__(self):
        self.holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.holder.name)
        self.folder.chmod(0o755)
        for name in ("state", "spool", "tmp"):
            (self.folder / name).mkdir()
        (self.folder / "key").write_bytes(secrets.token_bytes(128))
        (self.folder / "key").chmod(0o600)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], folder=self.folder, ports=free_ports(), cpus=os.cpu_count()))
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"),
                            "PATH": f"{pathlib.Path(BINARY).parent}:{os.environ['PATH']}:/usr/sbin"}
        munge = {name: f"--{name}={self.folder}/munge.{name.removesuffix('-file')}"
                 for name in ("socket", "log-file", "pid-file", "seed-file")}
        self.call("munged", "--force", f"--key-file={self.folder}/key", *munge.values())
        self.call("slurmctld")
        self.call("slurmd")

    def call(self, *command, **options):
        return subprocess.run(list(map(str, command)), env=self.environment, capture_output=True, text=True,
                              timeout=60, **{"check": True, **options}).stdout.strip()

    def is_idle(self):
        return self.call("sinfo", "--noheader", "--format=%t") == "idle"

    def close(self):
        """Ends jobs, then daemons, the newest first: those that stay would write into a folder that is gone."""
        try:
            self.call("scancel", "--user=root")
            wait(self.is_idle, "the jobs do not end")
        finally:
            for name in ("slurmd", "slurmctld", "munge"):
                file = self.folder / f"{name}.pid"
                if file.exists():
                    daemon = int(file.read_text())
                    os.kill(daemon, signal.SIGTERM)
                    wait(lambda: not pathlib.Path(f"/proc/{daemon}").exists(), f"{name} does not end")
            self.holder.cleanup()


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
@unittest.skipIf(os.geteuid() != 0, "needs root")
class Slurm(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)
        wait(cls.cluster.is_idle, "the node does not come up")

    def setUp(self):
        super().setUp()
        self.config.write_text(self.config.read_text().replace("steps: 60", "steps: 3000"))
        self.job = self.cluster.call("sbatch", "--parsable", "--nodes=1", ROOT / "scripts/launch/ptrain.sbatch",
                                     self.config, "-o", "output.checkpoint_every_steps=50", cwd=self.folder)
        self.addCleanup(self.end_job)
        self.out = f"runs/ptrain-{self.job}"
        wait(lambda: self.steps() > 60, "no 60 steps were trained", self.describe)

    def end_job(self):
        self.cluster.call("scancel", self.job)
        wait(self.cluster.is_idle, "the job does not end")

    def steps(self):
        try:
            return len(self.losses(self.out))
        except FileNotFoundError:
            return 0

    def describe(self):
        return self.cluster.call("scontrol", "show", "job", self.job) + (self.folder / f"ptrain-{self.job}.out").read_text()

    def state(self):
        return self.cluster.call("squeue", "--noheader", "--format=%t", "--states=all", f"--jobs={self.job}")

    def start(self):
        """Slurm gives a requeued job two minutes of rest, some time after it is pending."""
        if self.state() == "PD":
            self.cluster.call("scontrol", "update", f"JobId={self.job}", "StartTime=now", check=False)  # or it runs by now

    def test_a_requeued_job_goes_on_from_its_checkpoint(self):
        self.cluster.call("scontrol", "requeue", self.job)
        wait(lambda: self.state() == "PD", "the job is not requeued")
        done = self.steps()
        wait(lambda: self.start() or self.steps() > done, "it does not continue", self.describe)
        self.assertIn("resumed from", (self.folder / f"ptrain-{self.job}.out").read_text())

    def test_a_signalled_job_writes_a_checkpoint(self):
        self.cluster.call("scancel", "--signal=USR1", self.job)
        wait(lambda: self.state() not in ("R", "CG"), "the job does not end")
        report = self.report(self.out)
        self.assertEqual(report["status"], "interrupted")
        self.assertTrue((self.folder / report["progress"]["checkpoint"]).exists())


if __name__ == "__main__":
    unittest.main()
