"""Cases that run a command of the user's: axes, metrics, failures, and what reads their records."""
import json
import subprocess
import unittest

from program import BINARY, ProgramTest, run

#: Prints a rate, larger for fast ones and a little different each time.
PROGRAM = """\
import sys, time
kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rate = 200.0 if kind == "fast" else 100.0
for step in range(count):
    print(f"step {step}: {rate + seed % 3 + step % 2:.1f} images/s", flush=True)
print('{"train": {"images_per_s": %g}, "seconds": %g}' % (rate, 1 / rate))
if kind == "broken":
    sys.exit("no such kernel")
if kind == "hanging":
    time.sleep(60)
"""
METRIC = r"([0-9.]+) images/s"


class CommandTest(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "program.py").write_text(PROGRAM)

    def bench(self, *arguments, kind="{kind}", count=20, metric=METRIC):
        command = f"python3 {self.folder}/program.py {kind} {count} {{repeat}}"
        options = ["--metric", metric] if metric else []
        return run("bench", "--command", command, *options, "--out", self.folder / "out", "--progress", "plain",
                   *arguments, cwd=self.folder)

    def records(self):
        paths = sorted((self.folder / "out/runs").glob("*/*/record.json"))
        return [json.loads(path.read_text()) for path in paths]

    def measured(self):
        return [record["measured"] for record in self.records()]


class Commands(CommandTest):
    def test_a_command_with_an_axis_is_a_sweep(self):
        result = self.bench("--axis", "kind=slow,fast", "--repeats", "6")
        self.assertEqual(result.returncode, 0, result.stderr)
        records = self.records()
        self.assertEqual({r["case"] for r in records}, {"kind=slow", "kind=fast"})
        self.assertEqual(sorted(r["position"] for r in records), list(range(12)))
        for repeat in range(6):  # interleaved, round by round
            self.assertEqual({r["position"] // 2 for r in records if r["repeat"] == repeat}, {repeat})
        self.assertEqual({r["measured"]["throughput"]["unit"] for r in records}, {"images/s"})
        self.assertRegex(result.stdout, r"kind: slow -> fast")
        faster = run("compare", f"{self.folder}/out#kind=slow", f"{self.folder}/out#kind=fast", "--json")
        self.assertEqual((json.loads(faster.stdout)["verdict"], faster.returncode), ("FASTER", 0), faster.stdout)
        self.assertIn("images/s", run("table", self.folder / "out").stdout)
        page = run("table", self.folder / "out", "--format", "html").stdout
        self.assertIn("What each change does", page)
        self.assertIn("Step time after warm-up", page)
        self.assertEqual(run("baseline", "save", self.folder / "out", "--name", "a").returncode, 0)
        self.assertIn("kind=slow", run("history", self.folder / "out").stdout)
        again = self.bench("--axis", "kind=slow,fast", "--repeats", "6")
        self.assertIn("12 runs already done", again.stderr)

    def test_many_figures_are_steps_and_of_few_the_last_counts(self):
        self.assertEqual(self.bench(kind="fast", count=20).returncode, 0)
        self.assertEqual(self.measured()[0]["step_ms"]["count"] + self.records()[0]["steady"]["warmup_steps"], 20)
        self.assertEqual(self.bench("--fresh", kind="fast", count=4).returncode, 0)
        self.assertAlmostEqual(self.measured()[0]["throughput"]["value"], 201)

    def test_json_times_and_wall_times(self):
        self.assertEqual(self.bench(kind="fast", metric="json:train.images_per_s", count=0).returncode, 0)
        self.assertAlmostEqual(self.measured()[0]["throughput"]["value"], 200)
        self.assertEqual(self.bench("--fresh", "--unit", "s", kind="fast", metric="json:seconds", count=0).returncode, 0)
        self.assertAlmostEqual(self.measured()[0]["typical_step_ms"], 5)
        self.assertEqual(self.bench("--fresh", kind="fast", metric=None).returncode, 0)
        wall = self.records()[0]
        self.assertAlmostEqual(wall["measured"]["typical_step_ms"], 1e3 * wall["wall_seconds"])
        self.assertGreater(wall["measured"]["memory_bytes"], 1 << 20)
        (self.folder / "program.py").write_text(PROGRAM + """open("speed.json", "w").write('{"speed": 3}')\n""")
        self.assertEqual(self.bench("--fresh", kind="fast", metric="json:speed.json#speed").returncode, 0)
        self.assertEqual(self.measured()[0]["throughput"], {"value": 3, "unit": "1/s", "samples": 1, "seconds": 1 / 3})

    def test_a_report_is_read_as_that_of_an_own_run(self):
        self.assertEqual(self.train("other", "-o", "train.steps=12").returncode, 0)
        result = run("bench", "--command", f"touch {self.folder}/other/report.json", "--metric", f"report:{self.folder}/other/report.json", "--repeats", "1",
                     "--out", self.folder / "out", "--progress", "none")
        self.assertIn(result.returncode, (0, 1), result.stderr)  # 1: on a busy machine no run need be steady
        self.assertEqual(self.measured()[0]["throughput"]["unit"], "sequences/s")
        self.assertTrue(next((self.folder / "out/runs").glob("*/*/report.json")).exists())

    def test_failures_are_runs_with_a_line_each(self):
        for kind, metric, options, status, parts in (
                ("broken", METRIC, (), "error", ["exit code 1: no such kernel"]),
                ("fast", "tokens/s: ([0-9.]+)", (), "error", ['the metric "tokens/s: ([0-9.]+)" is not in the output']),
                ("fast", "step (.*)", (), "error", ["expected a number above 0"]),
                ("hanging", METRIC, ("--timeout", "1"), "timeout", ["timeout_seconds 1"])):
            with self.subTest(kind + metric):
                result = self.bench("--fresh", "--repeats", "1", *options, kind=kind, metric=metric)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertEqual([record["status"] for record in self.records()], [status])
                for part in parts:
                    self.assertIn(part, self.records()[0]["message"])
                    self.assertIn(part, result.stderr)

    def test_what_cannot_be_measured_is_refused_before_anything_runs(self):
        for arguments, options, parts in (
                ([], {"metric": "images/s: [0-9.]+"}, ["one group"]),
                ([], {"metric": "images/s: ([0-9.]+"}, ["no regular expression"]),
                (["--axis", "amp=O0,O1"], {"kind": "fast"}, ["amp", "the command has no {amp}"]),
                (["-o", "train.steps=3"], {}, ["a command has none"]),
                (["--seeds", "3"], {"kind": "fast"}, ["{seed}"]),
                ([self.config], {}, ["--command"])):
            with self.subTest(parts[0]):
                self.assert_one_line_error(self.bench(*arguments, **options), 2, *parts)
                self.assertFalse((self.folder / "out").exists())

    def test_several_commands_are_cases(self):
        result = run("bench", "--command", "sleep 0.01", "--command", "sleep 0.2", "--repeats", "2", "--out",
                     self.folder / "out", "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual({record["case"] for record in self.records()}, {"command=sleep 0.01", "command=sleep 0.2"})

    def test_another_command_is_another_sweep(self):
        self.assertEqual(self.bench("--repeats", "1", kind="fast").returncode, 0)
        self.assert_one_line_error(self.bench("--repeats", "1", kind="slow"), 2, "command was", "--fresh")


class Suites(CommandTest):
    def test_a_command_is_a_case_beside_own_runs(self):
        (self.folder / "suite.yaml").write_text(f"""\
name: mixed
config: tiny.yaml
set: {{train.steps: 24, eval.every_epochs: 0, threads: 1}}
cases:
  - {{name: ptrain}}
  - {{name: other, command: 'python3 {self.folder}/program.py {{kind}} 20 0', set: {{kind: fast}}, metric: '([0-9.]+) images/s', unit: sequences/s}}
repeats: 1
steady: {{required: false}}
""")
        result = run("bench", self.folder / "suite.yaml", "--out", self.folder / "out", "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual({r["case"]: r["measured"]["throughput"]["unit"] for r in self.records()},
                         {"ptrain": "sequences/s", "other": "sequences/s"})

    def test_a_suite_of_a_command_needs_no_configuration(self):
        (self.folder / "suite.yaml").write_text(f"""\
command: python3 {self.folder}/program.py {{kind}} 9 {{seed}}
metric: '([0-9.]+) images/s'
axes: {{kind: [slow, fast]}}
repeats: 2
vary_seed: true
""")
        result = run("bench", self.folder / "suite.yaml", "--out", self.folder / "out", "--progress", "none")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(r["seed"] for r in self.records()), [1, 1, 2, 2])


class Faults(ProgramTest):
    def bench(self, *arguments):
        return run("bench", *arguments, "--repeats", "2", "--progress", "none", "--out", self.folder / "out")

    def records(self):
        return [json.loads(path.read_text()) for path in sorted((self.folder / "out/runs").glob("*/*/record.json"))]

    def test_a_program_that_is_not_found_fails_its_case_alone(self):
        self.bench("--command", "echo x: 5", "--command", "no-such-program", "--metric", "x: ([0-9.]+)")
        outcomes = {(one["case"], one["status"]) for one in self.records()}
        self.assertEqual(outcomes, {("command=echo x: 5", "ok"), ("command=no-such-program", "error")})
        message = next(one["message"] for one in self.records() if one["status"] == "error")
        self.assertIn("exit code 127", message)

    def test_a_failure_is_told_by_the_last_line_in_short(self):
        for command, told in (("exit 3", "exit code 3: no output"), ("echo one; echo two; echo; exit 3", "exit code 3: two"),
                              ("head -c 100000 /dev/zero | tr '\\0' x; exit 3", f"exit code 3: {'x' * 300}...")):
            with self.subTest(command):
                self.assertEqual(self.bench("--command", command, "--fresh").returncode, 1)
                self.assertEqual({one["message"] for one in self.records()}, {told})

    def test_a_figure_of_an_earlier_run_is_none(self):
        (self.folder / "old.json").write_text('{"speed": 77}')
        self.bench("--command", "true", "--metric", f"json:{self.folder}/old.json#speed")
        self.assertEqual({one["status"] for one in self.records()}, {"error"})
        self.assertIn("the command did not write it", self.records()[0]["message"])

    def test_a_command_that_is_no_text_is_refused(self):
        result = subprocess.run([BINARY, "bench", "--command", b"echo \xff", "--out", self.folder / "out"], capture_output=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"is no UTF-8", result.stderr)
        self.assertEqual(result.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
