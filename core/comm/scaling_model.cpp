#include "core/comm/scaling_model.h"

#include "core/base/errors.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

namespace ptrain {
namespace {

double read_positive(const YAML::Node& node, const std::string& file, const std::string& key) {
  double value = 0;
  if (node.IsDefined() && node.IsScalar() && YAML::convert<double>::decode(node, value) && value > 0) return value;
  fail_usage("{}: {}: expected a number above 0", file, key);
}

Link read_link(const YAML::Node& root, const std::string& file, const std::string& name) {
  const YAML::Node node = root[name];
  if (!node.IsDefined() || !node.IsMap()) fail_usage("{}: {}: expected latency_us and bandwidth_gb_s", file, name);
  return {read_positive(node["latency_us"], file, name + ".latency_us") * 1e-6,
          read_positive(node["bandwidth_gb_s"], file, name + ".bandwidth_gb_s") * 1e9};
}

}  // namespace

Links load_links(const std::filesystem::path& file) {
  YAML::Node root;
  try {
    root = YAML::LoadFile(file.string());
  } catch (const YAML::Exception& error) {
    fail_usage("{}: {}", file.string(), error.what());
  }
  if (!root.IsMap()) fail_usage("{}: expected ranks_per_node, inside_node and between_nodes", file.string());
  Links links;
  links.ranks_per_node = static_cast<int>(read_positive(root["ranks_per_node"], file.string(), "ranks_per_node"));
  links.inside = read_link(root, file.string(), "inside_node");
  links.between = read_link(root, file.string(), "between_nodes");
  return links;
}

double all_reduce_seconds(const Links& links, int ranks, double bytes, AllReduceAlgorithm algorithm) {
  if (ranks <= 1) return 0;
  const int local = std::min(ranks, links.ranks_per_node);
  const int nodes = (ranks + links.ranks_per_node - 1) / links.ranks_per_node;
  double bandwidth = local > 1 ? links.inside.bandwidth : links.between.bandwidth;
  if (nodes > 1) bandwidth = std::min(bandwidth, links.between.bandwidth);
  const double n = ranks;
  const double hops_between = algorithm == AllReduceAlgorithm::tree ? std::log2(static_cast<double>(nodes))
                              : nodes > 1                           ? nodes
                                                                    : 0;
  const double hops_inside = algorithm == AllReduceAlgorithm::tree ? std::log2(static_cast<double>(local))
                                                                   : n - 1 - std::min(hops_between, n - 1);
  const double latency = hops_between * links.between.latency + hops_inside * links.inside.latency;
  return 2 * latency + 2 * (n - 1) / n * bytes / bandwidth;
}

double all_to_all_seconds(const Links& links, int ranks, double bytes) {
  if (ranks <= 1) return 0;
  const double local = std::min(ranks, links.ranks_per_node), far = ranks - local, to_one = bytes / ranks;
  const double inside = (local - 1) * to_one / links.inside.bandwidth;
  const double between = local * far * to_one / links.between.bandwidth;
  return (local - 1) * links.inside.latency + far * links.between.latency + std::max(inside, between);
}

namespace {

double exchange_seconds(const Links& links, int ranks, const MeasuredStep::Event& event) {
  switch (event.kind) {
    case StepEventKind::all_reduce:
      return std::min(all_reduce_seconds(links, ranks, event.bytes, AllReduceAlgorithm::ring),
                      all_reduce_seconds(links, ranks, event.bytes, AllReduceAlgorithm::tree));
    case StepEventKind::all_to_all:
      return all_to_all_seconds(links, ranks, event.bytes);
    case StepEventKind::wait:
      return 0;
  }
  throw std::logic_error("internal error: unknown event");
}

/// The clocks of ranks that go through steps together.
class Simulation {
 public:
  /// All ranks compute equally long, or as the step says.
  enum class Ranks { alike, different };

  Simulation(const MeasuredStep& step, const Links& links, int ranks, Ranks are)
      : step_(step),
        variation_(are == Ranks::different ? step.stdev_seconds / step.seconds : 0),
        slowest_(are == Ranks::different ? step.slowest : 1) {
    constexpr int most = 4096, slow_and_other = 2;
    const int clocks = variation_ > 0 ? most : slowest_ > 1 ? slow_and_other : 1;
    clocks_.resize(static_cast<std::size_t>(std::min(ranks, clocks)));
    for (const MeasuredStep::Event& event : step.events) seconds_.push_back(exchange_seconds(links, ranks, event));
  }

  /// Seconds of a step once the steps are alike.
  double run() {
    constexpr std::int64_t draws = 2'000'000;
    const std::int64_t steps = variation_ > 0 ? std::clamp<std::int64_t>(draws / std::ssize(clocks_), 32, 1000) : 4;
    for (std::int64_t step = 0; step < steps; ++step) run_step();
    const double begin = mean();
    for (std::int64_t step = 0; step < steps; ++step) run_step();
    return (mean() - begin) / static_cast<double>(steps);
  }

 private:
  void run_step() {
    std::vector<double> paces(clocks_.size(), 1.0);
    if (variation_ > 0) {
      for (double& pace : paces) pace = std::max(0.0, 1 + variation_ * deviate_(random_));
    }
    paces.front() *= slowest_;
    double at = 0;
    const auto compute_until = [&](double until) {
      for (std::size_t rank = 0; rank < clocks_.size(); ++rank) clocks_[rank] += (until - at) * paces[rank];
      at = until;
    };
    for (std::size_t i = 0; i < step_.events.size(); ++i) {
      compute_until(step_.events[i].at);
      if (step_.events[i].kind == StepEventKind::wait) {
        for (double& clock : clocks_) clock = std::max(clock, exchanged_);
      } else {
        exchanged_ = std::max(exchanged_, *std::ranges::max_element(clocks_)) + seconds_[i];
      }
    }
    compute_until(step_.seconds);
  }

  double mean() const {
    return std::accumulate(clocks_.begin(), clocks_.end(), 0.0) / static_cast<double>(clocks_.size());
  }

  const MeasuredStep& step_;
  double variation_;             // of a step, relative to it
  double slowest_;               // factor of the first rank's steps
  std::vector<double> seconds_;  // of the events
  std::vector<double> clocks_;
  double exchanged_ = 0;  // when all exchanges that were started are done
  std::mt19937_64 random_{1};
  std::normal_distribution<double> deviate_;
};

}  // namespace

ScaledStep estimate_scaled_step(const MeasuredStep& measured, const Links& links, int ranks) {
  ScaledStep predicted;
  predicted.ranks = ranks;
  for (const MeasuredStep::Event& event : measured.events) {
    predicted.exchange_seconds += exchange_seconds(links, ranks, event);
  }
  using Ranks = Simulation::Ranks;
  const double even = Simulation(measured, links, ranks, Ranks::alike).run();
  predicted.step_seconds = ranks > 1 ? Simulation(measured, links, ranks, Ranks::different).run() : even;
  predicted.exposed_seconds = std::max(0.0, even - measured.seconds);
  predicted.imbalance_seconds = std::max(0.0, predicted.step_seconds - even);  // but for rounding
  predicted.efficiency = measured.seconds / predicted.step_seconds;
  return predicted;
}

}  // namespace ptrain
