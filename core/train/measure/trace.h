// A timeline of a few steps in Chrome's trace format, which chrome://tracing and ui.perfetto.dev show.
#pragma once

#include "core/exec/plan.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace ptrain {

class Trace {
 public:
  /// Traces up to `steps` steps, from the first after `warmup` steps of the run on, or the run's last ones.
  Trace(std::int64_t warmup, std::int64_t steps, std::int64_t total_steps);

  /// Whether step `step`, counted from 0 over the whole training, is to be traced; call it for every step in order.
  bool wants(std::int64_t step);

  /// Adds work of the host from `begin` on, in seconds of any one clock.
  void add(const std::string& what, double begin, double seconds);
  /// Adds one run of a plan, op by op, with the times in `nodes`.
  void add_ops(double begin, std::span<const NodeProfile> nodes);

  /// Writes the whole file or nothing. Throws Error{failed}.
  void write(const std::filesystem::path& path) const;

 private:
  enum class Lane { host, ops };
  void add_event(Lane lane, const std::string& name, double begin, double seconds, const nlohmann::json& details);

  std::int64_t warmup_, steps_, total_steps_;
  std::optional<std::int64_t> first_;
  nlohmann::json events_ = nlohmann::json::array();
};

}  // namespace ptrain
