"""ptrain doctor --check and --burn-in on the CPU: what is found against what is expected of the machine."""
import json
import os
import signal
import subprocess
import unittest

from program import BINARY, ProgramTest, busy_cores, run


def get_checks(result):
    return {check["what"]: check for check in json.loads(result.stdout)["checks"]}


class Doctor(ProgramTest):
    def doctor(self, *arguments):
        environment = {**os.environ, "PTRAIN_CACHE_DIR": str(self.folder / "cache"), "OMP_WAIT_POLICY": "passive"}
        return run("doctor", *arguments, env=environment)

    def expecting(self, text):
        file = self.folder / "expected.yaml"
        file.write_text(text)
        return self.doctor("--check", "--json", "--expect", file)

    def test_what_was_saved_is_expected_later(self):
        saved = self.folder / "machine.yaml"
        result = self.doctor("--check", "--save", saved)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("0 ok, 0 failed", result.stdout)  # what nothing is expected of is skipped, never ok
        busy = "has no rates of the CPU: other programs kept" in result.stderr  # by other tests, meanwhile
        saved.write_text(saved.read_text().replace("tolerance: 0.1", "tolerance: 0.99"))
        result = self.doctor("--check", "--json", "--expect", saved)
        self.assertEqual(result.returncode, 0, result.stdout)
        checks = get_checks(result)
        self.assertEqual(checks["fp32, matrix product"]["verdict"], "skipped" if busy else "ok")
        self.assertEqual(checks["model"]["verdict"], "ok")
        self.assert_one_line_error(self.doctor("--check", "--save", saved), 2, "already exists")

    def test_rates_of_a_busy_machine_are_not_saved(self):
        saved = self.folder / "machine.yaml"
        with busy_cores():
            result = self.doctor("--check", "--save", saved)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"machine.yaml has no rates of the CPU: other programs kept [\d.]+ of \d+ cores busy")
        self.assertNotIn("fp32_product", saved.read_text())
        self.assertIn("threads:", saved.read_text())

    def test_a_slower_or_other_machine_fails(self):
        result = self.expecting("gpus: 1\ncpu: {fp32_product: 1.0e9, threads: 4096, model: another, memory_gb: 0.001}\n")
        self.assert_one_line_error(result, 1, "4 of")
        checks = get_checks(result)
        failed = {what for what, check in checks.items() if check["verdict"] == "FAIL"}
        self.assertEqual(failed, {"GPUs", "model", "compute threads", "fp32, matrix product"})
        self.assertEqual(checks["memory"]["verdict"], "ok")
        self.assertEqual(checks["int8, matrix product"]["verdict"], "skipped")

    def test_a_file_that_is_wrong_is_refused_before_anything_is_measured(self):
        self.assert_one_line_error(self.expecting("cpu:\n  fp32_prodct: 3\n"), 2, "expected.yaml:2: \"cpu.fp32_prodct\"",
                                   "did you mean fp32_product?")
        self.assert_one_line_error(self.expecting("cpu: {threads: nan}\n"), 2, "cpu.threads: expected a number")
        self.assert_one_line_error(self.doctor("--check", "--expect", "none.yaml"), 2, "none.yaml: no such file")
        self.assertEqual(self.doctor("--expect", "none.yaml").returncode, 2)  # without --check it would say nothing

    def test_what_ranks_do_not_do_is_refused(self):
        for options in (("--ranks", "2", "--check"), ("--ranks", "2", "--burn-in", "0.01"), ("--disk", self.folder),
                        ("--burn-in", "nan"), ("--burn-in", "1", "--drift", "nan")):
            with self.subTest(options):
                self.assertEqual(self.doctor(*options).returncode, 2)

    def test_load_is_held_and_reported(self):
        result = self.doctor("--burn-in", "0.05", "--drift", "99", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        checks = get_checks(result)
        self.assertEqual(checks["results"]["verdict"], "ok")
        self.assertIn("Gop/s", checks["rate, last third versus first"]["found"])
        self.assertEqual(checks["throttling under load"]["verdict"], "skipped")
        self.assertIn("under load for 3 s, to ", result.stderr)
        self.assertIn("ends at", result.stderr)
        self.assert_one_line_error(self.doctor("--burn-in", "-1"), 2, "--burn-in")

    def test_a_signal_ends_the_load_with_what_was_measured(self):
        process = subprocess.Popen([BINARY, "doctor", "--burn-in", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env={**os.environ, "PTRAIN_CACHE_DIR": str(self.folder / "cache")})
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "s under load" in line:
                break
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("laps differ", output)
        self.assertIn("interrupted by signal 2", errors)


if __name__ == "__main__":
    unittest.main()
