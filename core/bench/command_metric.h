// The figure that a command of a benchmark prints or writes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

/// Where a command's figure is found, as --metric and the key `metric` write it:
///
///     images/s: ([0-9.]+)     a regular expression (ECMAScript) with one group, in the lines of its output
///     json:train.images_per_s a value by its dotted name, in those lines of its output that are JSON objects
///     json:out.json#speed     in a file
///     report:out/report.json  a report of ptrain, read as one of an own run
///     (empty)                 the wall time of the command
struct CommandMetric {
  enum class Source { wall_time, expression, output_json, file_json, report };
  Source source = Source::wall_time;
  std::string name;            // the expression, or the dotted name
  std::filesystem::path file;  // of file_json and report

  /// "images/s", as far as the text names one; "runs/s" for the wall time, "1/s" otherwise.
  std::string guess_unit() const;
};

/// Throws Error{usage} with what is wrong with `text`; `where` precedes it.
CommandMetric parse_command_metric(const std::string& text, const std::string& where);

/// The figures in the order printed, from the command's output or its file; not for wall times and reports. Throws
/// Error{failed} with one line when there is none, or one is no number above 0. Lines of output end with a line feed or
/// a carriage return; a regular expression is searched for in the first 4096 bytes of each.
std::vector<double> read_command_metric(const CommandMetric& metric, const std::filesystem::path& output);

}  // namespace ptrain
