// The options that run, eval, plan and validate share: a configuration file and what overrides it.
#pragma once

#include "cli/view/console_options.h"
#include "core/yaml/load.h"

#include <CLI/CLI.hpp>

#include <array>
#include <string>
#include <vector>

namespace ptrain {

/// Must live as long as the command that it was added to.
class ConfigOptions {
 public:
  /// Adds CONFIG, -o/--set and the short ways: --device, --amp, --report, --out, --resume, --seed.
  void add_to(CLI::App& command);
  /// Adds what a command has that writes into a folder: --fresh, and what it tells of its progress.
  void add_output_to(CLI::App& command);

  /// Lets --device name a device that is no choice of the key; other_device() then has it, and load() leaves the key.
  void take_other_devices() { takes_other_devices_ = true; }
  /// Empty unless one was named.
  std::string other_device() const;

  /// The resolved configuration; a short way wins over -o. Throws Error{usage}.
  LoadedConfig load() const;
  const ConsoleOptions& console() const { return console_; }

 private:
  std::string file_;
  std::vector<std::string> assignments_;
  std::array<std::string, 6> short_values_;  // in the order of the short ways
  std::array<CLI::Option*, 6> short_options_{};
  bool fresh_ = false;
  ConsoleOptions console_;
  bool takes_other_devices_ = false;
};

/// Prints each note of `loaded` to standard error, after "note: ", and where weights that it names are to be had.
void print_notes(const LoadedConfig& loaded);

}  // namespace ptrain
