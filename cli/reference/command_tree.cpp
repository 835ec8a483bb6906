#include "cli/reference/command_tree.h"

namespace ptrain {
namespace {

OptionDescription describe_option(const CLI::Option& option) {
  OptionDescription result;
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  if (option.get_positional()) result.names = {option.get_name(true)};
  if (option.get_items_expected_max() > 0 && !option.get_positional()) {
    result.value = option.get_option_text().empty() ? option.get_type_name() : option.get_option_text();
  }
  if (result.value.find('|') != std::string::npos) result.choices = CLI::detail::split(result.value, '|');
  result.help = option.get_description();
  result.required = option.get_required();
  return result;
}

CommandDescription describe_command(const CLI::App& command, const std::string& above) {
  CommandDescription result;
  result.name = command.get_name();
  result.path = above.empty() ? result.name : above + " " + result.name;
  if (command.get_parent() == nullptr) result.path.clear();
  result.help = command.get_description();
  result.footer = command.get_footer();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // add_hidden_option
    (option->get_positional() ? result.arguments : result.options).push_back(describe_option(*option));
  }
  for (const CLI::App* below : command.get_subcommands(std::function<bool(const CLI::App*)>{})) {
    result.commands.push_back(describe_command(*below, result.path));
  }
  return result;
}

void append(const CommandDescription& command, std::vector<const CommandDescription*>& list) {
  list.push_back(&command);
  for (const CommandDescription& below : command.commands) append(below, list);
}

}  // namespace

CommandDescription describe_program(const CLI::App& program) { return describe_command(program, ""); }

std::vector<const CommandDescription*> all_commands(const CommandDescription& program) {
  std::vector<const CommandDescription*> list;
  append(program, list);
  return list;
}

}  // namespace ptrain
