#include "cli/reference/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptrain {
namespace {

constexpr const char* zsh_find = R"(#compdef ptrain
# zsh completion of ptrain; made by: ptrain completion zsh
_ptrain() {
  local command='' word
  local -a commands options
  for word in "${(@)words[2,CURRENT-1]}"; do
    case "$command $word" in
)";

constexpr const char* zsh_offer = R"(  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option options
    return
  fi
  if ((${#commands})); then _describe command commands; fi
  if ((${#commands} == 0 || files)); then _files; fi
}
if [[ $funcstack[1] == _ptrain ]]; then _ptrain "$@"; else compdef _ptrain ptrain; fi
)";

std::string format_zsh_entry(const std::string& name, const std::string& help) {
  return shell_quoted(name + ":" + first_line(help));
}

std::string format_zsh_values(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.options) {
    if (option.value.empty()) continue;
    text += fmt::format("        {}) ", fmt::join(option.names, "|"));
    if (option.value == key_value) {
      text += "compadd -S '' -a keys; return ;;\n";
    } else if (option.choices.empty()) {
      text += "_files; return ;;\n";
    } else {
      text += fmt::format("compadd -- {}; return ;;\n", fmt::join(option.choices, " "));
    }
  }
  return text;
}

std::string format_zsh_case(const CommandDescription& command) {
  std::vector<std::string> options, commands;
  for (const OptionDescription& option : command.options) {
    for (const std::string& name : option.names) options.push_back(format_zsh_entry(name, option.help));
  }
  for (const CommandDescription& below : command.commands) commands.push_back(format_zsh_entry(below.name, below.help));
  return fmt::format(
      "    '{}')\n      case \"$words[CURRENT-1]\" in\n{}      esac\n      commands=({})\n      options=({})\n"
      "      files={}\n      ;;\n",
      command.path, format_zsh_values(command), fmt::join(commands, " "), fmt::join(options, "\n        "),
      command.arguments.empty() ? 0 : 1);
}

}  // namespace

std::string zsh_completion(const CommandDescription& program) {
  std::string text = zsh_find;
  std::string cases;
  for (const CommandDescription* command : all_commands(program)) {
    cases += format_zsh_case(*command);
    for (const CommandDescription& below : command->commands) {
      text += fmt::format("      '{} {}') command='{}' ;;\n", command->path, below.name, below.path);
    }
  }
  text += fmt::format("    esac\n  done\n  local -a keys=({})\n  local files=0\n", fmt::join(key_assignments(), " "));
  return text + "  case \"$command\" in\n" + cases + zsh_offer;
}

}  // namespace ptrain
