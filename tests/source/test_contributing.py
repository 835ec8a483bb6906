"""CONTRIBUTING.md says what is so: its commands and links exist, and those that take a moment run."""
import json
import os
import re
import shlex
import subprocess
import unittest

import tree

TEXT = tree.read("CONTRIBUTING.md")


def commands():
    for line in TEXT.splitlines():
        if line.startswith("    ") and (words := shlex.split(line, comments=True)):
            yield words


def in_root(*words):
    return subprocess.run(words, cwd=tree.ROOT, capture_output=True, text=True, check=False)


class Contributing(unittest.TestCase):
    def test_scripts_take_the_options_that_it_shows(self):
        shown = [words for words in commands() if words[0].startswith("scripts/")]
        self.assertGreater(len(shown), 3)
        for script, *options in shown:
            text = in_root(script, "--help").stdout
            for option in options:
                if option.startswith("--"):
                    self.assertIn(option, text, script)

    def test_presets_are_there(self):
        presets = {preset["name"] for preset in json.loads(tree.read("CMakePresets.json"))["configurePresets"]}
        named = {words[2] for words in commands() if words[:2] == ["cmake", "--preset"]}
        self.assertTrue(named)
        self.assertLessEqual(named, presets)

    def test_one_op_by_a_name_that_is_there(self):
        op = next(words[2] for words in commands() if words[:2] == ["scripts/test.sh", "--op"])
        result = in_root("scripts/test.sh", "--op", "no_such_op")
        self.assertEqual(result.returncode, 2)
        self.assertIn(op, result.stderr.split())

    def test_tests_in_python_are_found_as_it_says(self):
        words = next(words for words in commands() if words[0] == "python3")
        loader = unittest.TestLoader()
        self.assertGreater(loader.discover(os.path.join(tree.ROOT, words[words.index("-s") + 1])).countTestCases(), 10)

    def test_files_and_places_that_it_names_exist(self):
        for link in re.findall(r"\]\(([^)#]+)", TEXT):
            self.assertTrue(os.path.exists(os.path.join(tree.ROOT, link)), link)
        self.assertIn("## Where to add", tree.read("core/README.md"))
        for title in re.findall(r"^- \[([^]]+)\]\(#", TEXT, re.M):
            self.assertIn(f"\n## {title}\n", TEXT)

    def test_the_version_is_one_that_the_changelog_has(self):
        version = re.search(r"project\(ptrain VERSION ([\d.]+)", tree.read("CMakeLists.txt"))[1]
        self.assertIn(f"\n## {version}", tree.read("CHANGELOG.md"))
        self.assertIn("\n## Unreleased\n", tree.read("CHANGELOG.md"))


if __name__ == "__main__":
    unittest.main()
