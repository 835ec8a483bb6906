// Options for console output during and after a command.
#pragma once

#include "core/report/progress.h"

#include <CLI/CLI.hpp>

#include <string>

namespace ptrain {

enum class Verbosity { quiet, normal, verbose };

/// Adds --log jsonl.
void add_log_option(CLI::App& command, std::string& log);

/// The options --progress, -q, -v and --log of commands that train. Must live as long as the command it was added to.
class ConsoleOptions {
 public:
  void add_to(CLI::App& command);

  /// None if quiet. Throws Error{usage} for an unknown style.
  ProgressStyle progress() const;
  Verbosity verbosity() const;
  /// One JSON line per event on standard output, instead of the summary.
  bool events() const { return !log_.empty(); }

 private:
  std::string progress_ = "auto";
  std::string log_;
  bool quiet_ = false, verbose_ = false;
};

}  // namespace ptrain
