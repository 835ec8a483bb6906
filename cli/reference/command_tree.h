// The program's commands and options as --help knows them, in a form that completions and the manual page are made of.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace ptrain {

/// The name that an option's value has where it takes a configuration key: -o KEY=VALUE.
inline constexpr const char* key_value = "KEY=VALUE";

/// An earlier name of an option, which --help, completions and the manual page leave out.
inline void add_hidden_option(CLI::App& command, const char* name, std::string& value) {
  command.add_option(name, value)->group("");
}

struct OptionDescription {
  std::vector<std::string> names;    // "-o", "--set"; of an argument its name alone, "CONFIG"
  std::string value;                 // "DIR", "auto|cpu|cuda"; empty for a flag
  std::vector<std::string> choices;  // what a value of the form "auto|cpu|cuda" may be
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

/// What CLI11 knows of `program` and its commands, hidden options left out.
CommandDescription describe_program(const CLI::App& program);

/// `program` and every command below it, in --help's order.
std::vector<const CommandDescription*> all_commands(const CommandDescription& program);

}  // namespace ptrain
