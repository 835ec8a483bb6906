#include "cli/view/console_options.h"

namespace ptrain {

void add_log_option(CLI::App& command, std::string& log) {
  command.add_option("--log", log, "jsonl: one JSON line per event on standard output, instead of text")
      ->check(CLI::IsMember({"jsonl"}))
      ->type_name("jsonl");
}

void ConsoleOptions::add_to(CLI::App& command) {
  command.add_option("--progress", progress_, "how a run's progress is shown")
      ->capture_default_str()
      ->type_name("auto|bar|plain|none");
  CLI::Option* quiet = command.add_flag("-q,--quiet", quiet_, "print only errors");
  command.add_flag("-v,--verbose", verbose_, "also print what is chosen and written")->excludes(quiet);
  add_log_option(command, log_);
}

ProgressStyle ConsoleOptions::progress() const {
  const ProgressStyle style = progress_style_from_name(progress_);
  return quiet_ ? ProgressStyle::none : style;
}

Verbosity ConsoleOptions::verbosity() const {
  return quiet_ ? Verbosity::quiet : verbose_ ? Verbosity::verbose : Verbosity::normal;
}

}  // namespace ptrain
