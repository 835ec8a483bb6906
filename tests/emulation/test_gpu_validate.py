"""scripts/gpu_validate.sh from end to end on emulated libraries: each part leaves its archive, stopped or not."""
import json
import os
import pathlib
import signal
import subprocess
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/gpu_validate.sh"


class GpuValidate(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.out = pathlib.Path(holder.name)

    def start(self, part, *arguments):
        environment = {**os.environ, "PTRAIN_PYTHON": "/bin/false"}
        process = subprocess.Popen([SCRIPT, "--part", part, "--out", self.out, "--tiny", *map(str, arguments)],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def archive(self, part):
        """The archive's files, by name, those of the cache apart."""
        with tarfile.open(self.out / f"{part}.tar.gz") as archive:
            files = {member.name.removeprefix("./"): archive.extractfile(member).read()
                     for member in archive.getmembers() if member.isfile()}
        return ({name: data for name, data in files.items() if not name.startswith("cache/")},
                {name: data for name, data in files.items() if name.startswith("cache/")})

    def reports(self, files):
        return {name: json.loads(data) for name, data in files.items() if name.endswith(".json") and name != "device_description.json"}

    def test_parts_leave_reports_logs_and_cache(self):
        for part, least, wanted in (("fast", 11, ("resnet50_O1_fp16_ops.json", "bert_large_O1_fp16.json",
                                                  "infer_resnet50_O2_offline.json", "device_tests.log", "doctor.txt",
                                                  "device_description.json")),
                                    ("search", 12, ("resnet50_search.json", "resnet50_fusion-always.json",
                                                    "bert_base_packed.json")),
                                    ("peers", 0, ())):
            with self.subTest(part):
                cache = [] if part == "fast" else ["--cache", self.out / "fast.tar.gz"]
                process = self.start(part, *cache)
                output = process.communicate(timeout=600)[0]
                self.assertEqual(process.returncode, 0, output)
                files, kept = self.archive(part)
                self.assertGreaterEqual(set(files), {f"{part}.txt", *wanted})
                self.assertTrue(kept)
                reports = self.reports(files)
                self.assertGreaterEqual(len(reports), least)
                answers = {name: reports.pop(name) for name in list(reports) if name.startswith("infer_")}
                self.assertEqual({report["device"] for report in answers.values()} - {"cuda"}, set())
                self.assertEqual({report["status"] for report in reports.values()} - {"ok"}, set())
        self.assertTrue(any("search-" in name for name in kept))

    def test_a_part_that_is_stopped_leaves_what_it_has(self):
        process = self.start("fast")
        deadline = time.monotonic() + 300
        while not list(self.out.glob("bert_*.log")):  # the second run has begun
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=120)[0]
        self.assertEqual(process.returncode, 143, output)
        files, _ = self.archive("fast")
        self.assertEqual(self.reports(files)["resnet50_O1_fp16.json"]["status"], "ok")
        self.assertIn("doctor.txt", files)
        self.assertIn("skipped", files["fast.txt"].decode())

    def test_a_part_keeps_to_its_time(self):
        process = self.start("search", "--minutes", 0.3)
        output = process.communicate(timeout=120)[0]
        files, _ = self.archive("search")
        self.assertIn("no time", output)
        self.assertNotIn("bert_large_search.json", files)


if __name__ == "__main__":
    unittest.main()
