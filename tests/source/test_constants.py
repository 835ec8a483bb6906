"""Constants are named as variables are, in snake case: no kConstant, no CONSTANT."""
import re
import unittest

import tree

CONSTANT = re.compile(r"\b(?:constexpr|const)\b[^;=(){}]*?\b(k[A-Z]\w*|[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*)\s*(?:\[\w*\])?\s*[={]")


class Constants(unittest.TestCase):
    def test_they_are_in_snake_case(self):
        offences = [f"{path}: {name}" for path in tree.files((*tree.PRODUCT, "tests"))
                    for name in CONSTANT.findall(tree.read(path))]
        self.assertEqual(offences, [])

    def test_other_styles_are_found(self):
        text = "constexpr int kMost = 3;\nconst char* const NAMES[] = {};\nconstexpr double most{2};\n"
        self.assertEqual(CONSTANT.findall(text), ["kMost", "NAMES"])


if __name__ == "__main__":
    unittest.main()
