#include "core/analysis/quality.h"

#include "core/analysis/intervals.h"
#include "core/report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace ptrain {

const MetricValue* find_primary_metric(const MeasuredRun& run) {
  if (!run.record.figures || !run.record.figures->evaluation) return nullptr;
  const MetricValue* primary = run.record.figures->evaluation->primary();
  return primary != nullptr && primary->value ? primary : nullptr;
}

double Quality::mean() const {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Quality::stdev() const { return summarize(values).stdev; }

Quality measure_quality(const std::vector<const MeasuredRun*>& runs) {
  Quality quality;
  double squares = 0;
  bool all_have_errors = true;
  for (const MeasuredRun* run : runs) {
    const MetricValue* primary = find_primary_metric(*run);
    if (primary == nullptr) continue;
    if (!quality.metric) quality.metric = *primary;
    if (primary->name != quality.metric->name) {
      quality.others = primary->name;
      continue;
    }
    quality.values.push_back(*primary->value);
    quality.eval_samples = std::max<std::int64_t>(1, run->record.figures->evaluation->eval_samples);
    all_have_errors = all_have_errors && primary->standard_error.has_value();
    squares += primary->standard_error.value_or(0) * primary->standard_error.value_or(0);
  }
  if (!quality.metric) return quality;
  const auto count = static_cast<double>(quality.values.size());
  const double deviation = quality.stdev();
  quality.run_variance = deviation * deviation / count;
  if (quality.metric->kind == MetricKind::fraction) {
    quality.own_variance = counting_error(quality.mean(), quality.eval_samples);
  } else if (all_have_errors) {
    quality.own_variance = squares / count;
  }
  return quality;
}

std::string quality_title(const std::vector<MetricInfo>& metrics) {
  std::string title = "Accuracy";
  std::ptrdiff_t most = 0;
  for (const MetricInfo& metric : metrics) {
    const auto is_it = [&](const MetricInfo& other) { return other.name == metric.name; };
    const auto count = std::count_if(metrics.begin(), metrics.end(), is_it);
    if (count > most) title = metric.column();
    most = std::max(most, count);
  }
  return title;
}

std::string in_a_sentence(std::string title) {
  const bool word = title.size() < 2 || std::isupper(static_cast<unsigned char>(title[1])) == 0;
  if (word && !title.empty()) title[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(title[0])));
  return title;
}

std::string quality_text(const Quality& quality, const std::string& column) {
  const double mean = quality.mean(), stdev = quality.stdev();
  const std::string text = quality_text(*quality.metric, mean, column);
  return stdev > 0 ? fmt::format("{} ± {:.{}f}", text, stdev, quality.metric->digits(mean)) : text;
}

std::string quality_text(const MetricInfo& metric, double value, const std::string& column) {
  return column == metric.column() ? metric.value_text(value) : metric.title + " " + metric.value_text(value);
}

}  // namespace ptrain
