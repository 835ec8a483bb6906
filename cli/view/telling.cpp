#include "cli/view/telling.h"

namespace ptrain {

void Telling::add_to(CLI::App& command) {
  command.add_option("--progress", progress_, "how a run's progress is shown")
      ->capture_default_str()
      ->type_name("auto|bar|plain|none");
  CLI::Option* quiet = command.add_flag("-q,--quiet", quiet_, "tell nothing but errors");
  command.add_flag("-v,--verbose", verbose_, "tell what is chosen and written, too")->excludes(quiet);
  command.add_option("--log", log_, "jsonl: one JSON line per event on standard output, instead of the summary")
      ->check(CLI::IsMember({"jsonl"}))
      ->type_name("jsonl");
}

ProgressStyle Telling::progress() const {
  const ProgressStyle style = progress_style_from_name(progress_);
  return quiet_ ? ProgressStyle::none : style;
}

Verbosity Telling::verbosity() const {
  return quiet_ ? Verbosity::quiet : verbose_ ? Verbosity::verbose : Verbosity::normal;
}

}  // namespace ptrain
