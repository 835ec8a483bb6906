// What the configuration asks about tasks: what each learns of samples, its metrics and its checks. The table stands
// above, in core/tasks/registry.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ptrain {

struct Config;

/// Refuses the value that a key has, saying why; does not return.
using RejectKey = std::function<void(const std::string& key, const std::string& reason)>;

struct TaskEntry {
  std::string name;
  std::vector<std::string> targets;  // tensors of samples that are learnt, which a data source has to give
  /// The names of its metrics; of 0 classes those that any number of them has.
  std::function<std::vector<std::string>(std::int64_t classes)> metrics;
  /// Refuses values of keys that it has no use for, or that do not fit it.
  std::function<void(const Config& config, const RejectKey& reject)> check;
};

}  // namespace ptrain
