"""ptrain bisect: the commit with which a figure changed, in git repositories made here."""
import json
import os
import signal
import subprocess
import time
import unittest

from program import BINARY, ProgramTest, run

#: Prints the commit's level with deterministic noise by commit and repeat.
SPEED = """\
#!/bin/sh
seed=$(printf '%s %s' "$1" "$2" | cksum | cut -d ' ' -f 1)
awk -v seed="$seed" -v level="$(cat level)" 'BEGIN {
  x = seed % 2147483646 + 1
  for (i = 0; i < 14; i++) { x = (x * 16807) % 2147483647; if (i > 1) sum += x / 2147483647 }
  printf "speed %.5f images/s\\n", level * (1 + 0.01 * (sum - 6))
}'
"""
COMMAND = ["--command", "sh speed.sh {commit} {repeat}", "--metric", "([0-9.]+) images/s"]


class Repository(ProgramTest):
    def git(self, *arguments):
        result = subprocess.run(
            ["git", "-C", self.repository, "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments],
            capture_output=True, text=True, check=True)
        return result.stdout.strip()

    def setUp(self):
        super().setUp()
        self.repository = self.folder / "repository"
        self.repository.mkdir()
        self.git("init", "--quiet")
        (self.repository / "speed.sh").write_text(SPEED)

    def commit(self, subject, level, broken=False):
        (self.repository / "level").write_text(f"{level}\n")
        (self.repository / "build.sh").write_text("echo no compiler >&2; exit 3\n" if broken else "cp level built\n")
        (self.repository / "count").write_text(subject)
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def make(self, count=20, changed=13, level=97, broken=()):
        """Commits `c0` to `c<count>`; from `c<changed>` on they have another level."""
        return [self.commit(f"c{i}", level if i >= changed else 100, i in broken) for i in range(count + 1)]

    def bisect(self, good, bad, *arguments, command=None, build="sh build.sh", out="out"):
        return run("bisect", good, bad, *(COMMAND if command is None else command), "--build", build, "--out",
                   self.folder / out, *arguments, cwd=self.repository)

    def list_records(self):
        return sorted((self.folder / "out/runs").glob("*/*/record.json"))


class Bisect(Repository):
    def test_the_commit_is_found_and_said_in_a_sentence(self):
        hashes = self.make()
        result = self.bisect(hashes[0], "HEAD")
        self.assertEqual(result.returncode, 0, result.stderr)
        first = result.stdout.splitlines()[0]
        self.assertRegex(first, rf'throughput changed by -\d\.\d\d % \(-.* to -.*\) since {hashes[13][:10]} "c13": '
                                r"[\d.]+ % sure, after \d+ runs and \d+ builds of 20 commits")
        self.assertIn("built ", result.stderr)
        document = json.loads(self.bisect(hashes[0], "HEAD", "--json").stdout)  # of the runs kept
        self.assertEqual(document["schema"], "ptrain.bisect/1")
        self.assertEqual((document["state"], document["exit_code"]), ("found", 0))
        self.assertEqual([one["hash"] for one in document["suspects"]], [hashes[13]])
        self.assertLess(document["change"]["lower"], -2)
        self.assertLess(document["change"]["upper"], -1)
        self.assertEqual(document, json.loads((self.folder / "out/bisect.json").read_text()))
        self.assertEqual(document["runs"], len(self.list_records()))
        self.assertLess(document["builds"], 18)
        self.assertIn(hashes[0][:10], run("table", self.folder / "out").stdout)  # the folder is a benchmark's
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)

    def test_commits_that_do_not_build_or_run_are_skipped_and_give_a_range(self):
        hashes = self.make(count=12, changed=6, broken=(5, 6))
        result = self.bisect(hashes[0], hashes[12], "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual([one["subject"] for one in document["suspects"]], ["c5", "c6", "c7"])
        self.assertEqual({one["subject"] for one in document["skipped"]}, {"c5", "c6"})
        self.assertIn("exit code 3: no compiler", document["skipped"][0]["reason"])
        self.assertIn("cannot be told apart", self.bisect(hashes[0], hashes[12]).stdout)

    def test_ends_without_a_difference(self):
        hashes = self.make(level=100)
        result = self.bisect(hashes[0], "HEAD")
        self.assert_one_line_error(result, 5, "no commit was found")
        self.assertRegex(result.stdout, r"no difference between the ends: .*, within the threshold of [0-9.]+ %,")
        result = self.bisect(hashes[0], "HEAD", "--fresh", "--max-runs", "8")
        self.assertEqual(result.returncode, 5)
        self.assertIn("undecided", result.stdout)

    def test_memory_and_times_by_their_own_unit(self):
        hashes = self.make(count=6, changed=4, level=110)
        held = "python3 -c 'x = b\"x\" * (int(open(\"level\").read()) << 19)'"
        result = self.bisect(hashes[0], "HEAD", "--figure", "memory", "--json", command=["--command", held])
        document = json.loads(result.stdout)
        self.assertEqual([one["subject"] for one in document["suspects"]], ["c4"])
        self.assertEqual((document["response"], document["unit"]), ("memory", "MiB"))
        self.assertGreater(document["change"]["lower"], 3)

    def test_an_interrupted_search_continues_and_leaves_the_repository_alone(self):
        hashes = self.make()
        slow = ["--command", "sleep 0.05; sh speed.sh {commit} {repeat}", "--metric", "([0-9.]+) images/s"]
        whole = json.loads(self.bisect(hashes[0], "HEAD", "--json", command=slow, out="whole").stdout)
        arguments = [BINARY, "bisect", hashes[0], "HEAD", *slow, "--build", "sh build.sh", "--out",
                     str(self.folder / "out")]
        with subprocess.Popen(arguments, cwd=self.repository, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            deadline = time.monotonic() + 60
            while len(self.list_records()) not in range(5, whole["runs"]) and time.monotonic() < deadline:
                time.sleep(0.02)
            os.kill(process.pid, signal.SIGINT)
            _, errors = process.communicate()
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("the same command continues", errors)
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)
        kept = {path: path.stat().st_mtime_ns for path in self.list_records()}
        result = self.bisect(hashes[0], "HEAD", "--json", command=slow)
        self.assertIn("runs already done", result.stderr)
        self.assertEqual(json.loads(result.stdout), whole)
        self.assertEqual(kept, {path: path.stat().st_mtime_ns for path in kept})

    def test_another_search_in_the_folder_is_refused(self):
        hashes = self.make(level=50)
        self.assertEqual(self.bisect(hashes[0], "HEAD").returncode, 0)
        self.assert_one_line_error(self.bisect(hashes[0], "HEAD", build="true"), 2, "another search", "--fresh")
        self.assert_one_line_error(self.bisect(hashes[1], "HEAD"), 2, "another search")
        other = ["--command", "sh speed.sh", "--metric", "([0-9.]+) images/s"]
        self.assert_one_line_error(self.bisect(hashes[0], "HEAD", command=other), 2, "command was")

    def test_a_suite_gives_the_command_and_one_case(self):
        hashes = self.make(count=6, changed=4, level=80)
        suite = self.folder / "suite.yaml"
        suite.write_text("command: sh speed.sh {commit} {repeat} {kind}\nmetric: ([0-9.]+) images/s\n"
                         "axes: {kind: [a, b]}\n")
        self.assert_one_line_error(self.bisect(hashes[0], "HEAD", suite, command=[]), 2, "2 cases", "#kind=a")
        self.assert_one_line_error(self.bisect(hashes[0], "HEAD", f"{suite}#kind=c", command=[]), 2, "no case", "kind=")
        result = self.bisect(hashes[0], "HEAD", f"{suite}#kind=b", command=[])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('"c4"', result.stdout)

    def test_own_runs_of_the_built_program(self):
        hashes = self.make(count=2, changed=2)
        build = f"mkdir -p bin && printf '#!/bin/sh\\nexec {BINARY} \"$@\" -o train.test_delay_percent=%s\\n' " \
                "$(test $(cat level) = 97 && echo 300 || echo 0) > bin/ptrain && chmod +x bin/ptrain"
        suite = self.folder / "suite.yaml"
        suite.write_text("config: tiny.yaml\ncases: [{name: tiny}]\nset: {train.steps: 12, eval.every_epochs: 0}\nsteady: {required: false}\n")
        result = self.bisect(hashes[0], "HEAD", suite, "--program", "bin/ptrain", command=[], build=build)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f'{hashes[2][:10]} "c2"', result.stdout)


class Refusals(Repository):
    def test_what_cannot_be_searched_is_one_line(self):
        hashes = self.make(count=2)
        self.assert_one_line_error(self.bisect("nonsense", "HEAD"), 2, '"nonsense"', "no commit")
        self.assert_one_line_error(self.bisect("HEAD", hashes[0]), 2, "no ancestor", "older")
        self.assert_one_line_error(self.bisect("HEAD", hashes[2]), 2, "same commit")
        self.assert_one_line_error(self.bisect("--", "HEAD"), 2)
        self.assert_one_line_error(self.bisect(hashes[0], "HEAD", command=[]), 2, "a suite or --command")
        self.assert_one_line_error(self.bisect(hashes[0], "HEAD", "--figure", "speed"), 2, "--figure", "throughput")
        result = run("bisect", "a", "b", *COMMAND, cwd=self.folder, env={**os.environ, "GIT_CEILING_DIRECTORIES": "/"})
        self.assert_one_line_error(result, 2, "no git repository")
        self.assertFalse((self.folder / "out").exists())

    def test_ends_that_do_not_build_or_run(self):
        hashes = self.make(count=2)
        result = self.bisect(hashes[0], "HEAD", build="echo no compiler >&2; false")
        self.assert_one_line_error(result, 1, " end", "does not build: exit code 1: no compiler")
        result = self.bisect(hashes[0], "HEAD", "--fresh", command=["--command", "echo none", "--metric", "speed: (.*)"])
        self.assert_one_line_error(result, 1, " end", "metric", "is not in the output")
        result = self.bisect(hashes[0], "HEAD", "--fresh", "--figure", "accuracy")
        self.assert_one_line_error(result, 1, " end", "no accuracy")


if __name__ == "__main__":
    unittest.main()
