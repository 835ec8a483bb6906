"""scripts/fetch_weights.sh: takes what has the SHA-256 that its name ends with, and nothing else."""
import hashlib
import shutil
import subprocess
import unittest

from program import ROOT, ProgramTest


class FetchWeights(ProgramTest):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "project"
        (self.root / "scripts").mkdir(parents=True)
        for name in ("fetch_weights.sh", "usage.sh"):
            shutil.copy(ROOT / "scripts" / name, self.root / "scripts")
        content = b"weights"
        self.name = f"network-{hashlib.sha256(content).hexdigest()[:8]}.pth"
        (self.folder / self.name).write_bytes(content)

    def fetch(self, *arguments):
        return subprocess.run([self.root / "scripts/fetch_weights.sh", *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.folder)

    def test_a_file_and_a_url(self):
        for source in (self.name, self.folder / self.name, f"file://{self.folder}/{self.name}"):
            result = self.fetch(source)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, f"weights/{self.name}: -o model.weights=weights/{self.name}\n")
            again = self.fetch(source)
            self.assertEqual((again.returncode, again.stdout), (0, f"weights/{self.name} is complete\n"))
            (self.root / "weights" / self.name).write_bytes(b"cut")  # is fetched again

    def test_other_content_is_not_installed(self):
        (self.folder / self.name).write_bytes(b"other")
        result = self.fetch(self.name)
        self.assertEqual(result.returncode, 1)
        self.assertIn("is not the original (SHA-256 differs); nothing was installed", result.stderr)
        self.assertFalse((self.root / "weights" / self.name).exists())

    def test_what_is_neither(self):
        result = self.fetch("resnet51")
        self.assertEqual(result.returncode, 2)
        self.assertIn("resnet51: expected a name of this script, or a URL", result.stderr)
        result = self.fetch("file:///nowhere/network-01234567.pth")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot be fetched", result.stderr)

    def test_help_lists_every_name(self):
        script = (ROOT / "scripts/fetch_weights.sh").read_text()
        names = [line.strip()[1:].split("]")[0] for line in script.splitlines() if line.startswith("  [") and ".pth" in line]
        usage = self.fetch("--help").stdout.split()
        self.assertGreater(len(names), 15)
        self.assertEqual([name for name in names if name not in usage], [])


if __name__ == "__main__":
    unittest.main()
