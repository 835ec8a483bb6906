#include "core/train/scaling.h"

#include "core/base/errors.h"

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

}  // namespace

StepTimes reported_step_times(const nlohmann::json& report) {
  const nlohmann::json latency = report.value("latency_ms", nlohmann::json());
  if (!latency.is_object()) fail_usage("the report has no latency_ms: it measured no step");
  if (!report.value("distributed", nlohmann::json()).is_null())
    fail_usage("the report is from several ranks, expected one");
  const nlohmann::json& step = latency.at("step");
  return {step.at("mean").get<double>() * 1e-3, step.at("stdev").get<double>() * 1e-3, measured_nodes(report)};
}

MeasuredStep divide_step(const StepOptions& options, std::int64_t rows, const Model& model, const StepTimes& times) {
  const Graph graph = build_step(model, options, rows);
  const auto weight = [&](const Node& node) {
    if (node.phase == Pass::exchange) return 0.0;
    const auto found = times.nodes.find(node.name);
    if (!times.nodes.empty()) return found == times.nodes.end() ? 0.0 : found->second;
    return node.phase == Pass::update ? 0.0 : node.op->cost(graph.input_descs(node), graph.output_descs(node)).flops;
  };
  double total = 0, update = 0;
  for (const Node& node : graph.nodes()) {
    total += weight(node);
    if (node.phase == Pass::update) update += weight(node);
  }
  const double step = times.mean;
  MeasuredStep measured;
  measured.update_seconds = step * update / total;
  measured.compute_seconds = step - measured.update_seconds;
  measured.stdev_seconds = times.stdev;
  double before = 0;
  for (const Node& node : graph.nodes()) {
    before += weight(node);
    const std::string_view type = node.op->type();
    if (type == "all_reduce_start") measured.buckets.push_back({step * before / total, count_bytes(graph, node)});
    // The two halves of an all-reduce; parameters are gathered after backward.
    const bool gathers = type == "all_gather_start";
    if (!gathers && type != "reduce_scatter_start") continue;
    const double ready = gathers && node.phase == Pass::update ? measured.compute_seconds : step * before / total;
    measured.buckets.push_back({ready, count_bytes(graph, node) / 2, node.phase < Pass::backward});
  }
  return measured;
}

}  // namespace ptrain
