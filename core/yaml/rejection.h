// Rejects a value that contradicts others.
#pragma once

#include "core/base/errors.h"
#include "core/config/loaded_config.h"

#include <string>
#include <utility>

namespace ptrain {

/// Rejects the value of `key`, naming the place that set it.
class Rejection {
 public:
  explicit Rejection(const LoadedConfig& loaded) : loaded_(loaded) {}

  template <typename... Args>
  [[noreturn]] void operator()(const std::string& key, fmt::format_string<Args...> format, Args&&... args) const {
    const std::string& origin = loaded_.origins.at(key);
    fail_usage("{}: {}: {}", origin == "default" ? loaded_.file : origin, key,
               fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const LoadedConfig& loaded_;
};

}  // namespace ptrain
