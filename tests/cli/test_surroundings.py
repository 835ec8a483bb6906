"""What surrounds a run (variables, pipes, descriptors, signals, other runs) never changes what it computes or loses it."""
import itertools
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time
import unittest

from test_data import png
from frozen import FROZEN
from program import BINARY, ROOT, ProgramTest, run


def start_training(test, output, *arguments):
    """A long run of the test's configuration that has begun to train."""
    process = subprocess.Popen(
        [BINARY, "run", test.config, "--out", test.folder / output, "--progress", "none", "-o",
         "train.steps=100000", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    test.addCleanup(process.stderr.close)
    test.addCleanup(process.kill)
    metrics = test.folder / output / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not metrics.exists() or not metrics.read_text():
        test.assertLess(time.monotonic(), deadline, "no step was trained")
        time.sleep(0.02)
    return process


class Threads(ProgramTest):
    def losses_with(self, name, *arguments, **environment):
        result = self.train(name, "-o", "train.steps=12", *arguments, env={**os.environ, **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.losses(name)

    def test_a_limit_of_threads_is_honoured_and_said(self):
        expected = self.losses_with("one", "-o", "threads=1")
        for variable, value in (("OMP_THREAD_LIMIT", "1"), ("OMP_MAX_ACTIVE_LEVELS", "0")):
            with self.subTest(variable):
                self.assertEqual(self.losses_with(variable, "-o", "threads=2", **{variable: value}), expected)
                self.assertIn("threads: 1 instead of 2", "".join(self.report(variable)["notes"]))
                self.assertEqual(self.report(variable)["environment"]["threads"], 1)

    def test_more_threads_than_usable_cores_are_noted(self):
        core = min(os.sched_getaffinity(0))
        for threads, noted in ((1, False), (2, True)):
            result = self.train(f"{threads}", "-o", "train.steps=1", "-o", f"threads={threads}",
                                preexec_fn=lambda: os.sched_setaffinity(0, {core}))
            self.assertEqual(result.returncode, 0, result.stderr)
            note = f"threads: {threads} share 1 usable core, which is slower than a thread for each core"
            self.assertEqual(note in self.report(f"{threads}")["notes"], noted)

    def test_ranks_keep_to_the_limit_too(self):
        expected = self.losses_with("one", "-o", "threads=2", "-o", "dist.ranks=2")
        limited = self.losses_with("limited", "-o", "threads=4", "-o", "dist.ranks=2", OMP_THREAD_LIMIT="1")
        self.assertEqual(limited, expected)

    def test_teams_are_not_dynamic(self):
        expected = self.losses_with("plain", "-o", "threads=2")
        self.assertEqual(self.losses_with("dynamic", "-o", "threads=2", OMP_DYNAMIC="true"), expected)


class ControlGroups(ProgramTest):
    """In groups of version 1, made for the test; tests/unit/base has both versions as trees of files."""

    def group(self, controller, **limits):
        """A group within a limited one; the folder of the inner."""
        outer = pathlib.Path(f"/sys/fs/cgroup/{controller}/ptrain-test-{os.getpid()}")
        try:
            (outer / "inner").mkdir(parents=True)
        except OSError as error:
            self.skipTest(f"no control group can be made: {error}")
        self.addCleanup(outer.rmdir)
        self.addCleanup((outer / "inner").rmdir)
        for name, value in limits.items():
            (outer / f"{controller}.{name}").write_text(str(value))
        return outer / "inner"

    def run_in(self, group, *arguments):
        return run(*arguments, preexec_fn=lambda: (group / "cgroup.procs").write_text("0"))

    def test_a_quota_bounds_the_threads(self):
        group = self.group("cpu", cfs_quota_us=150000, cfs_period_us=100000)
        state = json.loads(self.run_in(group, "doctor", "--json").stdout)
        self.assertEqual((state["cpu"]["quota"], state["threads"]), (1.5, 1))
        self.assertIn("1.5 CPUs", self.run_in(group, "doctor").stdout)
        output = self.folder / "out"
        result = self.run_in(group, "run", self.config, "--out", output, "-o", "train.steps=1")
        self.assertEqual(result.returncode, 0, result.stderr)
        environment = self.report("out")["environment"]
        self.assertEqual((environment["cpu"]["quota"], environment["threads"]), (1.5, 1))

    def test_what_cannot_fit_is_refused(self):
        group = self.group("memory", limit_in_bytes=256 << 20)
        self.assertEqual(json.loads(self.run_in(group, "doctor", "--json").stdout)["memory_limit_bytes"], 256 << 20)
        result = self.run_in(group, "run", self.config, "--out", self.folder / "out", "-o", "data.batch_size=4000")
        self.assert_one_line_error(result, 1, "data.batch_size: 4000 needs", "would fit")
        self.assertEqual(self.report("out")["status"], "oom")

    def test_what_is_begun_fits(self):
        """Limits from too little to enough: each command is refused with a line or ends well, and none is killed."""
        config = self.folder / "images.yaml"
        config.write_text("{model: {name: resnet18}, data: {source: synthetic, image_size: 16, batch_size: 12, "
                          "synthetic_samples: 24}, train: {steps: 2}, flags: {cudnn_exhaustive_search: false}}")
        model, image = self.folder / "model", self.folder / "image.png"
        image.write_bytes(png(16, 16, (200, 40, 40)))
        run("run", config, "--out", model, check=True)
        ended = set()
        group = self.group("memory")
        for mib in (60, 120, 180, 215, 240, 300):
            (group.parent / "memory.limit_in_bytes").write_text(str(mib << 20))
            for command in (["run", config, "--out", self.folder / str(mib)],
                            ["infer", model, image]):
                result = self.run_in(group, *command)
                self.assertIn(result.returncode, (0, 1), (mib, command, result.stderr))
                if result.returncode == 1:
                    self.assert_one_line_error(result, 1, "MiB are available")
                ended.add((command[0], result.returncode))
        self.assertEqual(len(ended), 4, ended)


class Streams(ProgramTest):
    def test_closed_descriptors_are_not_taken_by_files(self):
        command = f'exec "{BINARY}" run "{self.config}" --out "{self.folder}/out" --progress plain <&- >&- 2>&-'
        self.assertEqual(subprocess.run(["sh", "-c", command], timeout=600).returncode, 0)
        self.assertEqual(len(self.losses("out")), 60)

    def test_output_that_is_lost_is_an_error(self):
        for command in (["list", "keys"], ["doctor"], ["estimate", self.config], ["--help"], ["schema", "report"]):
            with self.subTest(command[0]), open("/dev/full", "w") as full:
                result = subprocess.run([BINARY, *map(str, command)], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assert_one_line_error(result, 1)

    def test_a_verdict_that_is_lost_is_an_error(self):
        runs = FROZEN / "runs"
        with open("/dev/full", "w") as full:
            result = subprocess.run([BINARY, "compare", runs / "base", runs / "slower"], stdout=full,
                                    stderr=subprocess.PIPE, text=True)
        self.assert_one_line_error(result, 1, "standard output")

    def test_a_reader_that_goes_away_is_none(self):
        for command in ("list keys", "schema report"):
            with self.subTest(command):
                script = f'"{BINARY}" {command} | true; exit "${{PIPESTATUS[0]}}"'
                result = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_run_outlives_the_reader_of_its_progress(self):
        script = f'"{BINARY}" run "{self.config}" --out "{self.folder}/out" --progress plain 2>&1 | head -n 2'
        subprocess.run(["bash", "-c", script], capture_output=True, timeout=600)
        self.assertEqual(self.report("out")["status"], "ok")

    def test_a_file_that_may_not_grow_is_named(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
        result = self.train("out", preexec_fn=limit)
        self.assert_one_line_error(result, 1, str(self.folder / "out"), "File too large")


    def test_a_folder_that_is_removed_is_an_error(self):
        process = start_training(self, "out")
        shutil.rmtree(self.folder / "out")
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, errors)
        self.assertRegex(errors, r"(?m)^error: .*/out/metrics.jsonl: it or its folder was removed")
        self.assertEqual(self.report("out")["status"], "error")


class Refusals(ProgramTest):
    """What the system grants at one moment and not at another."""

    def test_threads_that_are_refused(self):
        """A user with a limit on processes and threads; root has none."""
        if os.geteuid() != 0:
            self.skipTest("only root can become a user without other processes")
        self.folder.chmod(0o777)
        for limit in range(1, 12):
            def become_limited():
                resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
                os.setgroups([])
                os.setgid(64999)
                os.setuid(64999)
            with self.subTest(limit=limit):
                output = f"out{limit}"
                result = self.train(output, "-o", "train.steps=2", "-o", "threads=3", "-o",
                                    "data.workers=0", preexec_fn=become_limited,
                                    env={**os.environ, "PTRAIN_CACHE_DIR": str(self.folder / "cache")})
                if result.returncode == 0:
                    self.assertEqual(self.report(output)["status"], "ok")
                    break
                self.assertEqual(result.returncode, 1)
                # OpenMP says it in its own words where the last thread went between counting and use.
                self.assertRegex(result.stderr, r"(?m)^(error: cannot start a thread.*ulimit -u|libgomp: Thread creation)")
        self.assertGreater(limit, 1)
        self.assertIn("threads: ", "".join(self.report(output)["notes"]))

    def test_a_missing_folder_for_temporary_files_ends_only_what_needs_one(self):
        missing = {**os.environ, "TMPDIR": str(self.folder / "missing")}
        trained = self.train("own", "-o", "train.steps=1", env=missing)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assert_one_line_error(run("doctor", "--ranks", env=missing), 1, "missing", "--disk")

    def test_a_pack_that_shrinks_is_an_error(self):
        for split, label, value in itertools.product(("train", "val"), ("a", "b"), range(4)):
            folder = self.folder / "images" / split / label
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{value}.png").write_bytes(png(32, 32, (200, 40 * value, 90)))
        self.assertEqual(run("data", "pack", self.folder / "images", "--out", self.folder / "packed").returncode, 0)
        self.config.write_text(
            "model: {name: resnet18, classes: 2, stem: small}\n"
            f"data: {{source: packed, path: {self.folder}/packed, image_size: 32, batch_size: 2, workers: 1}}\n"
            "train: {steps: 100000, log_every_steps: 1, optimizer: {name: momentum, lr: 0.01}}\n"
            "output: {dir: runs/x}\n")
        process = start_training(self, "out")
        os.truncate(self.folder / "packed/train.pack", 0)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, errors)
        self.assertRegex(errors, r"(?m)^error: .*train.pack: it became shorter")
        self.assertEqual(self.report("out")["status"], "error")


class Signals(ProgramTest):
    def test_what_schedulers_and_terminals_send_leaves_report_and_checkpoint(self):
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU):
            with self.subTest(number.name):
                process = start_training(self, number.name)
                process.send_signal(number)
                process.send_signal(number)  # as SIGXCPU comes again and again
                _, errors = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 128 + number, errors)
                self.assertEqual(self.report(number.name)["status"], "interrupted")
                self.assertTrue(list((self.folder / number.name).glob("ckpt-*.safetensors")))

    def test_a_search_that_is_interrupted_keeps_its_choices(self):
        environment = {**os.environ, "PTRAIN_CACHE_DIR": str(self.folder / "cache")}
        command = [BINARY, "run", "configs/resnet50.yaml", "--out", self.folder / "out", "--progress", "none",
                   "-o", "data.source=synthetic", "-o", "train.steps=1", "-o", "fusion=off"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=environment, cwd=ROOT)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)

        def choices():
            lines = [line for path in (self.folder / "cache").glob("search-*.jsonl")
                     for line in path.read_text().splitlines()]
            return set(lines[1:])

        deadline = time.monotonic() + 120
        while not choices():
            self.assertLess(time.monotonic(), deadline, "nothing was chosen")
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted by signal 2 while kernels were chosen; those chosen so far are kept", errors)
        self.assertEqual(self.report("out")["status"], "interrupted")
        self.assertTrue(choices())

    def test_a_second_run_keeps_out_of_the_folder(self):
        process = start_training(self, "out")
        second = self.train("out")
        self.assert_one_line_error(second, 1, str(self.folder / "out"), f"process {process.pid} on ")
        self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        self.assertEqual(self.train("out", "--fresh", "-o", "train.steps=3").returncode, 0)  # the lock died with its holder
        self.assertFalse((self.folder / "out/.lock").exists())

    def test_two_sweeps_keep_apart_too(self):
        suite = self.folder / "suite.yaml"
        suite.write_text("name: long\nconfig: tiny.yaml\nset: {train.steps: 100000}\naxes: {seed: [1, 2]}\n")
        command = ["bench", suite, "--out", self.folder / "sweep", "--progress", "none"]
        first = subprocess.Popen([BINARY, *command], stderr=subprocess.DEVNULL)
        self.addCleanup(first.wait)
        self.addCleanup(first.terminate)
        deadline = time.monotonic() + 120
        while not (self.folder / "sweep/suite.json").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        self.assert_one_line_error(run(*command), 1, f"process {first.pid} on ")


if __name__ == "__main__":
    unittest.main()
