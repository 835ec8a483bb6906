"""Metrics are named in core/tasks alone: reports, gates, tables and pages read them by their place, kind and direction."""
import re
import unittest

import tree

METRIC = re.compile(r"\b(?:top1|top5|macro_f1|f1|mcc|auc|majority|pearson|spearman|perplexity)\b")  # mse is a method of quantize too
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
TASKS = "core/tasks/"
EXCEPTIONS = {
    "core/report/version_1.cpp": "documents of version 1 had these names as fields",
    "core/analysis/run_record.cpp": "so had records of version 1",
    "core/report/evaluation_figures.h": "a class has an F1 of its own, beside precision and recall",
    "core/analysis/html/run_page.cpp": "which a page shows",
    "core/config/model_catalog.h": "what others published of a model",
    "cli/model_list.cpp": "the same, as it is listed",
}


def names_in(text):
    """(line, word) of every metric named in code and strings; comments may."""
    code = COMMENT_OR_STRING.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)
    for number, line in enumerate(code.splitlines(), 1):
        for word in METRIC.findall(line):
            yield number, word


class MetricNames(unittest.TestCase):
    def test_core_and_cli_name_no_metric_outside_tasks(self):
        offences = [
            f"{path}:{line}: {word}"
            for path in tree.files(("core", "cli"))
            if not path.startswith(TASKS) and path not in EXCEPTIONS
            for line, word in names_in(tree.read(path))
        ]
        self.assertEqual(offences, [])

    def test_every_exception_is_one(self):
        for path in EXCEPTIONS:
            self.assertTrue(list(names_in(tree.read(path))), f"{path} names no metric: strike it from the list")

    def test_a_name_is_found_in_code_and_strings_only(self):
        text = '// top1\nif (name == "top1") f();\n"a top10 list";\nmetrics.auc();\n'
        self.assertEqual(list(names_in(text)), [(2, "top1"), (4, "auc")])


if __name__ == "__main__":
    unittest.main()
