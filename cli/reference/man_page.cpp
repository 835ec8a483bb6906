#include "cli/reference/man_page.h"

#include "cli/program_catalogs.h"

#include <fmt/format.h>

#include <string_view>

namespace ptrain {
namespace {

/// Escapes text for roff: backslashes, dots at the start of a line, and hyphens, so that they can be copied.
std::string escape_roff(std::string_view text) {
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

std::string format_bold(const std::string& text) { return "\\fB" + escape_roff(text) + "\\fR"; }
std::string format_italic(const std::string& text) { return "\\fI" + escape_roff(text) + "\\fR"; }

/// A tagged paragraph; line breaks of `help` are kept.
std::string format_tagged(const std::string& tag, std::string_view help) {
  std::string text = escape_roff(help);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 5) text.replace(at, 1, "\n.br\n");
  return fmt::format(".TP\n{}\n{}\n", tag, text);
}

std::string format_tag(const OptionDescription& option) {
  std::string tag;
  for (const std::string& name : option.names) tag += (tag.empty() ? "" : ", ") + format_bold(name);
  return option.value.empty() ? tag : tag + " " + format_italic(option.value);
}

std::string format_synopsis(const CommandDescription& command) {
  std::string line = format_bold(command.path.empty() ? "ptrain" : "ptrain " + command.path);
  if (command.options.size() > 1) line += " [" + format_italic("options") + "]";
  for (const OptionDescription& argument : command.arguments) {
    const std::string name = format_italic(argument.names.front());
    line += argument.required ? " " + name : " [" + name + "]";
  }
  if (!command.commands.empty()) line += command.arguments.empty() ? " " + format_italic("command") : "";
  return line + "\n";
}

std::string format_verbatim(const std::string& text) { return ".PP\n.nf\n" + escape_roff(text) + "\n.fi\n"; }

std::string format_section(const CommandDescription& command) {
  std::string text = fmt::format(".SS {}{}\n", format_synopsis(command), escape_roff(command.help));
  for (const OptionDescription& argument : command.arguments)
    text += format_tagged(format_tag(argument), argument.help);
  for (const OptionDescription& option : command.options) {
    if (option.names.back() != "--help")
      text += format_tagged(format_tag(option), option.help);  // which every command has
  }
  return command.footer.empty() ? text : text + format_verbatim(command.footer);
}

std::string format_keys() {
  std::string text = ".SH CONFIGURATION KEYS\nIn the YAML file, or as \\fB\\-o\\fR \\fIkey\\fR=\\fIvalue\\fR.\n";
  for (const Key& key : catalogs().keys()) {
    const std::string fallback = key.required ? "required" : "default " + default_value(key).dump();
    text += format_tagged(format_bold(key.name), fmt::format("{}\n{}; {}", key.help, describe(key), fallback));
  }
  return text;
}

std::string format_environment() {
  std::string text = ".SH ENVIRONMENT\n";
  for (const Key& key : catalogs().keys()) {
    if (!key.environment.empty()) text += format_tagged(format_bold(key.environment), "sets " + key.name);
  }
  return text;
}

}  // namespace

std::string man_page(const CommandDescription& program, const std::string& version) {
  std::string text = fmt::format(".TH PTRAIN 1 \"\" \"ptrain {}\" \"User Commands\"\n.ad l\n.SH NAME\nptrain \\- {}\n",
                                 version, escape_roff(program.help.substr(0, program.help.find_last_not_of('.') + 1)));
  text += ".SH SYNOPSIS\n";
  for (const CommandDescription* command : all_commands(program)) {
    if (command->commands.empty() || !command->arguments.empty()) text += format_synopsis(*command) + ".br\n";
  }
  text += ".SH OPTIONS\n";
  for (const OptionDescription& option : program.options) text += format_tagged(format_tag(option), option.help);
  text += ".SH COMMANDS\n";
  for (const CommandDescription* command : all_commands(program)) {
    if (!command->path.empty()) text += format_section(*command);
  }
  text += format_keys() + format_environment();
  return text + ".SH EXIT STATUS AND AN EXAMPLE\n" + format_verbatim(program.footer);
}

}  // namespace ptrain
