#include "cli/step_estimate_text.h"

#include "cli/open_workload.h"
#include "core/base/errors.h"
#include "core/config/config_enums.h"
#include "core/report/progress.h"
#include "core/train/options_from_config.h"
#include "core/train/plans/memory_estimate.h"
#include "core/train/plans/step_estimate.h"

#include <algorithm>
#include <cmath>
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

constexpr double usable_memory_share = 0.94;  // the driver, the context and the libraries take the rest

/// Memory of a step, and the largest batch within `bytes`; that is null where nothing is known of the GPU's memory.
json predict_memory(const StepOptions& options, const Config& config, const Workload& workload,
                    const std::optional<std::int64_t>& bytes) {
  const KernelLibrary& kernels = workload.backend->kernels();
  const std::int64_t batch = config.data.batch_size;
  const Bucket bucket = full_bucket(batch, *workload.training);
  json memory = {{"planned_bytes", estimate_memory(options, *workload.model, bucket, kernels).total()},
                 {"available_bytes", nullptr},
                 {"largest_batch_size", nullptr}};
  if (!bytes) return memory;
  memory["available_bytes"] = *bytes;
  memory["largest_batch_size"] = largest_batch(options, *workload.model, bucket, kernels, *bytes);
  return memory;
}

/// The training whose steps take `step_seconds` on each of `ranks` GPUs. Without train.steps more ranks take fewer
/// steps.
json predict_training(const Config& config, const StepCounts& counts, double step_seconds, int ranks,
                      const std::optional<double>& watts) {
  const double steps = static_cast<double>(counts.total_steps) / (config.train.steps > 0 ? 1 : ranks);
  const double hours = steps * step_seconds / 3600;
  return {{"ranks", ranks},
          {"steps", std::ceil(steps)},
          {"epochs", counts.epochs(counts.total_steps) * (config.train.steps > 0 ? ranks : 1)},
          {"hours", hours},
          {"kilowatt_hours", watts ? json(hours * ranks * *watts * 1e-3) : json()}};
}

}  // namespace

json predict_on(const Config& config, const Workload& workload, const std::string& device, std::int64_t memory_bytes,
                const ScalingOptions& scaling) {
  const std::optional<GpuDataSheet> sheet = find_datasheet(device);
  if (!sheet) {
    fail_usage("--device: expected auto, cpu, cuda or a GPU to predict for ({}), got {}", datasheet_models(), device);
  }
  refuse_block_weights(config);
  const StepOptions options = step_options(config, *workload.model, DType::f16);
  const StepEstimate step = estimate_step_time(options, config.data.batch_size, *workload.model, sheet->rates);
  std::optional<std::int64_t> memory;
  if (sheet->memory_gb) memory = static_cast<std::int64_t>(usable_memory_share * 1e9 * *sheet->memory_gb);
  if (memory_bytes > 0) memory = memory_bytes;
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
  StepTimes times{step.seconds, 0, {}};
  for (const NodeEstimate& node : step.nodes) times.nodes[node.name] += node.seconds;
  const json scaled = scaling.ranks.empty() ? json::array() : predict_scaling(config, workload, scaling, times);
  const TrainingPlanOptions plans = training_plan_options(config, *workload.model, DType::f16, Ranks(nullptr));
  const StepCounts counts = count_steps(config.train, plans.phases, plans.loader, *workload.training);
  json trainings = json::array();
  if (counts.phases.size() == 1) {  // steps of other phases take another time
    if (scaled.empty())
      trainings.push_back(predict_training(config, counts, step.seconds, 1, sheet->power_limit_watts));
    for (const json& one : scaled) {
      trainings.push_back(predict_training(config, counts, one.at("step_ms").get<double>() * 1e-3,
                                           one.at("ranks").get<int>(), sheet->power_limit_watts));
    }
  }
  return {{"device", sheet->model},
          {"is_sxm", sheet->nvlink_links.has_value()},
          {"slower_devices", sheet->slower},
          {"model", workload.model->signature()},
          {"batch_size", config.data.batch_size},
          {"step", write_figures(step.cost, step.seconds)},
          {"samples_per_second", step.samples_per_second},
          {"ops", ops},
          {"nodes", nodes},
          {"memory", predict_memory(step_options(config, *workload.model, DType::f16, count_exchanging_ranks(config)),
                                    config, workload, memory)},
          {"power_limit_watts", sheet->power_limit_watts ? json(*sheet->power_limit_watts) : json()},
          {"scaling", scaled},
          {"training", trainings}};
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
  const json& memory = prediction["memory"];
  const auto mib = [](const json& bytes) { return bytes.get<std::int64_t>() >> 20; };
  text += fmt::format("memory      {} MiB without the libraries' workspace", mib(memory["planned_bytes"]));
  if (!memory["available_bytes"].is_null()) {
    text += fmt::format(", of {} MiB; largest batch {}", mib(memory["available_bytes"]),
                        memory["largest_batch_size"].get<std::int64_t>());
  }
  text += "\n";
  if (!prediction["scaling"].empty()) text += scaling_table(prediction["scaling"]);
  const json& watts = prediction["power_limit_watts"];
  for (const json& one : prediction["training"]) {
    const int ranks = one["ranks"].get<int>();
    text += fmt::format("training    {:.0f} steps, {:.4g} epochs on {} GPU{}: {}", one["steps"].get<double>(),
                        one["epochs"].get<double>(), ranks, ranks == 1 ? "" : "s",
                        clock_text(3600 * one["hours"].get<double>()));
    if (!watts.is_null()) {
      text += fmt::format(", {:.3g} kWh at {:.0f} W each", one["kilowatt_hours"].get<double>(), watts.get<double>());
    }
    text += "\n";
  }
  if (const json& slower = prediction["slower_devices"]; !slower.empty()) {
    text += fmt::format("note        {}{} has the most arithmetic of that name; others: {}\n",
                        prediction["device"].get<std::string>(), prediction["is_sxm"].get<bool>() ? " (SXM)" : "",
                        fmt::join(slower.get<std::vector<std::string>>(), ", "));
  }
  return text;
}

}  // namespace ptrain
