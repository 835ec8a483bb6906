// Options shared by run, eval, estimate and validate: a configuration file and its overrides.
#pragma once

#include "cli/view/console_options.h"
#include "core/yaml/load.h"

#include <CLI/CLI.hpp>

#include <array>
#include <string>
#include <vector>

namespace ptrain {

/// Must live as long as the command it was added to.
class ConfigOptions {
 public:
  /// Adds CONFIG, -o/--set and the shortcuts: --device, --amp, --report, --out, --resume, --seed.
  void add_to(CLI::App& command);
  /// Adds the options of commands that write into a folder: --fresh, and those of progress output.
  void add_output_to(CLI::App& command);

  /// Lets --device name a device that the key does not accept; unavailable_device() then returns it, and load() ignores
  /// it.
  void allow_unavailable_devices() { allows_unavailable_devices_ = true; }
  /// Empty unless one was given.
  std::string unavailable_device() const;

  /// The resolved configuration; a shortcut wins over -o. Throws Error{usage}.
  LoadedConfig load() const;
  /// The file, found like load() does, and what overrides its keys.
  std::string file() const;
  std::vector<Override> overrides() const;
  const ConsoleOptions& console() const { return console_; }

 private:
  std::string file_;
  std::vector<std::string> assignments_;
  std::array<std::string, 6> short_values_;  // in the order of the shortcuts
  std::array<CLI::Option*, 6> short_options_{};
  bool fresh_ = false;
  ConsoleOptions console_;
  bool allows_unavailable_devices_ = false;
};

/// Prints each note of `loaded` to standard error, after "note: ", and where to get the weights it names.
void print_notes(const LoadedConfig& loaded);

}  // namespace ptrain
