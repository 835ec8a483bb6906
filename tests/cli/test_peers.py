"""The comparison with other frameworks (scripts/peers/compare.py), whose place a small script takes here."""
import json
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from program import BINARY, ROOT, ProgramTest

# The script with one case of a second, however the peer's Python is called.
SMALL = """\
import sys
sys.path.insert(0, "scripts/peers")
import compare
keys = {"model.name": "resnet18", "model.classes": 4, "data.image_size": 8, "data.batch_size": 2, "data.augment": "none"}
keys |= %s
compare.CASES["cpu"] = [compare.Case("small", "A small network", 3, keys, ["vision_peer.py"], 1)]
sys.exit(compare.main())
"""

PEER = """\
#!/bin/sh
echo "warming up"
echo '{"samples_per_second": 50.0, "peak_bytes": 1000000000, "baseline_bytes": 1, "step_ms": [40.0], "framework": "none 1.0"}'
"""


class PeersTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "peers.json"

    def start(self, peer, *arguments, keys="{}"):
        python = self.folder / "python"
        python.write_text(peer)
        python.chmod(0o755)
        return subprocess.Popen([sys.executable, "-c", SMALL % keys, "--ptrain", BINARY, "--python", python, "--precisions", "fp32",
                                 "--preload", "", "--out", self.out, *arguments], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def compare(self, peer, *arguments, **options):
        child = self.start(peer, *arguments, **options)
        out, errors = child.communicate(timeout=600)
        return child.returncode, out, errors

    def cases(self):
        return json.loads(self.out.read_text())["cases"]

    def test_rounds_of_ptrain_and_its_peers(self):
        code, out, errors = self.compare(PEER, "--variants", "eager", "compiled", "--repeats", "2", "--runs", self.folder / "runs")
        self.assertEqual(code, 0, errors)
        self.assertRegex(out, r"\| A small network \| fp32 \| [\d.]+ \| 50\.0, 50\.0 \| \*\*[\d.]+x\*\* \|")
        case, = self.cases()
        self.assertEqual([len(case[name]) for name in ("ptrain", "eager", "compiled")], [2, 2, 2])
        self.assertGreater(case["ptrain"][0]["samples_per_second"], 0)
        self.assertEqual(case["eager"][1]["framework"], "none 1.0")
        begun = time.monotonic()  # all runs are there
        code, again, errors = self.compare(PEER, "--variants", "eager", "compiled", "--repeats", "2", "--runs", self.folder / "runs")
        self.assertEqual((code, again), (0, out), errors)
        self.assertLess(time.monotonic() - begun, 20)

    def test_a_peer_that_fails(self):
        code, out, _ = self.compare("#!/bin/sh\necho no module named torch >&2\nexit 3\n", "--variants", "eager", "--repeats", "1")
        self.assertEqual(code, 1)
        self.assertIn("| - |", out)
        self.assertIn("no module named torch", self.cases()[0]["eager"][0]["error"])
        self.assertNotIn("error", self.cases()[0]["ptrain"][0])

    def test_missing_weights(self):
        code, _, errors = self.compare(PEER, keys='{"model.weights": "weights/nowhere.safetensors"}')
        self.assertEqual(code, 1)
        self.assertIn("small: weights/nowhere.safetensors not found; scripts/fetch_weights.sh fetches the weights", errors)

    def test_an_end_by_signal(self):
        mark = self.folder / "pid"
        child = self.start(f"#!/bin/sh\necho $$ > {mark}.part\nmv {mark}.part {mark}\nexec sleep 1000\n", "--variants", "eager",
                           "--repeats", "1")
        while not mark.exists():
            self.assertIsNone(child.poll())
            time.sleep(0.05)
        child.send_signal(signal.SIGTERM)
        out, errors = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 1)
        self.assertIn("interrupted: the table shows what was measured until then", errors)
        self.assertIn("A small network", out)
        state = pathlib.Path("/proc", mark.read_text().strip(), "stat")
        self.assertTrue(not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z")  # not yet waited for


if __name__ == "__main__":
    unittest.main()
