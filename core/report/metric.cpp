#include "core/report/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

namespace ptrain {

std::string_view to_string(MetricKind kind) {
  constexpr std::array<std::string_view, 4> names = {"fraction", "score", "amount", "reference"};
  return names.at(static_cast<std::size_t>(kind));
}

std::string MetricInfo::column() const {
  std::string text = title;
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

int MetricInfo::digits(double value) const { return kind == MetricKind::amount && std::abs(value) >= 10 ? 2 : 4; }

std::string MetricInfo::value_text(std::optional<double> value) const {
  if (!value) return "-";
  return fmt::format("{:.{}f}", *value, digits(*value));
}

void MetricValue::describe(Fields& field) {
  field.about("one metric");
  field("title", title, "title in tables");
  field("unit", unit, "empty: none");
  field.choice("kind", kind, MetricKind::reference,
               "fraction: fraction of evaluation samples; score: another figure of at most 1; amount: unbounded; "
               "reference: a baseline for metrics");
  field("higher_is_better", higher_is_better, "false: lower is better");
  field.any_sign("value", value, "null: not defined");
  field("standard_error", standard_error, "standard error of the value; null: none");
}

const MetricValue* Evaluation::find(std::string_view name) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const MetricValue& m) { return m.name == name; });
  return found == metrics.end() ? nullptr : &*found;
}

std::optional<double> Evaluation::primary_value() const {
  return metrics.empty() ? std::nullopt : metrics.front().value;
}

std::string Evaluation::pointer_to_primary() const {
  if (!primary_pointer.empty() || metrics.empty()) return primary_pointer;
  return fmt::format("/evaluation/metrics/{}/value", metrics.front().name);
}

std::string Evaluation::text() const {
  if (metrics.empty()) return "nothing measured";
  std::string text = metrics.front().text();
  for (const MetricValue& metric : metrics) {
    if (metric.kind == MetricKind::reference && metric.value) text += fmt::format(" ({})", metric.text());
  }
  return text;
}

std::string Evaluation::text_of_others(MetricView view) const {
  std::string text;
  for (std::size_t i = 1; i < metrics.size(); ++i) {
    const MetricValue& metric = metrics[i];
    const bool shown = view == MetricView::full || metric.view == MetricView::brief;
    if (shown && metric.value && metric.kind != MetricKind::reference) text += ", " + metric.text();
  }
  return text;
}

void Evaluation::describe(Fields& field) {
  std::string first = metrics.empty() ? std::string() : metrics.front().name;
  std::vector<std::string> names;
  std::map<std::string, MetricValue> by_name;
  for (const MetricValue& metric : metrics) {
    names.push_back(metric.name);
    by_name[metric.name] = metric;
  }
  field("primary", first, "name of the metric that comparisons use");
  field("names", names, "names of the metrics in display order, the primary one first");
  field("metrics", by_name, "by name");
  field("eval_samples", eval_samples, "");
  field.maybe("signature", signature, "settings that the metrics depend on; absent: there are none");
  std::vector<MetricValue> ordered;
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) continue;
    ordered.push_back(found->second);
    ordered.back().name = name;
  }
  metrics = std::move(ordered);
}

std::vector<std::string> metric_names(const std::vector<MetricInfo>& metrics) {
  std::vector<std::string> names;
  for (const MetricInfo& metric : metrics) {
    if (metric.kind != MetricKind::reference) names.push_back(metric.name);
  }
  return names;
}

}  // namespace ptrain
