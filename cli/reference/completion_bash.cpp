#include "cli/reference/completion.h"
#include "core/config/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptrain {
namespace {

constexpr const char* bash_find = R"(# bash completion of ptrain; made by: ptrain completion bash
_ptrain() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' word words=''
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
)";

constexpr const char* bash_offer = R"(  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o bashdefault -o default -F _ptrain ptrain
)";

/// Completes an option's value, then returns: no other word can follow. A value without choices is completed by files.
std::string format_bash_values(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.options) {
    if (option.value.empty()) continue;
    text += fmt::format("        {}) ", fmt::join(option.names, "|"));
    if (option.value == key_value) {
      text += "compopt -o nospace; words=$keys ;;\n";
    } else if (option.choices.empty()) {
      text += "return ;;\n";
    } else {
      text += fmt::format("words='{}' ;;\n", fmt::join(option.choices, " "));
    }
  }
  return text;
}

std::string format_bash_words(const CommandDescription& command) {
  std::vector<std::string> words;
  for (const CommandDescription& below : command.commands) words.push_back(below.name);
  std::string text = fmt::format("        *) words='{}' ;;\n", fmt::join(words, " "));
  if (!command.arguments.empty() && !words.empty()) {  // files, unless a command's name has been started
    text = fmt::format("        *) [[ -z $current ]] || words='{}' ;;\n", fmt::join(words, " "));
  }
  return text;
}

std::string format_bash_case(const CommandDescription& command) {
  std::vector<std::string> options;
  for (const OptionDescription& option : command.options) {
    options.insert(options.end(), option.names.begin(), option.names.end());
  }
  return fmt::format(
      "    '{}')\n      case \"$previous\" in\n{}        *) case \"$current\" in\n        -*) words='{}' ;;\n{}        "
      "esac ;;\n"
      "      esac\n      ;;\n",
      command.path, format_bash_values(command), fmt::join(options, " "), format_bash_words(command));
}

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string first_line(const std::string& help) { return help.substr(0, help.find('\n')); }

std::vector<std::string> key_assignments() {
  std::vector<std::string> words;
  for (const Key& key : config_keys()) words.push_back(key.name + "=");
  return words;
}

std::string bash_completion(const CommandDescription& program) {
  std::string text = bash_find;
  std::string cases;
  text += "    case \"$command $word\" in\n";
  for (const CommandDescription* command : all_commands(program)) {
    cases += format_bash_case(*command);
    for (const CommandDescription& below : command->commands) {
      text += fmt::format("      '{} {}') command='{}' ;;\n", command->path, below.name, below.path);
    }
  }
  text += fmt::format("    esac\n  done\n  local keys='{}'\n", fmt::join(key_assignments(), " "));
  return text + "  case \"$command\" in\n" + cases + bash_offer;
}

}  // namespace ptrain
