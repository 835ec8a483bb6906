// The program's commands and options as shown by --help, as input for completions and the manual page.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace ptrain {

/// The value name of options that take a configuration key: -o KEY=VALUE.
inline constexpr const char* key_value = "KEY=VALUE";

/// Adds an earlier name of an option, hidden from --help, completions and the manual page.
inline void add_hidden_option(CLI::App& command, const char* name, std::string& value) {
  command.add_option(name, value)->group("");
}

struct OptionDescription {
  std::vector<std::string> names;    // "-o", "--set"; for an argument its name only, "CONFIG"
  std::string value;                 // "DIR", "auto|cpu|cuda"; empty for a flag
  std::vector<std::string> choices;  // choices of a value such as "auto|cpu|cuda"
  std::string help;
  bool required = false;
};

struct CommandDescription {
  std::string path;  // "bench comm"; empty for the program itself
  std::string name;  // "comm"
  std::string help;
  std::string footer;
  std::vector<OptionDescription> options;
  std::vector<OptionDescription> arguments;
  std::vector<CommandDescription> commands;
};

/// Converts CLI11's description of `program` and its commands, without hidden options.
CommandDescription describe_program(const CLI::App& program);

/// `program` and every command below it, in --help's order.
std::vector<const CommandDescription*> all_commands(const CommandDescription& program);

}  // namespace ptrain
