"""What fits a screen is read: files, functions and folders stay small."""
import collections
import unittest

import tree

FILE_LINES = 400
FUNCTION_LINES = 60
FOLDER_FILES = 32
BEING_SPLIT = ()  # what is still larger
EVERYWHERE = tree.PRODUCT + ("tests", "scripts")


class Sizes(unittest.TestCase):
    def test_files_are_short(self):
        long = {path: tree.read(path).count("\n") for path in tree.files(EVERYWHERE, tree.CODE + (".py", ".sh"))}
        self.assertEqual({path: lines for path, lines in long.items() if lines > FILE_LINES}, {})

    def test_functions_are_short(self):
        long = [f"{path}:{line}: {length} lines" for path in tree.files(EVERYWHERE) if path not in BEING_SPLIT
                for line, length in tree.functions(tree.read(path)) if length > FUNCTION_LINES]
        self.assertEqual(long, [])

    def test_folders_are_small(self):
        count = collections.Counter(path.rpartition("/")[0] for path in tree.files(EVERYWHERE, tree.CODE + (".py", ".sh")))
        self.assertEqual({folder: n for folder, n in count.items() if n > FOLDER_FILES and folder not in BEING_SPLIT}, {})

    def test_functions_are_counted(self):
        text = 'namespace a {\nstruct B {\n  int f() const {\n    return "{";\n  }\n};\nint g(int x)\n{\n  if (x) {\n  }\n}\n}\n'
        self.assertEqual(list(tree.functions(text)), [(3, 3), (8, 4)])


if __name__ == "__main__":
    unittest.main()
