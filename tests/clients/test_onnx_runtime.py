"""ONNX Runtime with exported files: the tests of tests/cli that need it."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from test_onnx import Onnx, OnnxTexts, OnnxTranslation  # noqa: E402, F401

if __name__ == "__main__":
    unittest.main()
