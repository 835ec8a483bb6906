"""What documents lead to exists: links, their headings, files of the tree, and the tests that a table names."""
import glob
import os
import re
import unittest

import tree

READERS_OWN = ("runs/", "data/", "weights/", "dist/", "build/", ".deps/")  # unless a source file follows
SOURCE = (".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".md", ".yaml")
FOLDERS = ("core", "models", "cli", "configs", "scripts", "tests", "results")


def documents():
    return [name for name in sorted(os.listdir(tree.ROOT)) if name.endswith(".md")] + list(tree.files(FOLDERS, (".md",)))


def prose(text):
    """The text without fences and indented blocks."""
    return re.sub(r"^    .*$", "", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M), flags=re.M)


def anchors(text):
    """The headings of a document as links name them on GitHub and GitLab."""
    found = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in found}


def alternatives(path):
    """path/{a,b}.h as path/a.h and path/b.h."""
    braces = re.search(r"\{([^{}]*)\}", path)
    if not braces:
        return [path]
    return [other for word in braces[1].split(",") for other in alternatives(path[: braces.start()] + word + path[braces.end() :])]


def exists(path, folder):
    """Whether there is such a file in the tree, from its root, from a document's folder, or from core/."""
    return any(glob.glob(os.path.join(tree.ROOT, base, path)) for base in ("", folder, "core"))


class Links(unittest.TestCase):
    def test_every_relative_link_leads_to_a_file_and_a_heading(self):
        offences, seen = [], 0
        for document in documents():
            folder = os.path.dirname(document)
            for target in re.findall(r"\]\(([^)\s]+)\)", prose(tree.read(document))):
                if re.match(r"\w+:", target):
                    continue
                seen += 1
                path, _, heading = target.partition("#")
                path = os.path.normpath(os.path.join(folder, path)) if path else document
                if not os.path.exists(os.path.join(tree.ROOT, path)):
                    offences.append(f"{document}: {target}: no such file")
                elif heading and heading not in anchors(tree.read(path)):
                    offences.append(f"{document}: {target}: no such heading")
        self.assertGreater(seen, 50)  # they were read
        self.assertEqual(offences, [])

    def test_every_path_in_a_document_exists(self):
        offences = []
        for document in documents():
            if document == "CHANGELOG.md":  # names what is gone too
                continue
            folder = os.path.dirname(document)
            for code in re.findall(r"`([^`\n]+)`", prose(tree.read(document))):
                if not re.fullmatch(r"[\w.{},*-]+(/[\w.{},*-]+)+/?", code):
                    continue
                if code.startswith(READERS_OWN) and not code.endswith(SOURCE):
                    continue
                for path in alternatives(code):
                    if exists(path.split("/")[0], folder) and not exists(path, folder):
                        offences.append(f"{document}: {code}")
        self.assertEqual(offences, [])

    def test_every_document_of_a_folder_has_contents(self):
        for document in documents():
            text = tree.read(document)
            if len(text.split()) < 400 or text.count("\n## ") < 3 or document == "results/predicted.md":
                continue  # short, or made by the program
            if document.count("/") and not re.search(r"\A# .*\n\n(?:(?:.+\n)+\n)?- \[", text):
                self.fail(f"{document}: begins without a table of contents")

    def test_the_tests_that_faults_are_caught_by_exist(self):
        named = set(re.findall(r"`((?:test_)?\w+(?:\.\w+)+)`", prose(tree.read("tests/README.md"))))
        sources = "".join(tree.read(path) for path in tree.files(("tests",), (".py", ".cpp", ".h", ".txt")))
        sources += " ".join(tree.files(("tests",), (".py", ".sh")))
        self.assertGreater(len(named), 60)
        self.assertEqual([name for name in sorted(named) if any(part not in sources for part in name.split("."))], [])


if __name__ == "__main__":
    unittest.main()
