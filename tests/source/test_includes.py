"""Dependencies point one way: a folder includes only what its library links, and CUDA is known to few."""
import re
import unittest

import tree

MAY_KNOW_CUDA = ("core/cuda/", "core/comm/")


def cmake_lists():
    paths = tree.files(tree.PRODUCT, ("CMakeLists.txt",))
    return {path.rpartition("/")[0]: tree.read(path) for path in paths if path != "core/CMakeLists.txt"}


def get_folder(path, folders):
    """The library's folder that contains `path`, or None."""
    return next((folder for folder in folders if path.startswith(folder + "/")), None)


class Includes(unittest.TestCase):
    def test_every_include_is_of_a_folder_that_is_linked(self):
        graph = tree.link_graph(cmake_lists())
        offences = []
        for path in tree.files(tree.PRODUCT):
            allowed = tree.reachable(graph, get_folder(path, graph))
            for line, included in tree.includes(tree.read(path)):
                folder = get_folder(included, graph)
                if folder not in allowed:
                    offences.append(f"{path}:{line}: {included}: its folder does not link {folder or 'that'}")
        self.assertEqual(offences, [])

    def test_the_link_graph_has_no_circle(self):
        graph = tree.link_graph(cmake_lists())
        self.assertGreater(len(graph), 10)  # it was read
        for folder, linked in graph.items():
            for other in linked:
                self.assertNotIn(folder, tree.reachable(graph, other), f"{folder} and {other} need each other")

    def test_the_table_of_folders_says_what_is_linked(self):
        graph = tree.link_graph(cmake_lists())
        linked = {folder: tree.reachable(graph, folder) for folder in graph if folder.startswith("core/")}
        rows = re.findall(r"^\| (`.*`) \|.*\|(.*)\|$", tree.read("core/README.md"), re.M)
        table = {"models": graph["models"]}
        for names, links in rows:
            for name in re.findall(r"`(\w+)`", names):
                words = re.findall(r"\w+", links)
                table["core/" + name] = {word if word == "models" else "core/" + word for word in words}
        self.assertEqual(sorted(table), sorted([*linked, "models"]), "core/README.md: a row per folder")
        for folder, expected in linked.items():
            self.assertEqual(tree.reachable(table, folder), expected, f"core/README.md: what {folder} links")

    def test_only_cuda_and_dist_know_whether_cuda_was_built_in(self):
        offences = [path for path in tree.files(tree.PRODUCT, tree.CODE + ("CMakeLists.txt",))
                    if "PTRAIN_CUDA" in tree.read(path) and not path.startswith(MAY_KNOW_CUDA)]
        self.assertEqual(offences, [])


if __name__ == "__main__":
    unittest.main()
