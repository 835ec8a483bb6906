// A case of a benchmark that runs a command of the user's instead of ptrain.
#pragma once

#include "core/analysis/run_record.h"
#include "core/io/file_identity.h"

#include <filesystem>
#include <string>

namespace ptrain {

/// A command with its metric, in which {NAME} are placeholders.
struct BenchCommand {
  std::string text;    // for /bin/sh; empty: none
  std::string metric;  // see CommandMetric
  std::string unit;    // "images/s" of a rate; "s", "ms" or "us" of a time; empty: as the metric names it
  std::filesystem::path folder = {};  // where it runs and its metric's file is; empty: this process's
};

/// Whether the command or its metric contains {NAME}.
bool has_placeholder(const BenchCommand& command, const std::string& name);
/// The command with {NAME} replaced throughout; other braces stay.
BenchCommand fill_placeholder(BenchCommand command, const std::string& name, const std::string& value);
/// The command of one run: {seed}, {repeat} and {folder}, the run's own folder, replaced.
BenchCommand fill_run_placeholders(const BenchCommand& command, const RunRecord& record,
                                   const std::filesystem::path& folder);

/// Sets outcome and figures of a run of `command` that ended well, from its `output` and record.wall_seconds. A rate
/// counts as steps of one sample. Eight figures or more are steps, whose warm-up is found as an own run's; of fewer the
/// last counts, since programs print the total last. Copies a report, or writes the steps' times, into `folder`.
/// `file_before` is identify_metric_file() before the run. Throws Error{failed} where there is no figure, or the file
/// is an older run's.
void set_command_figures(RunRecord& record, const BenchCommand& command, const SteadyRule& rule,
                         const std::filesystem::path& folder, const std::filesystem::path& output,
                         const FileIdentity& file_before);

/// The file that the command writes its metric to; an empty one where there is none.
FileIdentity identify_metric_file(const BenchCommand& command);

/// Sets outcome and figures of a run that left a report and perhaps metrics in `folder`.
void set_report_figures(RunRecord& record, const SteadyRule& rule, const std::filesystem::path& folder);

/// Throws Error{usage}, after `where`, for a metric or a unit that cannot be read.
void check_command(const BenchCommand& command, const std::string& where);

}  // namespace ptrain
