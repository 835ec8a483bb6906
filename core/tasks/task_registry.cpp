#include "core/tasks/task_registry.h"

#include "core/tasks/classification/classification.h"
#include "core/tasks/clicks/clicks.h"
#include "core/tasks/detection/aligned_detection.h"
#include "core/tasks/detection/detection.h"
#include "core/tasks/detection/instance_segmentation.h"
#include "core/tasks/language_model/language_model.h"
#include "core/tasks/multi_label/multi_label.h"
#include "core/tasks/next_item/next_item.h"
#include "core/tasks/regression/regression.h"
#include "core/tasks/segmentation/segmentation.h"
#include "core/tasks/text_detection/text_detection.h"
#include "core/tasks/text_recognition/text_recognition.h"
#include "core/tasks/translation/translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace ptrain {
namespace {

struct Row {
  std::string_view name;
  std::unique_ptr<Task> (*make)(const TaskOptions& options);
};

template <typename T>
std::unique_ptr<Task> make(const TaskOptions& options) {
  return std::make_unique<T>(options);
}

constexpr Row task_rows[] = {
    {"classification", make<Classification>},
    {"regression", make<Regression>},
    {"language_model", make<LanguageModel>},
    {"next_item", make<NextItem>},
    {"clicks", make<Clicks>},
    {"multi_label", make<MultiLabel>},
    {"segmentation", make<Segmentation>},
    {"detection", make<Detection>},
    {"aligned_detection", make<AlignedDetection>},
    {"instance_segmentation", make<InstanceSegmentation>},
    {"single_map_instance_segmentation", make<SingleMapInstanceSegmentation>},
    {"text_detection", make<TextDetection>},
    {"text_recognition", make<TextRecognition>},
    {"translation", make<TranslationTask>},
};

std::vector<TaskMetric> list_metrics(const Task& task, std::int64_t classes) {
  std::vector<TaskMetric> metrics;
  for (const MetricInfo& metric : task.metrics(classes)) {
    if (metric.kind != MetricKind::reference) metrics.push_back({metric.name, metric.is_bounded()});
  }
  return metrics;
}

}  // namespace

std::unique_ptr<Task> make_task(std::string_view name, const TaskOptions& options) {
  const auto row = std::ranges::find(task_rows, name, &Row::name);
  if (row == std::end(task_rows)) throw std::logic_error(fmt::format("internal error: no task is called {}", name));
  return row->make(options);
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Row& row : task_rows) names.emplace_back(row.name);
  return names;
}

std::vector<TaskEntry> task_entries() {
  std::vector<TaskEntry> entries;
  for (const Row& row : task_rows) {
    const std::shared_ptr<const Task> task = row.make({});
    entries.push_back({std::string(row.name), task->targets(),
                       [task](std::int64_t classes) { return list_metrics(*task, classes); },
                       [task](const Config& config, const RejectKey& reject) { task->check(config, reject); }});
  }
  return entries;
}

}  // namespace ptrain
