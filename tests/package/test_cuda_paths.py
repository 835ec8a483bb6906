"""CUDA's libraries are found wherever they are; of one that is nowhere a line says how to get it."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Versions that no system has, in the place of those that ptrain wants.
VERSIONS = {"libcudnn.so.9": "libcudnn.so.909", "libcublasLt.so.13": "libcublasLt.so.913",
            "libnccl.so.2": "libnccl.so.902"}
LIBRARIES = VERSIONS.values()


class CudaPaths(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        tools = self.root / "tools"  # a system without CUDA and without Python
        tools.mkdir()
        for tool in ("bash", "dirname", "readlink", "grep", "ldd", "head"):
            (tools / tool).symlink_to(shutil.which(tool))
        (tools / "ldconfig").write_text("#!/bin/sh\n")
        (tools / "ldconfig").chmod(0o755)
        self.environment = {"PATH": str(tools), "HOME": str(self.root / "home")}

    def place(self, folder):
        """Libraries of CUDA's names, which do nothing."""
        folder = self.root / folder
        folder.mkdir(parents=True)
        for library in LIBRARIES:
            subprocess.run(["cc", "-shared", "-o", folder / library, f"-Wl,-soname,{library}", "-xc", "/dev/null"],
                           check=True)
        return folder

    def pack(self):
        """A packed folder whose program wants the libraries."""
        libraries = self.place("build")
        pack = self.root / "pack"
        (pack / "bin").mkdir(parents=True)
        (pack / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/ptrain.sh", pack)
        paths = (ROOT / "scripts/cuda_paths.sh").read_text()
        for wanted, library in VERSIONS.items():
            self.assertIn(f"{wanted} ", paths.replace(";", " "))
            paths = paths.replace(wanted, library)
        (pack / "scripts/cuda_paths.sh").write_text(paths)
        subprocess.run(["cc", "-o", pack / "bin/ptrain", "-xc", "-", "-xnone", "-Wl,--no-as-needed",
                        *(libraries / library for library in LIBRARIES)], input="int main(void) { return 7; }",
                       text=True, check=True)
        shutil.rmtree(libraries)
        return pack / "ptrain.sh"

    def run_packed(self, **environment):
        return subprocess.run([self.pack(), "doctor"], capture_output=True, text=True, timeout=60,
                              env=self.environment | {name: str(value) for name, value in environment.items()})

    def test_a_users_python_has_them(self):
        self.place("home/.local/lib/python3.11/site-packages/nvidia/cudnn/lib")
        self.assertEqual(self.run_packed().returncode, 7)

    def test_an_environment_has_them(self):
        self.place("venv/lib/python3.12/site-packages/nvidia/cu13/lib")
        self.assertEqual(self.run_packed(VIRTUAL_ENV=self.root / "venv").returncode, 7)

    def test_cuda_home_has_them(self):
        for folder in ("lib64", "lib"):
            with self.subTest(folder):
                self.setUp()
                self.place(f"cuda/{folder}")
                self.assertEqual(self.run_packed(CUDA_HOME=self.root / "cuda").returncode, 7)

    def test_a_library_that_the_program_loads_when_it_needs_it_is_found(self):
        folder = self.root / "home/.local/lib/python3.11/site-packages/nvidia/nvjpeg/lib"
        folder.mkdir(parents=True)
        (folder / "libnvjpeg.so.13").touch()
        result = subprocess.run(["bash", "-c", f'. {ROOT}/scripts/cuda_paths.sh; echo "$LD_LIBRARY_PATH"'],
                                capture_output=True, text=True, timeout=60, env=self.environment)
        self.assertIn(str(folder), result.stdout.strip().split(":"), result.stderr)

    def test_what_is_nowhere_is_named_with_how_to_get_it(self):
        result = self.run_packed(CUDA_HOME="/nowhere")
        self.assertEqual(result.returncode, 1)
        errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), len(LIBRARIES), result.stderr)
        for library, package in zip(LIBRARIES, ("nvidia-cudnn-cu913", "nvidia-cublas", "nvidia-nccl-cu913")):
            self.assertTrue(any(library in line and package in line for line in errors), result.stderr)


if __name__ == "__main__":
    unittest.main()
