#include "cli/step_estimate_text.h"

#include "core/base/errors.h"
#include "core/config/config_enums.h"
#include "core/train/options_from_config.h"
#include "core/train/plans/step_estimate.h"

#include <algorithm>
#include <map>

namespace ptrain {
namespace {

using nlohmann::json;

/// All nodes of one type; the bound is that of most of their time.
struct OpTotal {
  std::string type;
  std::int64_t nodes = 0;
  Cost cost;
  double seconds = 0;
  std::map<Bound, double> seconds_by_bound;

  Bound bound() const {
    return std::max_element(seconds_by_bound.begin(), seconds_by_bound.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }
};

/// Totals by type, longest first.
std::vector<OpTotal> sum_by_type(const StepEstimate& step) {
  std::map<std::string, OpTotal> totals;
  for (const NodeEstimate& node : step.nodes) {
    OpTotal& total = totals[node.type];
    total.type = node.type;
    ++total.nodes;
    total.cost.flops += node.cost.flops;
    total.cost.bytes += node.cost.bytes;
    total.seconds += node.seconds;
    total.seconds_by_bound[node.bound] += node.seconds;
  }
  std::vector<OpTotal> sorted;
  for (auto& [type, total] : totals) sorted.push_back(std::move(total));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const OpTotal& a, const OpTotal& b) { return a.seconds > b.seconds; });
  return sorted;
}

json write_figures(const Cost& cost, double seconds) {
  return {{"bytes", cost.bytes}, {"flops", cost.flops}, {"ms", seconds * 1e3}};
}

}  // namespace

json predict_on(const Config& config, const Workload& workload, const std::string& device) {
  const std::optional<GpuRates> rates = datasheet_rates(device);
  if (!rates) {
    fail_usage("--device: expected auto, cpu, cuda or a GPU to predict for ({}), got {}", datasheet_models(), device);
  }
  const StepEstimate step =
      estimate_step_time(step_options(config, DType::f16), config.data.batch_size, *workload.model, *rates);
  json ops = json::array(), nodes = json::array();
  for (const OpTotal& op : sum_by_type(step)) {
    json entry = write_figures(op.cost, op.seconds);
    entry.update({{"type", op.type}, {"nodes", op.nodes}, {"bound", to_string(op.bound())}});
    ops.push_back(std::move(entry));
  }
  for (const NodeEstimate& node : step.nodes) {
    json entry = write_figures(node.cost, node.seconds);
    entry.update({{"name", node.name}, {"type", node.type}, {"bound", to_string(node.bound)}});
    nodes.push_back(std::move(entry));
  }
  return {{"device", device},
          {"model", workload.model->signature()},
          {"batch_size", config.data.batch_size},
          {"step", write_figures(step.cost, step.seconds)},
          {"samples_per_second", step.samples_per_second},
          {"ops", ops},
          {"nodes", nodes}};
}

std::string prediction_table(const json& prediction) {
  std::string text = fmt::format("{} on {}, batch {}: predicted from bytes and FLOPs, not measured\n",
                                 prediction["model"].get<std::string>(), prediction["device"].get<std::string>(),
                                 prediction["batch_size"].get<std::int64_t>());
  const auto row = [&text](const std::string& name, const std::string& nodes, const json& f, const std::string& bound) {
    text += fmt::format("{:<34} {:>6} {:>9.2f} {:>9.3f} {:>9.3f}  {}\n", name, nodes, f["bytes"].get<double>() * 1e-9,
                        f["flops"].get<double>() * 1e-12, f["ms"].get<double>(), bound);
  };
  text += fmt::format("{:<34} {:>6} {:>9} {:>9} {:>9}  {}\n", "op", "nodes", "GB", "TFLOP", "ms", "bound by");
  for (const json& op : prediction["ops"]) {
    row(op["type"], std::to_string(op["nodes"].get<std::int64_t>()), op, op["bound"]);
  }
  row("step", "", prediction["step"], fmt::format("{:.0f} samples/s", prediction["samples_per_second"].get<double>()));
  return text;
}

}  // namespace ptrain
