#include "core/bench/command_metric.h"

#include "core/base/errors.h"
#include "core/config/text.h"
#include "core/io/atomic_file.h"
#include "core/report/json_file.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <optional>
#include <regex>
#include <string_view>

namespace ptrain {
namespace {

using nlohmann::json;
using Source = CommandMetric::Source;

constexpr std::string_view json_prefix = "json:", report_prefix = "report:";
/// The part of a line that expressions are searched for in: std::regex takes stack in proportion to it.
constexpr std::size_t searched_part = 4096;

std::regex compile_expression(const std::string& text, const std::string& where) {
  std::regex expression;
  try {
    expression.assign(text);
  } catch (const std::regex_error& error) {
    fail_usage("{}: {} is no regular expression: {}", where, shown(text), error.what());
  }
  if (expression.mark_count() != 1) {
    fail_usage("{}: {}: expected a regular expression with one group, such as 'images/s: ([0-9.]+)', got {} groups",
               where, shown(text), expression.mark_count());
  }
  return expression;
}

/// Lines of an output, without those that are empty.
std::vector<std::string_view> split_output(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\r"), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Throws Error{failed} unless all of `text` is a number above 0.
double parse_figure(std::string_view text, const CommandMetric& metric) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 1e-300 && value < 1e300)) {
    fail("the metric {} is {}, expected a number above 0", shown(metric.name), shown(text));
  }
  return value;
}

/// The value of a dotted name; absent where there is none.
std::optional<json> find_value(const json& content, const std::string& name) {
  const json* at = &content;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (!at->is_object() || !at->contains(part)) return std::nullopt;
    at = &(*at)[part];
    begin = end + 1;
  }
  return *at;
}

/// A number, a text that is one, or a list of them.
void add_figures(std::vector<double>& figures, const json& value, const CommandMetric& metric) {
  if (value.is_array()) {
    for (const json& item : value) add_figures(figures, item, metric);
  } else {
    figures.push_back(parse_figure(value.is_string() ? value.get<std::string>() : value.dump(), metric));
  }
}

std::vector<double> match_lines(const CommandMetric& metric, const std::string& output) {
  const std::regex expression = compile_expression(metric.name, "metric");
  std::vector<double> figures;
  bool has_long_line = false;
  for (const std::string_view whole : split_output(output)) {
    const std::string_view line = whole.substr(0, searched_part);
    const bool is_long = line.size() < whole.size();
    has_long_line = has_long_line || is_long;
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(line.begin(), line.end(), match, expression)) continue;
    if (is_long && match[0].second == line.end()) continue;  // the figure may have further digits
    figures.push_back(parse_figure(match[1].str(), metric));
  }
  if (figures.empty() && has_long_line) {
    fail("the metric {} is not in the first {} bytes of a line of the output: print it on a line of its own",
         shown(metric.name), searched_part);
  }
  return figures;
}

std::vector<double> read_json_lines(const CommandMetric& metric, const std::string& output) {
  std::vector<double> figures;
  for (const std::string_view line : split_output(output)) {
    if (line.front() != '{') continue;
    const json content = json::parse(line, nullptr, false);
    if (const auto value = find_value(content, metric.name)) add_figures(figures, *value, metric);
  }
  return figures;
}

std::vector<double> read_json_file(const CommandMetric& metric) {
  std::vector<double> figures;
  if (const auto value = find_value(read_json(metric.file), metric.name)) add_figures(figures, *value, metric);
  return figures;
}

}  // namespace

std::string CommandMetric::guess_unit() const {
  if (source == Source::wall_time) return "runs/s";
  static const std::regex rate("[A-Za-z]+/s(?![A-Za-z])");
  std::smatch match;
  return std::regex_search(name, match, rate) ? match.str() : "1/s";
}

CommandMetric parse_command_metric(const std::string& text, const std::string& where) {
  CommandMetric metric;
  if (text.starts_with(report_prefix)) {
    metric.source = Source::report;
    metric.file = text.substr(report_prefix.size());
    if (metric.file.empty()) fail_usage("{}: {}: expected report:FILE", where, shown(text));
  } else if (text.starts_with(json_prefix)) {
    const std::string rest = text.substr(json_prefix.size());
    const std::size_t mark = rest.rfind('#');
    metric.source = mark == std::string::npos ? Source::output_json : Source::file_json;
    metric.name = mark == std::string::npos ? rest : rest.substr(mark + 1);
    if (mark != std::string::npos) metric.file = rest.substr(0, mark);
    if (metric.name.empty() || (mark == 0)) {
      fail_usage("{}: {}: expected json:NAME or json:FILE#NAME", where, shown(text));
    }
  } else if (!text.empty()) {
    compile_expression(text, where);
    metric.source = Source::expression;
    metric.name = text;
  }
  return metric;
}

std::vector<double> read_command_metric(const CommandMetric& metric, const std::filesystem::path& output) {
  std::vector<double> figures;
  const auto read_output = [&] { return read_file(output, WebPages::read); };
  if (metric.source == Source::expression) figures = match_lines(metric, read_output());
  if (metric.source == Source::output_json) figures = read_json_lines(metric, read_output());
  if (metric.source == Source::file_json) figures = read_json_file(metric);
  if (!figures.empty()) return figures;
  const std::string place = metric.source == Source::file_json     ? metric.file.string()
                            : metric.source == Source::output_json ? "the JSON lines of the output"
                                                                   : "the output";
  fail("the metric {} is not in {}", shown(metric.name), place);
}

}  // namespace ptrain
