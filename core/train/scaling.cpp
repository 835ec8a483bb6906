#include "core/train/scaling.h"

#include "core/base/errors.h"
#include "core/comm/row_skew.h"
#include "core/ops/sparse/exchanged_rows.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

namespace ptrain {
namespace {

std::map<std::string, double> measured_nodes(const nlohmann::json& report) {
  std::map<std::string, double> seconds;
  for (const nlohmann::json& kernel : report.value("kernels", nlohmann::json::array())) {
    const auto calls = kernel.at("calls").get<double>();
    if (calls > 0) seconds[kernel.at("node")] = kernel.at("milliseconds").get<double>() * 1e-3 / calls;
  }
  return seconds;
}

double count_bytes(const Graph& graph, const Node& start) {
  return static_cast<double>(graph.desc(start.inputs[0]).bytes());
}

RowsRead count_rows_of(const RowExchange& sizes, double zipf) {
  const auto rows = static_cast<double>(sizes.shard.count(sizes.rows));
  return count_rows_read(static_cast<double>(sizes.ids), rows, zipf, static_cast<int>(sizes.shard.world_size));
}

const RowExchangeOp* find_row_exchange(const Node& node) { return dynamic_cast<const RowExchangeOp*>(node.op.get()); }

/// Bytes of what a node sends for each different id.
double count_bytes_of_id(const Graph& graph, const Node& node) {
  return static_cast<double>(find_row_exchange(node)->bytes_of_id(graph.output_descs(node)));
}

/// What a node starts to exchange, or waits for; none of other nodes.
std::optional<MeasuredStep::Event> find_event(const Graph& graph, const Node& node, double at, double zipf) {
  const std::string_view type = node.op->type();
  if (type == "all_reduce_wait" || type == "exchange_wait") return MeasuredStep::Event{at, StepEventKind::wait};
  if (type == "all_reduce_start") return MeasuredStep::Event{at, StepEventKind::all_reduce, count_bytes(graph, node)};
  if (type == "all_gather_start" || type == "reduce_scatter_start") {
    return MeasuredStep::Event{at, StepEventKind::all_reduce, count_bytes(graph, node) / 2};
  }
  const RowExchangeOp* const op = find_row_exchange(node);
  if (op == nullptr || !type.starts_with("exchange_")) return std::nullopt;
  if (type == "exchange_counts")
    return MeasuredStep::Event{at, StepEventKind::all_to_all, 8.0 * op->attrs().shard.world_size};
  const RowsRead read = count_rows_of(op->attrs(), zipf);
  return MeasuredStep::Event{at, StepEventKind::all_to_all,
                             read.busiest * read.different * count_bytes_of_id(graph, node)};
}

double count_updated_bytes(const Graph& graph) {
  double bytes = 0;
  for (const Node& node : graph.nodes()) {
    const std::string_view type = node.op->type();
    const bool exchanges = type.ends_with("_start") || type.ends_with("_wait");
    if (node.phase != Pass::update || exchanges) continue;
    bytes += node.op->cost(graph.input_descs(node), graph.output_descs(node)).bytes;
  }
  return bytes;
}

/// What of a whole update is left to one of the ranks that divide it.
double find_updated_share(StepOptions options, std::int64_t rows, const Model& model, const Graph& divided) {
  if (!options.passes.distribution || !options.passes.distribution->shard) return 1;
  options.passes.distribution->shard.reset();
  return count_updated_bytes(divided) / count_updated_bytes(build_step(model, options, rows));
}

}  // namespace

TableTraffic count_table_traffic(const StepOptions& options, std::int64_t rows, const Model& model, double zipf) {
  TableTraffic traffic;
  const Graph graph = build_step(model, options, rows);
  for (const Node& node : graph.nodes()) {
    const std::string_view type = node.op->type();
    const RowExchangeOp* const op = find_row_exchange(node);
    if (op == nullptr || !type.starts_with("exchange_") || type == "exchange_counts") continue;
    const RowsRead read = count_rows_of(op->attrs(), zipf);
    const double bytes = read.different * count_bytes_of_id(graph, node);
    if (type == "exchange_ids") {
      traffic.ids += static_cast<double>(op->attrs().ids);
      traffic.different_ids += read.different;
      traffic.id_bytes += bytes;
      traffic.busiest = std::max(traffic.busiest, read.busiest);
    } else {
      (type == "exchange_rows" ? traffic.row_bytes : traffic.gradient_bytes) += bytes;
    }
  }
  return traffic;
}

StepTimes reported_step_times(const nlohmann::json& report) {
  const nlohmann::json latency = report.value("latency_ms", nlohmann::json());
  if (!latency.is_object()) fail_usage("the report has no latency_ms: it measured no step");
  if (!report.value("distributed", nlohmann::json()).is_null())
    fail_usage("the report is from several ranks, expected one");
  const nlohmann::json& step = latency.at("step");
  return {step.at("mean").get<double>() * 1e-3, step.at("stdev").get<double>() * 1e-3, measured_nodes(report)};
}

MeasuredStep divide_step(const StepOptions& options, std::int64_t rows, const Model& model, const StepTimes& times,
                         double zipf) {
  const Graph graph = build_step(model, options, rows);
  const auto weight = [&](const Node& node) {
    if (node.phase == Pass::exchange || node.phase == Pass::fetch) return 0.0;
    const auto found = times.nodes.find(node.name);
    if (!times.nodes.empty()) return found == times.nodes.end() ? 0.0 : found->second;
    return node.phase == Pass::update ? 0.0 : node.op->cost(graph.input_descs(node), graph.output_descs(node)).flops;
  };
  const int micro_batches = options.passes.accumulate_steps;
  double total = 0;
  for (const Node& node : graph.nodes()) total += weight(node) * (node.phase == Pass::update ? 1 : micro_batches);
  const double updated_share = find_updated_share(options, rows, model, graph);
  MeasuredStep measured;
  measured.stdev_seconds = times.stdev;
  for (int micro = 0; micro < micro_batches; ++micro) {
    const bool is_last = micro + 1 == micro_batches;
    for (const Node& node : graph.nodes()) {
      if (!is_last && (node.phase > Pass::backward || node.phase == Pass::fetch)) continue;  // once a step
      const double share = node.phase == Pass::update ? updated_share : 1;
      measured.seconds += times.mean * weight(node) * share / total;
      if (const auto event = find_event(graph, node, measured.seconds, zipf)) measured.events.push_back(*event);
    }
  }
  measured.events.push_back({measured.seconds, StepEventKind::all_reduce, 0});  // of each rank's loss and times
  if (!options.passes.delays_updates()) measured.events.push_back({measured.seconds, StepEventKind::wait});
  return measured;
}

}  // namespace ptrain
