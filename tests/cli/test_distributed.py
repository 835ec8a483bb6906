"""Runs of several ranks, as threads and under mpirun: the same losses, and an end for all when one is lost.

PTRAIN_RANK_KILLS says how many moments a rank is killed at (default 2). What needs mpirun is skipped without it, and
in builds without MPI.
"""
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time
import unittest

from program import BINARY, ProgramTest, run

RESNET = """\
model: {name: resnet18, classes: 4}
data: {source: synthetic, image_size: 16, batch_size: 8, synthetic_samples: 64, workers: 1}
train:
  steps: 20
  optimizer: {name: momentum, lr: 3.0e-4}  # rounding grows with the steps that the weights take
  schedule: {name: constant}
  log_every_steps: 1
eval: {every_epochs: 0}
dist: {sync_batch_norm: true, bucket_mb: 1}
output: {dir: runs/tiny, save: false}
"""
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]


def has_mpi():
    if shutil.which("mpirun") is None:
        return False
    libraries = subprocess.run(["ldd", BINARY], capture_output=True, text=True).stdout
    return "libmpi" in libraries


def environment(**more):
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


class RanksTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.resnet = self.folder / "resnet.yaml"
        self.resnet.write_text(RESNET)

    def command(self, output, *arguments, config=None):
        return [BINARY, "run", config or self.config, "--out", self.folder / output, "--progress", "none", *arguments]

    def on_ranks(self, ranks, output, *arguments, config=None, batch=8, mpi=False):
        command = self.command(output, "-o", f"data.batch_size={batch // ranks}", *arguments, config=config)
        command = [*MPIRUN, "-np", str(ranks), *command] if mpi else [*command, "-o", f"dist.ranks={ranks}"]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, env=environment())

    def weights(self, output):
        return (self.folder / output / "model.safetensors").read_bytes()

    def assert_losses_agree(self, output, expected):
        losses = self.losses(output)
        self.assertEqual(len(losses), len(expected))
        for step, (loss, other) in enumerate(zip(losses, expected)):
            self.assertLess(abs(loss - other), 1e-5 * abs(other), f"{output} step {step + 1}")

    def check_report(self, output, ranks, mpi=False, batch=8):
        report = self.report(output)
        self.assertEqual(report["status"], "ok")
        self.assertEqual(report["global_batch_size"], batch)
        self.assertEqual(report["config"]["dist"]["ranks"], ranks)
        distributed = report["distributed"]
        self.assertEqual(distributed["world_size"], ranks)
        self.assertEqual((distributed["mode"], distributed["engine"]),
                         ("multi_process", "mpi") if mpi else ("parallel_graph", "threads"))
        self.assertEqual([rank["rank"] for rank in distributed["ranks"]], list(range(ranks)))
        self.assertEqual(report["throughput"]["samples"], sum(rank["samples"] for rank in distributed["ranks"]))
        self.assertAlmostEqual(report["throughput"]["per_device"] * ranks, report["throughput"]["value"], places=3)

    def start(self, output, *arguments, ranks=3, steps=100000):
        command = self.command(output, "-o", "data.batch_size=4", "-o", f"train.steps={steps}", "-o", "eval.every_epochs=0",
                               "-o", "dist.timeout_seconds=6", "-o", "output.checkpoint_every_steps=5",
                               "-o", "train.schedule.name=constant", "-o", "train.schedule.warmup_ratio=0", *arguments)
        launched = subprocess.Popen(list(map(str, [*MPIRUN, "-np", ranks, *command])), stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(launched.kill)
        return launched

    def get_processes(self, output):
        """Process ids of the run's ranks, by rank."""
        found = {}
        for entry in os.listdir("/proc"):
            try:
                process = pathlib.Path("/proc", entry)
                if str(self.folder / output).encode() not in (process / "cmdline").read_bytes():
                    continue
                variables = (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            for variable in variables:
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(variable.split(b"=")[1])] = int(entry)
        return found

    def wait_for_step(self, output, step, launched):
        log = self.folder / output / "metrics.jsonl"
        deadline = time.monotonic() + 120
        while not log.exists() or log.read_text().count("\n") < step:
            self.assertIsNone(launched.poll(), "the run ended by itself")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)

    def lose_a_rank(self, output, lost, by, step, *arguments, delay=0.0):
        """Runs until `step`, sends rank `lost` the signal `by`; every process must end within the bound, and say who."""
        launched = self.start(output, *arguments)
        self.wait_for_step(output, step, launched)
        time.sleep(delay)
        processes = self.get_processes(output)
        self.assertEqual(sorted(processes), [0, 1, 2])
        os.kill(processes[lost], by)
        _, errors = launched.communicate(timeout=60)
        self.assertNotEqual(launched.returncode, 0)
        self.assertEqual(self.get_processes(output), {})
        named = f"rank {lost} on {socket.gethostname()}"
        self.assertRegex(errors, f"(error|note): {named}")
        report = self.report(output)
        self.assertEqual(report["status"], "error")
        self.assertIn(named, report["message"])
        self.assertRegex(report["message"], r"it last did: \w+")


class Threads(RanksTest):
    def test_they_train_what_one_rank_trains(self):
        for name, config in (("bert", self.config), ("resnet", self.resnet)):
            for level, world_sizes in (("O0", (2, 4)), ("O1", (2,))):
                options = ["-o", "train.steps=10", "-o", "eval.every_epochs=0", "-o", "output.save=false", "--amp", level]
                one = f"{name}-{level}-1"
                self.assertEqual(self.on_ranks(1, one, *options, config=config).returncode, 0)
                for ranks in world_sizes:
                    output = f"{name}-{level}-{ranks}"
                    result = self.on_ranks(ranks, output, *options, config=config)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    if level == "O0":
                        self.assert_losses_agree(output, self.losses(one))
                    else:  # in bf16 the order of sums shows
                        for loss, other in zip(self.losses(output), self.losses(one)):
                            self.assertLess(abs(loss - other), 2e-2 * abs(other))
                    self.check_report(output, ranks)

    def test_reproducible_losses_do_not_depend_on_the_number_of_ranks(self):
        """In bf16 the order of sums shows, unless it is the data's."""
        for name, config in (("bert", self.config), ("resnet", self.resnet)):
            options = ["--amp", "O1", "-o", "train.steps=10", "-o", "eval.every_epochs=0", "-o", "output.save=false",
                       "-o", "dist.reproducible=true", "-o", "dist.sync_batch_norm=false"]
            accumulate = ["-o", "train.accumulate_steps=4"]
            self.assertEqual(self.on_ranks(1, name, *options, *accumulate, config=config, batch=2).returncode, 0)
            for ranks in (2, 4):
                output = f"{name}-{ranks}"
                accumulate = ["-o", f"train.accumulate_steps={4 // ranks}"]
                result = self.on_ranks(ranks, output, *options, *accumulate, config=config, batch=2 * ranks)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.losses(output), self.losses(name), output)
                self.check_report(output, ranks)

    def test_sharded_optimizer_state_trains_the_same_bits(self):
        for name, config in (("bert", self.config), ("resnet", self.resnet)):
            for level in ("O0", "O2"):
                options = ["--amp", level, "-o", "train.steps=6", "-o", "eval.every_epochs=0", "-o", "output.save=true",
                           "-o", "train.clip_norm=0.5"]
                for shard in ("none", "optimizer"):
                    result = self.on_ranks(2, f"{name}-{level}-{shard}", *options, "-o", f"dist.shard={shard}",
                                           config=config)
                    self.assertEqual(result.returncode, 0, result.stderr)
                whole, sharded = f"{name}-{level}-none", f"{name}-{level}-optimizer"
                self.assertEqual(self.losses(sharded), self.losses(whole))
                self.assertEqual(self.weights(sharded), self.weights(whole))
                memory, less = (self.report(output)["memory"] for output in (whole, sharded))
                half = memory["optimizer_bytes"] // 2
                saved = memory["planned_peak_bytes"] - less["planned_peak_bytes"]
                if level == "O0":
                    self.assertEqual(less["optimizer_bytes"], half)
                else:  # what trains in fp32 has whole moments; of the others, fp32 weights are divided too
                    self.assertLess(half, less["optimizer_bytes"])
                    self.assertLess(less["optimizer_bytes"], 1.2 * half)
                    self.assertLess(1.2 * half, saved)

    def test_sharded_sums_of_micro_batches_train_alike(self):
        options = ["--amp", "O1", "-o", "train.steps=6", "-o", "eval.every_epochs=0", "-o", "train.clip_norm=0.5",
                   "-o", "train.accumulate_steps=2"]
        for shard in ("optimizer", "gradients"):
            result = self.on_ranks(2, f"sums-{shard}", *options, "-o", f"dist.shard={shard}", config=self.config)
            self.assertEqual(result.returncode, 0, result.stderr)
        for one, other in zip(self.losses("sums-gradients"), self.losses("sums-optimizer"), strict=True):
            self.assertAlmostEqual(one, other, delta=1e-3)

    def test_the_estimate_is_of_a_rank_with_its_part_of_the_optimizer_state(self):
        def estimate(ranks, shard):
            answer = run("estimate", self.config, "--json", "-o", f"dist.ranks={ranks}", "-o", f"dist.shard={shard}")
            self.assertEqual(answer.returncode, 0, answer.stderr)
            return json.loads(answer.stdout)["memory"]

        whole = estimate(4, "none")
        for ranks in (1, 2, 4):
            part = estimate(ranks, "optimizer")
            self.assertEqual(part["optimizer_bytes"], whole["optimizer_bytes"] // ranks)
            if ranks > 1:
                saved = whole["optimizer_bytes"] - part["optimizer_bytes"]
                self.assertEqual(part["variable_bytes"], whole["variable_bytes"] - saved)

    def test_a_rank_per_thread_evaluates_every_sample_once(self):
        self.assertEqual(self.on_ranks(2, "two", "-o", "train.steps=3", "-o", "eval.every_epochs=1").returncode, 0)
        self.assertEqual(self.report("two")["evaluation"]["eval_samples"], 80)

    def test_more_threads_than_can_be_meant_are_refused(self):
        refused = self.on_ranks(65536, "many", batch=65536)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertRegex(refused.stderr, r"error: command line: dist.ranks: expected at most \d+ as threads of one process")

    def test_a_thread_that_fails_ends_the_run(self):
        result = self.on_ranks(2, "out", "-o", "data.drop_last=false")
        self.assert_one_line_error(result, 2, "data.drop_last")
        self.assertEqual(self.report("out")["status"], "error")

    def test_a_signal_before_anything_is_measured_leaves_report_and_checkpoint(self):
        output = self.folder / "out"
        command = ["run", self.config, "--out", output, "-q", "-o", "threads=2", "-o", "dist.ranks=2",
                   "-o", "train.steps=1000000", "-o", "train.measure_after_steps=500000"]
        with subprocess.Popen([BINARY, *map(str, command)], stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and not (output / "metrics.jsonl").exists():
                time.sleep(0.01)
            process.terminate()
            errors = process.communicate(timeout=600)[1]
        self.assertEqual((process.returncode, self.report("out")["status"]), (143, "interrupted"), errors)
        self.assertTrue(list(output.glob("ckpt-*.safetensors")))

    def test_launchers_that_disagree_are_named(self):
        launched = environment(RANK="0", WORLD_SIZE="2", PADDLE_TRAINER_ID="1", PADDLE_TRAINERS_NUM="2")
        result = run(*self.command("out")[1:], env=launched)
        self.assert_one_line_error(result, 2, "torchrun says this is rank 0 of 2", "Paddle says rank 1 of 2")

    def test_multi_process_needs_a_launcher(self):
        result = run(*self.command("out", "-o", "dist.mode=multi_process", "-o", "dist.ranks=2")[1:])
        self.assert_one_line_error(result, 2, "dist.mode", "mpirun")


@unittest.skipUnless(has_mpi(), "needs mpirun and a build with MPI")
class Processes(RanksTest):
    def test_processes_and_threads_give_the_same_bits(self):
        """The tests of threads above hold for processes too."""
        small = ["-o", "train.steps=4", "-o", "eval.every_epochs=0", "-o", "output.save=false"]
        in_order = ["--amp", "O1", "-o", "dist.reproducible=true", "-o", "dist.sync_batch_norm=false"]
        for name, config in (("bert", self.config), ("resnet", self.resnet)):
            for ranks, options in ((2, []), (3, ["-o", "dist.shard=optimizer"]), (4, in_order)):
                batch = 9 if ranks == 3 else 8
                for output, mpi in ((f"{name}-threads-{ranks}", False), (f"{name}-processes-{ranks}", True)):
                    result = self.on_ranks(ranks, output, *small, *options, config=config, batch=batch, mpi=mpi)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.check_report(output, ranks, mpi, batch=batch)
                self.assertEqual(self.losses(f"{name}-threads-{ranks}"), self.losses(f"{name}-processes-{ranks}"))

    def test_a_world_of_one_is_no_distribution(self):
        options = ["-o", "train.steps=8", "-o", "eval.every_epochs=0", "-o", "output.save=false"]
        self.assertEqual(self.on_ranks(1, "plain", *options).returncode, 0)
        self.assertEqual(self.on_ranks(1, "launched", *options, mpi=True).returncode, 0)
        self.assertEqual(self.losses("plain"), self.losses("launched"))

    def test_parallel_graph_under_mpirun_is_refused(self):
        result = self.on_ranks(2, "out", "-o", "dist.mode=parallel_graph", mpi=True)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("dist.mode", result.stderr)

    def test_a_rank_killed_at_any_moment_ends_all_and_resumes(self):
        whole = self.start("whole", ranks=3, steps=60)
        whole.communicate(timeout=120)
        self.assertEqual(whole.returncode, 0)
        moments = random.Random(11)
        for attempt in range(int(os.environ.get("PTRAIN_RANK_KILLS", "2"))):
            output = f"killed{attempt}"
            self.lose_a_rank(output, attempt % 3, signal.SIGKILL, moments.randrange(1, 40),
                             delay=moments.uniform(0, 0.05))
            again = self.start(output, "--resume", "auto", ranks=3, steps=60)
            _, errors = again.communicate(timeout=120)
            self.assertEqual(again.returncode, 0, errors)
            self.assertEqual(self.losses(output)[-20:], self.losses("whole")[-20:], f"attempt {attempt}")

    def test_sharded_ranks_that_are_killed_resume_on_another_number(self):
        options = ["-o", "dist.reproducible=true", "-o", "data.batch_size=1", "-o", "dist.shard=optimizer"]
        accumulate = {ranks: ["-o", f"train.accumulate_steps={6 // ranks}"] for ranks in (1, 2, 3)}
        whole = self.start("whole", *options, *accumulate[1], ranks=1, steps=60)
        _, errors = whole.communicate(timeout=120)
        self.assertEqual(whole.returncode, 0, errors)
        self.lose_a_rank("killed", 1, signal.SIGKILL, 10, *options, *accumulate[3])
        again = self.start("killed", *options, *accumulate[2], "--resume", "auto", ranks=2, steps=60)
        _, errors = again.communicate(timeout=120)
        self.assertEqual(again.returncode, 0, errors)
        self.assertEqual(self.weights("killed"), self.weights("whole"))

    def test_a_rank_that_hangs_ends_all(self):
        for lost in (0, 1, 2):
            self.lose_a_rank(f"stopped{lost}", lost, signal.SIGSTOP, 5)


if __name__ == "__main__":
    unittest.main()
