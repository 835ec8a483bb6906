// Which metrics a task has: the one place that chooses them.
#pragma once

#include "core/base/choices.h"
#include "core/base/data_kind.h"
#include "core/config/metric_catalog.h"
#include "core/tasks/metrics.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ptrain {

/// What a task is known by.
struct TaskTraits {
  DataKind kind = DataKind::image;
  Head head = Head::classification;
  std::int64_t classes = 0;                   // 0: not known yet
  std::vector<std::string> class_names = {};  // by number; those without one are told by it
};

/// What measures the task's answers. The number of classes is known.
std::unique_ptr<Metrics> make_metrics(const TaskTraits& task);

/// The metrics that it will tell, the primary one first; where the number of classes is not known, those of any.
std::vector<MetricInfo> find_metrics(const TaskTraits& task);

/// The metric of that name, or the first for `primary_metric`. Throws Error{usage} naming `key` and those there are.
const MetricInfo& find_metric(const std::vector<MetricInfo>& metrics, const std::string& name, const std::string& key);

/// For use_metric_names: what keys that name a metric take.
std::vector<std::string> names_of_metrics(DataKind kind, Head head, std::int64_t classes);

}  // namespace ptrain
