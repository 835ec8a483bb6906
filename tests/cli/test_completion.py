"""Completion scripts and the manual page say what --help says, in shells that really run them."""
import re
import shutil
import subprocess
import unittest

from program import BINARY, ProgramTest, run

# zsh completes only at a terminal: here its builtins say what they were called with.
ZSH = """
compdef() { : }
_describe() { local name=${@[-1]}; print -rl -- "${(@P)name%%:*}" }
_files() { print -r -- FILES }
compadd() { while [[ $1 == -* && $1 != -a ]]; do [[ $1 == -S ]] && shift; shift; done
  if [[ $1 == -a ]]; then print -rl -- "${(@P)2}"; else print -rl -- "$@"; fi }
source $1
words=("${(@)argv[2,-1]}") CURRENT=$#words PREFIX=$words[-1]
_ptrain
"""
BASH = """
compopt() { :; }
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _ptrain
printf '%s\\n' "${COMPREPLY[@]}"
"""


def get_help(*command):
    """What --help names, by reading it: commands and options."""
    text = run(*command, "--help").stdout
    commands = re.findall(r"^  ([a-z-]+) ", text.partition("Subcommands:\n")[2].partition("\n\n")[0], flags=re.M)
    options = re.findall(r"^  ((?:-\w,)?--[a-z-]+)", text, flags=re.M)
    return commands, {name for names in options for name in names.split(",")}


def every_command(above=()):
    for command in get_help(*above)[0]:
        yield (*above, command)
        yield from every_command((*above, command))


class Completion(ProgramTest):
    def script(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed (scripts/install_deps.sh --dev)")
        path = self.folder / f"ptrain.{shell}"
        path.write_text(run("completion", shell).stdout)
        return str(path)

    def run_shell(self, *command):
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return set(result.stdout.split("\n")) - {""}

    def bash(self, script, *words):
        return self.run_shell("bash", "--norc", "-c", BASH, "bash", script, "ptrain", *words)

    def zsh(self, script, *words):
        driver = self.folder / "driver.zsh"
        driver.write_text(ZSH)
        offered = self.run_shell("zsh", "-f", str(driver), script, "ptrain", *words)
        return {word for word in offered if word.startswith(words[-1]) or word == "FILES"}

    def fish(self, script, *words):
        line = " ".join(["ptrain", *words])
        lines = self.run_shell("fish", "--no-config", "-c", f"source {script}; complete --do-complete '{line}'")
        return {line.split("\t")[0] for line in lines}

    def check(self, shell):
        script, ask = self.script(shell), getattr(self, shell)
        self.assertLessEqual({"run", "bench", "completion"}, ask(script, ""))
        self.assertEqual(ask(script, "eff"), {"effects"})
        self.assertEqual(ask(script, "list", "m"), {"models"})
        self.assertEqual(ask(script, "run", "--device", ""), {"auto", "cpu", "cuda"})
        self.assertEqual(ask(script, "table", "--format", "m"), {"markdown"})
        self.assertEqual(ask(script, "run", "-o", "train.sch"),
                         {f"train.schedule.{key}=" for key in
                          ("name", "warmup_steps", "warmup_ratio", "milestones", "gamma", "end_lr", "power", "stable_ratio",
                           "decay_shape")})
        for command in every_command():
            options = get_help(*command)[1]
            self.assertIn("--help", options)
            self.assertEqual({word for word in ask(script, *command, "--") if word.startswith("--")},
                             {name for name in options if name.startswith("--")}, command)

    def test_bash_completes_what_help_names(self):
        self.check("bash")

    def test_zsh_completes_what_help_names(self):
        self.check("zsh")

    def test_fish_completes_what_help_names(self):
        self.check("fish")

    def test_an_unknown_shell_is_an_error(self):
        self.assert_one_line_error(run("completion", "tcsh"), 2, "tcsh")


class ManualPage(ProgramTest):
    def test_it_has_every_command_option_and_key_and_no_warning(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed (scripts/install_deps.sh --dev)")
        page = self.folder / "ptrain.1"
        page.write_text(run("man").stdout)
        result = subprocess.run(["man", "--warnings", "-Tutf8", "-l", page], capture_output=True, text=True, timeout=60,
                                env={"MANWIDTH": "200", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        text = re.sub(r".\x08|\x1b\[[0-9;]*m", "", result.stdout)
        for command in every_command():
            section = text.partition(f"\n   ptrain {' '.join(command)}")[2].partition("\n   ptrain ")[0]
            self.assertTrue(section, command)
            for option in get_help(*command)[1] - {"-h", "--help"}:
                self.assertIn(option, section, command)
        for key in re.findall(r"^([a-z][\w.]*)\n", run("list", "keys").stdout, flags=re.M):
            self.assertIn(f"\n       {key}", text)


if __name__ == "__main__":
    unittest.main()
