// ptrain completion: prints a script that completes ptrain's command line in a shell.
#include "cli/reference/completion.h"
#include "cli/commands.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptrain {
namespace {

struct Shell {
  const char* name;
  const char* help;
  std::string (*script)(const CommandDescription&);
};

constexpr Shell all_shells[] = {
    {"bash", "for share/bash-completion/completions/ptrain, or to source", bash_completion},
    {"zsh", "for a file _ptrain in a folder of $fpath, or to source", zsh_completion},
    {"fish", "for ~/.config/fish/completions/ptrain.fish", fish_completion},
};

}  // namespace

void add_completion_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("completion", "print the completion script of a shell");
  command->require_subcommand(1);
  command->footer("Example:\n  source <(ptrain completion bash)");
  for (const Shell& shell : all_shells) {
    command->add_subcommand(shell.name, shell.help)->callback([&program, script = shell.script] {
      fmt::print("{}", script(describe_program(program)));
    });
  }
}

}  // namespace ptrain
