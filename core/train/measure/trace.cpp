#include "core/train/measure/trace.h"

#include "core/io/atomic_file.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

constexpr std::array<const char*, 2> lanes{"host", "ops"};

/// Amount per second; null if nothing was done.
nlohmann::json rate(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? nlohmann::json(amount / seconds * 1e-9) : nlohmann::json(nullptr);
}

}  // namespace

Trace::Trace(std::int64_t warmup, std::int64_t steps, std::int64_t total_steps)
    : warmup_(warmup), steps_(steps), total_steps_(total_steps) {}

bool Trace::wants(std::int64_t step) {
  if (!first_) first_ = std::max(step, std::min(step + warmup_, total_steps_ - steps_));
  return step >= *first_ && step < *first_ + steps_;
}

void Trace::add_event(Lane lane, const std::string& name, double begin, double seconds, const nlohmann::json& details) {
  nlohmann::json event{{"name", name}, {"cat", lanes[static_cast<std::size_t>(lane)]}, {"ph", "X"}, {"pid", 0}};
  event["tid"] = static_cast<int>(lane);
  event["ts"] = begin * 1e6;  // microseconds
  event["dur"] = seconds * 1e6;
  if (!details.is_null()) event["args"] = details;
  events_.push_back(std::move(event));
}

void Trace::add(const std::string& what, double begin, double seconds) {
  add_event(Lane::host, what, begin, seconds, nullptr);
}

void Trace::add_ops(double begin, std::span<const NodeProfile> nodes) {
  for (const NodeProfile& node : nodes) {
    add_event(Lane::ops, node.type, begin, node.seconds,
              {{"node", node.name},
               {"phase", phase_name(node.phase)},
               {"implementation", node.record.implementation},
               {"GFLOP/s", rate(node.cost.flops, node.seconds)},
               {"GB/s", rate(node.cost.bytes, node.seconds)}});
    begin += node.seconds;
  }
}

void Trace::write(const std::filesystem::path& path) const {
  nlohmann::json events = events_;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    events.push_back(
        {{"name", "thread_name"}, {"ph", "M"}, {"pid", 0}, {"tid", lane}, {"args", {{"name", lanes[lane]}}}});
  }
  write_file_atomic(path, nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n");
}

}  // namespace ptrain
