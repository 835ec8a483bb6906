#include "cli/reference/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptrain {
namespace {

constexpr const char* fish_find = R"(# fish completion of ptrain; made by: ptrain completion fish
function __ptrain_at --description 'whether the command line is at this command of ptrain'
    set --local command ''
    for word in (commandline --tokenize --current-process --cut-at-cursor)[2..]
        switch "$command $word"
)";

/// Quotes `text` as one single-quoted word of fish, with escapes \\ and \' only.
std::string quote_fish(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return quoted + "'";
}

std::string format_fish_option(const std::string& start, const OptionDescription& option) {
  std::string line = start;
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " --long-option " + name.substr(2) : " --short-option " + name.substr(1);
  }
  if (option.value == key_value) {
    line += " --exclusive --arguments '(__ptrain_keys)'";
  } else if (!option.choices.empty()) {
    line += fmt::format(" --exclusive --arguments {}", quote_fish(fmt::format("{}", fmt::join(option.choices, " "))));
  } else if (!option.value.empty()) {
    line += " --require-parameter --force-files";
  }
  return line + " --description " + quote_fish(first_line(option.help)) + "\n";
}

std::string format_fish_lines(const CommandDescription& command) {
  const std::string start =
      fmt::format("complete --command ptrain --condition {}", quote_fish("__ptrain_at \"" + command.path + "\""));
  std::string text;
  if (command.arguments.empty()) text += start + " --no-files\n";
  for (const CommandDescription& below : command.commands) {
    text += fmt::format("{} --arguments {} --description {}\n", start, below.name, quote_fish(first_line(below.help)));
  }
  for (const OptionDescription& option : command.options) text += format_fish_option(start, option);
  return text;
}

}  // namespace

std::string fish_completion(const CommandDescription& program) {
  std::string text = fish_find;
  std::string lines;
  for (const CommandDescription* command : all_commands(program)) {
    lines += format_fish_lines(*command);
    for (const CommandDescription& below : command->commands) {
      text += fmt::format("            case '{} {}'\n                set command '{}'\n", command->path, below.name,
                          below.path);
    }
  }
  text += "        end\n    end\n    test \"$command\" = \"$argv[1]\"\nend\n";
  text += fmt::format("function __ptrain_keys\n    printf '%s\\n' {}\nend\n", fmt::join(key_assignments(), " "));
  return text + lines;
}

}  // namespace ptrain
