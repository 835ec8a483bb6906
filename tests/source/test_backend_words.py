"""Backends' libraries are named in their own libraries: above them core asks the Backend interface; cli and api make backends."""
import re
import unittest

import tree
from test_model_names import COMMENT_OR_STRING

LIBRARY = re.compile(r"\w*(?:cuda|cudnn|cublas|nccl|nvml|onednn|dnnl)\w*", re.IGNORECASE)
KEYS = {"cuda_graphs", "cudnn_exhaustive_search", "cudnn_batchnorm_spatial_persistent"}  # names that users write
LIBRARIES = ("core/cpu/", "core/cuda/", "core/comm/", "core/api/")
CHOICES = ("core/config/device_choice.h", "core/config/device_choice.cpp")  # device: cuda, and its name
COMPILER = {"__CUDACC__"}


def words_in(text):
    """(line, word) of every backend's library named in code; comments and what users read may."""
    code = COMMENT_OR_STRING.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(code.splitlines(), 1):
        yield from ((number, word) for word in LIBRARY.findall(line) if word not in KEYS | COMPILER)


class BackendWords(unittest.TestCase):
    def test_core_above_the_backends_and_models_name_no_library(self):
        offences = [
            f"{path}:{line}: {word}"
            for path in tree.files(("core", "models"))
            if not path.startswith(LIBRARIES) and path not in CHOICES
            for line, word in words_in(tree.read(path))
        ]
        self.assertEqual(offences, [])

    def test_a_word_is_found_in_code_only(self):
        text = '// cuDNN\nfail("needs CUDA");\nif (config.cuda_graphs) cudnnCreate();\n'
        self.assertEqual(list(words_in(text)), [(3, "cudnnCreate")])


if __name__ == "__main__":
    unittest.main()
