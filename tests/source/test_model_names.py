"""Models are named in models/ alone: core and cli ask the registry's rows, or the Model interface."""
import re
import unittest

import tree

MODEL = re.compile(r"\w*(?:resnet|bert)\w*", re.IGNORECASE)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
EXAMPLE = re.compile(r"\b(?:configs|runs|results)/[\w./-]+")  # files that help names
OPERATOR = re.compile(r"bert_?(?:embedding|table|look_up)", re.IGNORECASE)  # the operator of this published name
TOKENISER = "core/data/text/"  # the published one, and its vocabulary


def names_in(text):
    """(line, word) of every model named in code and strings; comments may."""
    code = COMMENT_OR_STRING.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)
    for number, line in enumerate(code.splitlines(), 1):
        for word in MODEL.findall(EXAMPLE.sub("", line)):
            if not OPERATOR.search(word):
                yield number, word


class ModelNames(unittest.TestCase):
    def test_core_and_cli_name_no_model(self):
        offences = [
            f"{path}:{line}: {word}"
            for path in tree.files(("core", "cli"))
            if not path.startswith(TOKENISER)
            for line, word in names_in(tree.read(path))
        ]
        self.assertEqual(offences, [])

    def test_a_name_is_found_in_code_and_strings_only(self):
        text = '// resnet50\nif (name == "bert") f();\n"ptrain run configs/resnet50.yaml";\nmake_bert_embedding();\n'
        self.assertEqual(list(names_in(text)), [(2, "bert")])


if __name__ == "__main__":
    unittest.main()
