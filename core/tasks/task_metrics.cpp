#include "core/tasks/task_metrics.h"

#include "core/base/errors.h"
#include "core/tasks/classification/classification_metrics.h"
#include "core/tasks/language_model/language_model_metrics.h"
#include "core/tasks/regression/regression_metrics.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ptrain {
namespace {

ClassMetricsOrder order_of(const TaskTraits& task) {
  return task.kind == DataKind::table ? ClassMetricsOrder::ranking_first : ClassMetricsOrder::accuracy_first;
}

}  // namespace

std::unique_ptr<Metrics> make_metrics(const TaskTraits& task) {
  if (task.kind == DataKind::tokens) return std::make_unique<LanguageModelMetrics>();
  if (task.head == Head::regression) return std::make_unique<RegressionMetrics>();
  return std::make_unique<ClassificationMetrics>(task.classes, task.class_names, order_of(task));
}

std::vector<MetricInfo> find_metrics(const TaskTraits& task) {
  if (task.kind == DataKind::tokens) return LanguageModelMetrics::infos();
  if (task.head == Head::regression) return RegressionMetrics::infos();
  return ClassificationMetrics::infos(task.classes, order_of(task));
}

std::vector<std::string> names_of_metrics(DataKind kind, Head head, std::int64_t classes) {
  return metric_names(find_metrics({kind, head, classes}));
}

const MetricInfo& find_metric(const std::vector<MetricInfo>& metrics, const std::string& name, const std::string& key) {
  if (name == primary_metric && !metrics.empty()) return metrics.front();
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const MetricInfo& m) { return m.name == name; });
  if (found == metrics.end()) {
    fail_usage("{}: expected one of {}, {}, got \"{}\"", key, primary_metric, fmt::join(metric_names(metrics), ", "),
               name);
  }
  return *found;
}

}  // namespace ptrain
