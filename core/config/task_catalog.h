// What the configuration needs to know of tasks: their targets, metrics and checks. The table is in a higher layer,
// core/tasks/task_registry.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ptrain {

struct Config;

/// Rejects a key's value, with a reason; does not return.
using RejectKey = std::function<void(const std::string& key, const std::string& reason)>;

struct TaskMetric {
  std::string name;
  bool is_bounded = false;  // at most 1
};

struct TaskEntry {
  std::string name;
  std::vector<std::string> targets;  // target tensors, which a data source has to provide
  /// Its metrics, the primary one first; with 0 classes, those that do not depend on the number of classes.
  std::function<std::vector<TaskMetric>(std::int64_t classes)> metrics;
  /// Rejects values of keys that it does not use or that do not fit it.
  std::function<void(const Config& config, const RejectKey& reject)> check;
};

}  // namespace ptrain
