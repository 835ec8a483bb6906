#include "core/serve/serve_metrics.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

std::string format_head(const char* name, const char* help, const char* type) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace

void Histogram::add(double value) {
  for (std::size_t i = 0; i < bounds_.size(); ++i) counts_[i] += value <= bounds_[i] ? 1 : 0;
  ++all_;
  sum_ += value;
}

std::string Histogram::text(const std::string& name, const std::string& help) const {
  std::string lines = format_head(name.c_str(), help.c_str(), "histogram");
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    lines += fmt::format("{}_bucket{{le=\"{:g}\"}} {}\n", name, bounds_[i], counts_[i]);
  }
  return lines +
         fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n{}_sum {:.9g}\n{}_count {}\n", name, all_, name, sum_, name, all_);
}

ServeMetrics::ServeMetrics()
    : seconds_({0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10}),
      batch_sizes_({1, 2, 4, 8, 16, 32, 64, 128, 256}) {}

void ServeMetrics::count_request(int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[status];
  seconds_.add(seconds);
}

void ServeMetrics::count_batch(std::int64_t inputs) {
  const std::lock_guard lock(mutex_);
  batch_sizes_.add(static_cast<double>(inputs));
}

std::string ServeMetrics::text(std::size_t queue_length) const {
  const std::lock_guard lock(mutex_);
  std::string lines = format_head("ptrain_requests_total", "Inference requests, by HTTP status.", "counter");
  std::int64_t errors = 0;
  for (const auto& [status, count] : requests_) {
    lines += fmt::format("ptrain_requests_total{{code=\"{}\"}} {}\n", status, count);
    errors += status >= 400 ? count : 0;
  }
  lines += format_head("ptrain_request_errors_total", "Inference requests that failed.", "counter");
  lines += fmt::format("ptrain_request_errors_total {}\n", errors);
  lines += format_head("ptrain_queue_length", "Requests waiting for a batch.", "gauge");
  lines += fmt::format("ptrain_queue_length {}\n", queue_length);
  lines += seconds_.text("ptrain_request_seconds", "Time from a request's last byte to its response.");
  return lines + batch_sizes_.text("ptrain_batch_size", "Inputs computed at once.");
}

}  // namespace ptrain
