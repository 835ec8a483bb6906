"""ptrain doctor on emulated GPUs with a management library to go with them: each check fails by what it looks at."""
import json
import os
import pathlib
import tempfile
import unittest

from program import run


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.folder = pathlib.Path(holder.name)
        (cls.folder / "libnvidia-ml.so.1").symlink_to(os.environ["PTRAIN_FAKE_NVML"])

    def doctor(self, *arguments, says=""):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.folder), "FAKE_NVML": says,
                       "EMULATED_PCI_BUS_ID": "0000:3b:00.0", "EMULATED_GPU_NAME": "NVIDIA H200",
                       "EMULATED_MEMORY_MIB": "512"}  # of which doctor takes a part, many times
        return run("doctor", "--json", *arguments, env=environment)

    def failures(self, result):
        """{(device, what)} but for rates and memory, which are the emulation's."""
        emulated = ("Gop/s", "GB", "GB/s")
        return {(check["device"], check["what"]) for check in json.loads(result.stdout)["checks"]
                if check["verdict"] == "FAIL" and not check["found"].endswith(emulated)}

    def test_each_fault_is_found_and_only_it(self):
        self.assertEqual(self.failures(self.doctor("--check")), set())
        for says, what in (("new_errors=2", "uncorrected ECC errors, volatile"),
                           ("all_errors=7", "uncorrected ECC errors, aggregate"),
                           ("remap_pending=1", "remapped rows pending"), ("remap_failed=1", "row remapping failed"),
                           ("pcie_width=8", "PCIe width"), ("pcie_generation=3", "PCIe generation"),
                           ("links=17", "NVLink, links"), ("power_limit=500000", "power limit"),
                           ("throttling=64", "throttling under load"), ("most_sm_mhz=2700", "SM clock under load")):
            with self.subTest(says):
                result = self.doctor("--check", says=says)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(self.failures(result), {("cuda:0", what)})

    def test_what_is_not_reported_is_skipped(self):
        result = self.doctor("--check", says="new_errors=-1,pcie_width=-1,power_limit=-1")
        verdicts = {check["what"]: check["verdict"] for check in json.loads(result.stdout)["checks"]
                    if check["device"] == "cuda:0"}
        for what in ("uncorrected ECC errors, volatile", "PCIe width", "power limit", "driver"):
            self.assertEqual(verdicts[what], "skipped", what)

    def test_load_is_held_and_watched(self):
        """On one GPU: the emulation runs kernels of one thread only."""
        result = self.doctor("--burn-in", "0.05", "--drift", "99")
        checks = json.loads(result.stdout)["checks"]
        self.assertEqual({check["device"] for check in checks if check["verdict"] == "ok"}, {"cuda:0"})
        hot = self.doctor("--burn-in", "0.05", "--drift", "99", says="throttling=32")
        self.assertEqual(hot.returncode, 1)
        self.assertEqual(self.failures(hot), {("cuda:0", "throttling under load")})


if __name__ == "__main__":
    unittest.main()
