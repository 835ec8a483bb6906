"""What the environment of a run holds (OpenMP's variables) never changes what it computes."""
import os
import unittest

from program import ProgramTest


class Threads(ProgramTest):
    def losses_with(self, name, *arguments, **environment):
        result = self.train(name, "-o", "train.steps=12", *arguments, env={**os.environ, **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.losses(name)

    def test_a_limit_of_threads_is_honoured_and_said(self):
        expected = self.losses_with("one", "-o", "threads=1")
        for variable in ("OMP_THREAD_LIMIT", "OMP_MAX_ACTIVE_LEVELS"):
            with self.subTest(variable):
                limited = self.losses_with(variable, "-o", "threads=2",
                                           **{variable: "1" if variable == "OMP_THREAD_LIMIT" else "0"})
                self.assertEqual(limited, expected)
                self.assertIn("threads: 1 instead of 2", "".join(self.report(variable)["notes"]))
                self.assertEqual(self.report(variable)["environment"]["threads"], 1)

    def test_ranks_keep_to_the_limit_too(self):
        expected = self.losses_with("one", "-o", "threads=2", "-o", "dist.ranks=2")
        limited = self.losses_with("limited", "-o", "threads=4", "-o", "dist.ranks=2", OMP_THREAD_LIMIT="1")
        self.assertEqual(limited, expected)

    def test_teams_are_not_dynamic(self):
        expected = self.losses_with("plain", "-o", "threads=2")
        self.assertEqual(self.losses_with("dynamic", "-o", "threads=2", OMP_DYNAMIC="true"), expected)


if __name__ == "__main__":
    unittest.main()
