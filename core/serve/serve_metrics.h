// Metrics of a server in Prometheus' text format 0.0.4.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ptrain {

/// Cumulative counts per upper bound, as in Prometheus' histograms.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size()) {}

  void add(double value);
  /// The lines of a metric with this name.
  std::string text(const std::string& name, const std::string& help) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::int64_t> counts_;  // of values up to each bound
  std::int64_t all_ = 0;
  double sum_ = 0;
};

/// Thread-safe.
class ServeMetrics {
 public:
  ServeMetrics();

  /// Counts a finished inference request with this HTTP status.
  void count_request(int status, double seconds);
  void count_batch(std::int64_t inputs);
  std::string text(std::size_t queue_length) const;

 private:
  mutable std::mutex mutex_;
  std::map<int, std::int64_t> requests_;  // by status
  Histogram seconds_, batch_sizes_;
};

}  // namespace ptrain
