"""scripts/gpu_validate.py: what goes wrong in a step, or in the script itself, costs that step alone; and rungs climbed
from end to end on emulated libraries."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/gpu_validate.py"
# A device_test that behaves as its suites are called.
STUB = """\
import os, signal, sys, time
if "--gtest_list_tests" in sys.argv:
    print("Good.\\n  One\\nHang.\\n  One\\nCrash.\\n  One\\nWrong.\\n  One")
    sys.exit()
tests = next(word.split("=")[1] for word in sys.argv if word.startswith("--gtest_filter="))
if tests.startswith("Hang"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)
if tests.startswith("Crash"):
    os.kill(os.getpid(), signal.SIGSEGV)
if tests.startswith("Wrong") or tests.startswith("Recorded") and os.environ.get("STUB_GPU") == "lost":
    print("some lines\\nerror: an illegal memory access was encountered\\nmore")
    sys.exit(1)
"""


class GpuValidate(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.out = self.folder / "out"

    def start(self, *arguments, **environment):
        process = subprocess.Popen([sys.executable, SCRIPT, *map(str, arguments), "--out", self.out], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "PTRAIN_PYTHON": "/bin/false", **environment})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def climb(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        output = process.communicate(timeout=300)[0]
        return process.returncode, output

    def stub(self):
        path = self.folder / "device_test"
        path.write_text(f"#!{sys.executable}\n{STUB}")
        path.chmod(0o755)
        return {"PTRAIN_DEVICE_TEST": str(path)}

    def archive(self, name):
        with tarfile.open(self.out / f"{name}.tar.gz") as archive:
            return {member.name: archive.extractfile(member).read() for member in archive.getmembers() if member.isfile()}

    def test_a_step_that_hangs_crashes_or_fails_ends_alone(self):
        begin = time.monotonic()
        code, output = self.climb("mended", "--filter", "Hang.One", "Crash.One", "Wrong.One", "Good.One", "--seconds", 20,
                                  **self.stub())
        self.assertLess(time.monotonic() - begin, 40)
        self.assertEqual(code, 1, output)
        self.assertRegex(output, r"TIMEOUT  again_Hang_One")
        left = subprocess.run(["pgrep", "-f", str(self.folder / "device_test")], capture_output=True, text=True).stdout
        self.assertEqual(left, "")
        code, output = self.climb("mended", "--filter", "Crash.One", "Wrong.One", "Good.One", **self.stub())
        self.assertEqual(code, 1, output)
        self.assertRegex(output, r"FAILED   again_Crash_One \(SIGSEGV\)")
        self.assertRegex(output, r"FAILED   again_Wrong_One \(exit code 1\) \(\d+ s\) error: an illegal memory access")
        self.assertRegex(output, r"ok       again_Good_One")
        self.assertRegex(output, r"end      2 failed again_Crash_One again_Wrong_One\n$")
        self.assertEqual((self.out / "summary.txt").read_text(), output)
        self.assertIn(b"illegal memory access", self.archive("logs")["logs/again_Wrong_One.log"])

    def test_a_gpu_that_is_lost_ends_the_climb(self):
        code, output = self.climb("mended", "--filter", "Wrong.One", "Good.One", **self.stub(), STUB_GPU="lost")
        self.assertEqual(code, 1, output)
        self.assertRegex(output, r"skipped  again_Good_One")
        self.assertRegex(output, r"FAILED   gpu it no longer runs a small test")

    def test_what_a_killed_script_knew_is_kept_and_its_steps_end(self):
        process = self.start("mended", "--filter", "Good.One", "Hang.One", **self.stub())
        deadline = time.monotonic() + 60
        while not (self.out / "logs.tar.gz").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        self.assertTrue(children)
        process.kill()
        process.wait()
        self.assertIn("logs/again_Good_One.log", self.archive("logs"))
        self.assertIn("ok       again_Good_One", (self.out / "summary.txt").read_text())
        time.sleep(0.5)
        for child in children:
            self.assertFalse(pathlib.Path(f"/proc/{child}").exists() and
                             "Z" not in pathlib.Path(f"/proc/{child}/stat").read_text().split()[2], child)

    def test_a_stopped_script_packs_what_it_has(self):
        process = self.start("mended", "--filter", "Good.One", "Hang.One", **self.stub())
        while "again_Good_One" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertIn("logs/again_Good_One.log", self.archive("logs"))

    def test_rungs_on_the_emulation_leave_reports_logs_and_cache(self):
        code, output = self.climb("contact", "headline", "search", "truth", "deployed", "--tiny", "--seconds", 280)
        self.assertEqual(code, 0, output)
        self.assertLessEqual(len(list(self.out.iterdir())), 8)
        logs = self.archive("logs")
        for report in ("resnet50_O1_fp16", "bert_base_O1_fp16", "resnet50_O1_fp16_ops", "bert_large_O1_fp16"):
            self.assertEqual(json.loads(logs[f"logs/{report}.json"])["status"], "ok", report)
        self.assertIn(b"resnet50_O1_fp16", logs["logs/table.md"])
        self.assertRegex(logs["logs/effects_fusion.log"], rb"fusion: off -> always")
        self.assertLessEqual(len(output.splitlines()), 120)
        json.loads((self.out / "device.json").read_text())
        self.assertTrue(any(name.startswith("cache/") for name in self.archive("cache")))
        code, output = self.climb("headline", "--tiny", "--seconds", 8, "--cache", self.out / "cache.tar.gz")
        self.assertRegex(output, r"no time  ")

    def test_what_is_asked_for_wrongly_is_refused(self):
        code, output = self.climb("mended")
        self.assertEqual(code, 2)
        self.assertIn("expected --filter", output)


if __name__ == "__main__":
    unittest.main()
