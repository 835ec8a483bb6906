#include "cli/reference/man_page.h"

#include "cli/program_catalogs.h"

#include <fmt/format.h>

#include <string_view>

namespace ptrain {
namespace {

/// Escapes text for roff: backslashes, dots at the start of a line, and hyphens, so that they can be copied.
std::string roff(std::string_view text) {
  std::string result;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) result += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '|') {
      result += "|\\:";  // allow a line break within a list of choices
    } else {
      result += c;
    }
  }
  return result;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

/// A tagged paragraph; line breaks of `help` are kept.
std::string tagged(const std::string& tag, std::string_view help) {
  std::string text = roff(help);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 5) text.replace(at, 1, "\n.br\n");
  return fmt::format(".TP\n{}\n{}\n", tag, text);
}

std::string format_tag(const OptionDescription& option) {
  std::string tag;
  for (const std::string& name : option.names) tag += (tag.empty() ? "" : ", ") + bold(name);
  return option.value.empty() ? tag : tag + " " + italic(option.value);
}

std::string format_synopsis(const CommandDescription& command) {
  std::string line = bold(command.path.empty() ? "ptrain" : "ptrain " + command.path);
  if (command.options.size() > 1) line += " [" + italic("options") + "]";
  for (const OptionDescription& argument : command.arguments) {
    const std::string name = italic(argument.names.front());
    line += argument.required ? " " + name : " [" + name + "]";
  }
  if (!command.commands.empty()) line += command.arguments.empty() ? " " + italic("command") : "";
  return line + "\n";
}

std::string as_it_stands(const std::string& text) { return ".PP\n.nf\n" + roff(text) + "\n.fi\n"; }

std::string format_section(const CommandDescription& command) {
  std::string text = fmt::format(".SS {}{}\n", format_synopsis(command), roff(command.help));
  for (const OptionDescription& argument : command.arguments) text += tagged(format_tag(argument), argument.help);
  for (const OptionDescription& option : command.options) {
    if (option.names.back() != "--help") text += tagged(format_tag(option), option.help);  // which every command has
  }
  return command.footer.empty() ? text : text + as_it_stands(command.footer);
}

std::string keys_section() {
  std::string text = ".SH CONFIGURATION KEYS\nIn the YAML file, or as \\fB\\-o\\fR \\fIkey\\fR=\\fIvalue\\fR.\n";
  for (const Key& key : catalogs().keys()) {
    const std::string fallback = key.required ? "required" : "default " + default_value(key).dump();
    text += tagged(bold(key.name), fmt::format("{}\n{}; {}", key.help, describe(key), fallback));
  }
  return text;
}

std::string environment_section() {
  std::string text = ".SH ENVIRONMENT\n";
  for (const Key& key : catalogs().keys()) {
    if (!key.environment.empty()) text += tagged(bold(key.environment), "sets " + key.name);
  }
  return text;
}

}  // namespace

std::string man_page(const CommandDescription& program, const std::string& version) {
  std::string text = fmt::format(".TH PTRAIN 1 \"\" \"ptrain {}\" \"User Commands\"\n.ad l\n.SH NAME\nptrain \\- {}\n",
                                 version, roff(program.help.substr(0, program.help.find_last_not_of('.') + 1)));
  text += ".SH SYNOPSIS\n";
  for (const CommandDescription* command : all_commands(program)) {
    if (command->commands.empty() || !command->arguments.empty()) text += format_synopsis(*command) + ".br\n";
  }
  text += ".SH OPTIONS\n";
  for (const OptionDescription& option : program.options) text += tagged(format_tag(option), option.help);
  text += ".SH COMMANDS\n";
  for (const CommandDescription* command : all_commands(program)) {
    if (!command->path.empty()) text += format_section(*command);
  }
  text += keys_section() + environment_section();
  return text + ".SH EXIT STATUS AND AN EXAMPLE\n" + as_it_stands(program.footer);
}

}  // namespace ptrain
