"""Metrics and tasks are named in core/tasks alone: reports, gates, tables and pages read metrics by their place, kind and
direction, and what acts on a task asks it."""
import re
import unittest

import tree

METRIC = re.compile(r"\b(?:top1|top5|macro_f1|f1|mcc|auc|majority|pearson|spearman|perplexity)\b")  # mse is a method of quantize too
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
TASKS = "core/tasks/"
TASK_EXCEPTIONS = {
    "core/serve/model_service.cpp": "an extension of Triton's protocol is called so",
    "core/config/config.h": "the task of a model that serves several, until another is asked for",
    "core/data/boxes/coco_json.cpp": "COCO's key of masks is called so",
    "core/report/report.cpp": "the report's section of answers class by class is called so",
    "core/analysis/history/history.h": "a change for the worse is called so, too",
}
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

    def test_core_and_cli_name_no_task_outside_tasks(self):
        tasks = {path.split("/")[2] for path in tree.files((TASKS.rstrip("/"),)) if path.count("/") == 3}
        self.assertLessEqual({"classification", "regression", "segmentation"}, tasks)
        named = re.compile('"(?:%s)"|"core/tasks/(?:%s)/' % ("|".join(tasks), "|".join(tasks)))
        offences = [f"{path}: {found}" for path in tree.files(("core", "cli")) if not path.startswith(TASKS)
                    for found in named.findall(tree.read(path)) if path not in TASK_EXCEPTIONS]
        self.assertEqual(offences, [])
        for path in TASK_EXCEPTIONS:
            self.assertTrue(named.search(tree.read(path)), f"{path} names no task: strike it from the list")

    def test_every_exception_is_one(self):
        for path in EXCEPTIONS:
            self.assertTrue(list(names_in(tree.read(path))), f"{path} names no metric: strike it from the list")

    def test_a_name_is_found_in_code_and_strings_only(self):
        text = '// top1\nif (name == "top1") f();\n"a top10 list";\nmetrics.auc();\n'
        self.assertEqual(list(names_in(text)), [(2, "top1"), (4, "auc")])


if __name__ == "__main__":
    unittest.main()
