"""What a command prints while it works and when it is done: progress, summary, events; more or less on request."""
import fcntl
import json
import os
import re
import struct
import subprocess
import termios
import unittest

from program import BINARY, ProgramTest, run


class ConsoleOptions(ProgramTest):
    def test_a_run_sums_up_what_it_came_to(self):
        result = self.train("out", "-o", "flags.cudnn_exhaustive_search=false")
        lines = dict(line.split(None, 1) for line in result.stdout.splitlines() if not line.startswith("flag"))
        report = self.report("out")
        self.assertIn("60 of 60 steps", lines["run"])
        self.assertRegex(lines["speed"], r"^[\d.]+ sequences/s ±[\d.]+ %; a step takes [\d.]+ ms \(median")
        self.assertRegex(lines["memory"], r"^\d+ MiB at its peak, \d+ MiB planned$")
        self.assertIn(f"top-1 {report['evaluation']['metrics']['top1']['value']:.4f}", lines["accuracy"])
        self.assertTrue(lines["amp"].startswith(report["amp"]["level"]), lines["amp"])
        self.assertIn("cudnn_exhaustive_search false", result.stdout)
        self.assertNotIn("cudnn_batchnorm_spatial_persistent", result.stdout)  # not asked for, and there is no GPU
        self.assertIn(f"ptrain show {self.folder / 'out'};", lines["next"])
        self.assertEqual(result.stdout.splitlines()[-1], f"report: {self.folder / 'out/report.json'}")

    def test_quiet_says_nothing_and_verbose_says_what_was_chosen(self):
        quiet = run("run", self.config, "--out", self.folder / "quiet", "-q", "-o", "train.steps=2")
        self.assertEqual((quiet.returncode, quiet.stdout, quiet.stderr), (0, "", ""))
        verbose = run("run", self.config, "--out", self.folder / "verbose", "-v", "-o", "train.steps=2",
                      "-o", "output.checkpoint_every_steps=1")
        self.assertRegex(verbose.stderr, r"(?m)^linear \S+: \S+$")
        self.assertIn(f"checkpoint: {self.folder / 'verbose/ckpt-1.safetensors'}", verbose.stderr)
        self.assert_one_line_error(run("run", self.config, "-q", "-v"), 2, "--quiet")

    def test_a_warm_up_that_does_not_end_is_told(self):
        for training in (("-o", "train.steps=3"), ("-o", "train.steps=0", "-o", "train.epochs=1")):
            result = self.train("out", "--fresh", "-o", "train.schedule.warmup_ratio=0", "-o",
                                "train.schedule.warmup_steps=1000", *training)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(" ".join(self.report("out")["notes"]), "warmup_steps: .*lr never reaches its peak")

    def test_a_milestone_after_the_last_step_is_told(self):
        result = self.train("out", "-o", "train.steps=3", "-o", "train.schedule.name=piecewise", "-o",
                            "train.schedule.warmup_ratio=0", "-o", "train.schedule.milestones=50")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(" ".join(self.report("out")["notes"]), "milestones: epoch 50 is not reached in the training's 3 steps")

    def test_events_are_a_line_of_json_each(self):
        result = run("run", self.config, "--out", self.folder / "out", "--log", "jsonl", "-o", "train.steps=3", "-q")
        events = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([event["event"] for event in events if event["event"] != "note"],
                         ["start", "step", "step", "step", "evaluation", "end"])
        self.assertEqual(events[-1]["status"], "ok")
        self.assertEqual([event["loss"] for event in events if event["event"] == "step"], self.losses("out"))
        failed = run("run", self.config, "--out", self.folder / "failed", "--log", "jsonl", "-q",
                     "-o", "train.optimizer.name=sgd", "-o", "train.optimizer.lr=1000")
        self.assertEqual(json.loads(failed.stdout.splitlines()[-1])["status"], "diverged")
        self.assert_one_line_error(run("run", self.config, "--log", "xml"), 2, "--log", "jsonl")

    def test_a_sweep_is_quiet_or_prints_each_run(self):
        sweep = ["bench", self.config, "--axis", "data.batch_size=4,8", "--repeats", "2", "-o", "train.steps=20"]
        swept = run(*sweep, "--log", "jsonl", "--out", self.folder / "sweep")
        events = [json.loads(line) for line in swept.stdout.splitlines()]
        self.assertEqual([event["event"] for event in events], ["start", *["run"] * 4, "end"], swept.stderr)
        self.assertEqual({event["case"] for event in events[1:-1]}, {"batch_size=4", "batch_size=8"})
        quiet = run(*sweep, "-q", "--out", self.folder / "sweep")
        self.assertEqual((quiet.returncode, quiet.stdout), (0, ""), quiet.stderr)

    def test_a_narrow_terminal_keeps_the_eta_and_a_dumb_one_has_no_escape_codes(self):
        for terminal, escapes in (("xterm", True), ("dumb", False)):
            with self.subTest(terminal):
                shown = self.in_terminal(80, terminal, "run", self.config, "--out", self.folder / terminal)
                self.assertEqual("\x1b" in shown, escapes)
                drawn = [line for line in re.split(r"[\r\n]", shown) if "step " in line and "ETA" in line]
                self.assertTrue(drawn or not escapes, shown)
                if escapes:
                    self.assertTrue(all(len(line.removesuffix("\x1b[K")) < 80 for line in drawn), drawn)

    def in_terminal(self, columns, name, *arguments):
        """What the program shows on a terminal of `columns` columns."""
        main, side = os.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen([BINARY, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=side,
                              env=os.environ | {"TERM": name}) as process:
            os.close(side)
            shown = b""
            try:
                while part := os.read(main, 65536):
                    shown += part
            except OSError:  # the program has closed its side
                pass
        os.close(main)
        self.assertEqual(process.returncode, 0)
        return shown.decode()


if __name__ == "__main__":
    unittest.main()
