"""Every function that a header declares follows a comment, alone or in a group without blank lines."""
import re
import unittest

import tree

DECLARATION = re.compile(r"[A-Za-z_\[][\w:<>,&*.\[\] ]*[ &*][A-Za-z_]\w*\(")
OTHERS = re.compile(r"(?:return|using|static_assert|typedef|class|struct|enum|namespace|friend|extern|template)\b")
COMMENT = re.compile(r"//|/\*|\*/")


def bare_functions(text):
    """(line, declaration) of each function at the left margin whose group has no comment above or beside it."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not DECLARATION.match(line) or OTHERS.match(line):
            continue
        above = number
        while above >= 0 and lines[above].strip() and not COMMENT.search(lines[above]):
            above -= 1
        if above < 0 or not lines[above].strip():
            yield number + 1, line


class Docstrings(unittest.TestCase):
    def test_functions_of_headers_say_what_they_do(self):
        offences = [
            f"{path}:{line}: {declaration}"
            for path in tree.files(tree.PRODUCT, (".h",))
            for line, declaration in bare_functions(tree.read(path))
        ]
        self.assertEqual(offences, [])

    def test_a_group_has_one_comment(self):
        text = "/// Both.\nint a();\nint b(int x);\n\nint c();\nclass D;\nint e();  // beside it\n"
        self.assertEqual(list(bare_functions(text)), [(5, "int c();")])


if __name__ == "__main__":
    unittest.main()
