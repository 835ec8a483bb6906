"""The source tree as its tests read it: files, includes, CMake's link graph."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRODUCT = ("core", "models", "cli")
CODE = (".h", ".cpp", ".cuh", ".cu")


def files(folders, endings=CODE):
    """Paths, from the root, of the files below `folders` that end so."""
    for folder in folders:
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(place, name), ROOT)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def includes(text):
    """What `text` includes by a path of this project: (line, path) pairs."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+"([^"]+/[^"]+)"', line)
        if found:
            yield number, found[1]


def link_graph(lists):
    """{folder: folders it links, directly} from {folder: text of its CMakeLists.txt}.

    A library is declared by ptrain_library(NAME deps...), or by add_library or add_executable and target_link_libraries.
    """
    declared = {}  # library -> folder
    links = {}  # folder -> names linked
    for folder, text in lists.items():
        text = re.sub(r"#.*", "", text)
        for command, arguments in re.findall(r"(\w+)\(([^()]*)\)", text):
            words = arguments.split()
            if command == "ptrain_library":
                declared["ptrain_" + words[0]] = folder
                links.setdefault(folder, set()).update(words[1:])
            elif command in ("add_library", "add_executable"):
                declared[words[0]] = folder
                links.setdefault(folder, set())
            elif command == "target_link_libraries":
                links.setdefault(folder, set()).update(words[1:])
    return {folder: {declared[name] for name in names if name in declared} - {folder} for folder, names in links.items()}


def reachable(graph, start):
    """`start` and every folder that it links, through others too."""
    seen, waiting = set(), [start]
    while waiting:
        folder = waiting.pop()
        if folder not in seen:
            seen.add(folder)
            waiting.extend(graph[folder])
    return seen
