// What a command tells while it works and when it is done.
#pragma once

#include "core/report/progress.h"

#include <CLI/CLI.hpp>

#include <string>

namespace ptrain {

enum class Verbosity { quiet, normal, verbose };

/// --log jsonl.
void add_log_option(CLI::App& command, std::string& log);

/// The options --progress, -q, -v and --log, which the commands that train share. Must live as long as the command that
/// it was added to.
class ConsoleOptions {
 public:
  void add_to(CLI::App& command);

  /// None for quiet. Throws Error{usage} for an unknown style.
  ProgressStyle progress() const;
  Verbosity verbosity() const;
  /// One JSON line per event on standard output, in place of the summary.
  bool events() const { return !log_.empty(); }

 private:
  std::string progress_ = "auto";
  std::string log_;
  bool quiet_ = false, verbose_ = false;
};

}  // namespace ptrain
