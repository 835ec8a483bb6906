"""What ptrain writes for others, read by promtool, MLPerf's compliance checker, TensorBoard, VisualDL, twine and
lintian. Started by run.sh, which installs them; what is not installed is skipped by name."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import ROOT, ProgramTest, run  # noqa: E402

PACKAGES = pathlib.Path(os.environ.get("PTRAIN_PACKAGES", ROOT / "build/release/packages"))
OF_THE_SUBMITTER = {"submission_org", "submission_division", "submission_status", "submission_platform", "cache_clear"}


def call(*command, **options):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, **options)
    return result.returncode, result.stdout + result.stderr


def is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class Events(ProgramTest):
    """What a run writes while it trains."""

    def setUp(self):
        super().setUp()
        self.assertEqual(self.train("run", "-o", "output.events=[tensorboard,visualdl]").returncode, 0)

    @unittest.skipUnless(is_installed("tensorboard.backend"), "needs tensorboard")
    def test_tensorboard_reads_every_number(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        events = EventAccumulator(str(self.folder / "run"), size_guidance={"scalars": 0})
        events.Reload()
        losses = events.Scalars("train/loss")
        self.assertEqual([event.step for event in losses], list(range(1, 61)))
        for event, loss in zip(losses, self.losses("run"), strict=True):
            self.assertAlmostEqual(event.value, loss, places=5)
        self.assertEqual(len(events.Scalars("eval/top1")), 2)

    @unittest.skipUnless(is_installed("visualdl"), "needs visualdl")
    def test_visualdl_reads_every_number(self):
        from visualdl import LogReader
        from visualdl.reader.reader import is_VDLRecord_file
        path = str(self.folder / "run/vdlrecords.0.log")
        self.assertTrue(is_VDLRecord_file(path, check=True))
        reader = LogReader(file_path=path)
        losses = reader.get_data("scalar", "train/loss")
        self.assertEqual([event.id for event in losses], list(range(1, 61)))
        for event, loss in zip(losses, self.losses("run"), strict=True):
            self.assertAlmostEqual(event.value, loss, places=5)
        self.assertEqual(len(reader.get_data("scalar", "eval/top1")), 2)


class Reports(ProgramTest):
    def export(self, dialect, *arguments):
        self.assertEqual(self.train("run", *arguments).returncode, 0)
        result = run("export-report", self.folder / "run", "--format", dialect)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    @unittest.skipUnless(shutil.which("promtool"), "needs promtool")
    def test_promtool_has_no_complaint(self):
        self.assertEqual(call("promtool", "check", "metrics", input=self.export("prometheus")), (0, ""))

    @unittest.skipUnless(importlib.util.find_spec("mlperf_logging"), "needs mlperf_logging")
    def test_mlperfs_checker_asks_for_a_submitters_lines_alone(self):
        log = self.folder / "result_0.txt"
        log.write_text(self.export("mllog", "-o", "train.log_every_steps=7"))
        for ruleset in ("5.1.0", "6.0.0"):
            with self.subTest(ruleset):
                _, said = call(sys.executable, "-m", "mlperf_logging.compliance_checker", "--usage", "training",
                               "--ruleset", ruleset, log, cwd=self.folder)
                missing = set(re.findall(r"Required \w+ occurrence of '(\w+)'", said))
                self.assertEqual(missing - OF_THE_SUBMITTER, set(), said)
                # Minutes to compile are known with the division, which a submitter adds.
                failed = [line for line in re.findall(r"CHECK for '(\w+)' failed", said) if line != "init_stop"]
                self.assertEqual(failed, [], said)


@unittest.skipUnless(PACKAGES.is_dir(), f"needs packages in {PACKAGES} (ctest -R package.make makes them)")
class Packages(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("twine"), "needs twine")
    def test_twine_passes_the_wheel(self):
        code, said = call(sys.executable, "-m", "twine", "check", "--strict", *PACKAGES.glob("*.whl"))
        self.assertEqual(code, 0, said)

    @unittest.skipUnless(shutil.which("lintian"), "needs lintian")
    def test_lintian_finds_no_error_in_the_deb(self):
        code, said = call("lintian", "--allow-root", "--fail-on", "error", *PACKAGES.glob("*.deb"))
        self.assertEqual(code, 0, said)
