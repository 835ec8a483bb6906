#include "cli/comparison_options.h"

#include "cli/number_range.h"
#include "cli/output_format.h"
#include "core/analysis/html/comparison_page.h"
#include "core/base/errors.h"
#include "core/base/standard_streams.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

constexpr const char* comparison_formats = "text|markdown|json|html";

std::string render(const Comparison& comparison, const std::string& format) {
  if (format == "text") return comparison_text(comparison);
  if (format == "markdown") return comparison_markdown(comparison);
  if (format == "json") return document_text(comparison);
  if (format == "html") return comparison_page(comparison);
  fail_usage("--format: expected {}, got \"{}\"", comparison_formats, format);
}

}  // namespace

void ComparisonOptions::add_to(CLI::App& command) {
  command.add_option("--threshold", threshold_, "tolerated change of step time in percent")
      ->capture_default_str()
      ->check(in_range(0.01, 100.0));
  command.add_option("--confidence", confidence_, "confidence of the interval in percent")
      ->capture_default_str()
      ->check(in_range(50.0, 99.99));
  command
      .add_option("--accuracy-margin", accuracy_margin_,
                  "tolerated loss of the primary metric: 0.01 is a point, or 1 % of an unbounded metric")
      ->capture_default_str()
      ->check(in_range(0.0, 1.0));
  command.add_option("--allow", allowed_, "hardware,config,data: kinds of difference to accept")->delimiter(',');
  CLI::Option* format =
      command.add_option("--format", format_, "output format")->capture_default_str()->type_name(comparison_formats);
  const auto add_shortcut = [&](const char* flag, const char* name) {
    return command
        .add_flag_callback(
            flag, [this, name] { format_ = name; }, fmt::format("same as --format {}", name))
        ->excludes(format);
  };
  CLI::Option* as_json = add_shortcut("--json", "json");
  add_shortcut("--markdown", "markdown")->excludes(as_json);
}

CompareRule ComparisonOptions::rule() const {
  CompareRule rule;
  rule.speed = {threshold_, confidence_ / 100};
  rule.accuracy_margin = accuracy_margin_;
  for (const std::string& name : allowed_) rule.allowed.insert(difference_kind_from_name(name));
  return rule;
}

void ComparisonOptions::print(const Comparison& comparison) const {
  fmt::print("{}", render(comparison, format_));
  finish_output();
  const ExitCode code = comparison.outcome();
  if (code == ExitCode::regressed) throw Error(code, "slower or less accurate than the base");
  if (code == ExitCode::inconclusive) throw Error(code, "no verdict: inconclusive or not comparable, see above");
}

}  // namespace ptrain
