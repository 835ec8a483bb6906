#include "core/comm/scaling_model.h"

#include "core/base/errors.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
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

double exchange_seconds(const Links& links, int ranks, const MeasuredStep::Bucket& bucket) {
  switch (bucket.kind) {
    case ExchangeKind::all_reduce:
      return std::min(all_reduce_seconds(links, ranks, bucket.bytes, AllReduceAlgorithm::ring),
                      all_reduce_seconds(links, ranks, bucket.bytes, AllReduceAlgorithm::tree));
    case ExchangeKind::all_to_all:
      return all_to_all_seconds(links, ranks, bucket.bytes);
  }
  throw std::logic_error("internal error: unknown exchange");
}

}  // namespace

ScaledStep estimate_scaled_step(const MeasuredStep& measured, const Links& links, int ranks) {
  ScaledStep predicted;
  predicted.ranks = ranks;
  double free = 0;     // the time at which the links are free
  double stalled = 0;  // that computing has waited so far
  for (const MeasuredStep::Bucket& bucket : measured.buckets) {
    const double seconds = exchange_seconds(links, ranks, bucket);
    predicted.exchange_seconds += seconds;
    free = std::max(free, bucket.ready + stalled) + seconds;
    if (bucket.blocks) stalled = free - bucket.ready;
  }
  predicted.exposed_seconds = std::max(stalled, free - measured.compute_seconds);
  predicted.imbalance_seconds = measured.stdev_seconds * std::sqrt(2 * std::log(static_cast<double>(ranks)));
  const double alone = measured.compute_seconds + measured.update_seconds;
  predicted.step_seconds = alone + predicted.exposed_seconds + predicted.imbalance_seconds;
  predicted.efficiency = alone / predicted.step_seconds;
  return predicted;
}

}  // namespace ptrain
