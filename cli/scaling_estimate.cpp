#include "cli/scaling_estimate.h"

#include "cli/shipped.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/config/keys.h"
#include "core/io/atomic_file.h"
#include "core/report/json_file.h"
#include "core/train/options_from_config.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ptrain {
namespace {

nlohmann::json load_report(const std::string& path) {
  nlohmann::json report = nlohmann::json::parse(read_file(path), nullptr, false);
  if (!report.is_object()) fail_usage("{}: expected a report of ptrain run", path);
  return report;
}

/// The value of a dotted key in a report's configuration; null if it has none.
nlohmann::json find_value(const nlohmann::json& report, std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  const nlohmann::json::json_pointer at("/config/" + name);
  return report.contains(at) ? report.at(at) : nlohmann::json();
}

/// Throws Error{usage} if the report's step is not one of this configuration's: of another model, size or batch.
void require_same_step(const Config& config, const nlohmann::json& report, const std::string& path) {
  constexpr std::array<const char*, 16> keys{"model.name",           "model.size",
                                             "model.stem",           "model.head",
                                             "model.blur_pool",      "model.segments",
                                             "model.hash_buckets",   "data.image_size",
                                             "data.max_length",      "data.padding",
                                             "data.batch_size",      "model.embedding_size",
                                             "train.optimizer.name", "train.accumulate_steps",
                                             "model.output_stride",  "model.classes"};
  for (const char* name : keys) {
    const Key& key = *find_key(name);
    const nlohmann::json theirs = find_value(report, name), ours = key.get(config);
    if (theirs.is_null() || theirs == ours) continue;
    const bool is_capacity = config.model.dynamic_table && key.name == "model.hash_buckets";  // which costs no time
    const bool either_automatic = key.name == "model.classes" && (theirs == 0 || ours == 0);
    if (is_capacity || either_automatic) continue;
    fail_usage("--measured {}: is of another training: {} {}, here {}", path, name, to_text(theirs), to_text(ours));
  }
}

/// What each rank sends the others for divided tables in a step, and how long that takes; null where nothing does.
nlohmann::json predict_tables(const TableTraffic& traffic, const MeasuredStep& step, const Links& links, int ranks) {
  if (traffic.ids == 0) return nullptr;
  const double to_others = static_cast<double>(ranks - 1) / ranks;
  double seconds = 0;
  for (const MeasuredStep::Event& event : step.events) {
    if (event.kind == StepEventKind::all_to_all) seconds += all_to_all_seconds(links, ranks, event.bytes);
  }
  return {{"ids", traffic.ids},
          {"different_ids", traffic.different_ids},
          {"id_bytes", traffic.id_bytes * to_others},
          {"row_bytes", traffic.row_bytes * to_others},
          {"gradient_bytes", traffic.gradient_bytes * to_others},
          {"busiest", traffic.busiest},
          {"exchange_ms", seconds * 1e3}};
}

std::string tables_line(const nlohmann::json& prediction) {
  const nlohmann::json tables = prediction.value("tables", nlohmann::json());
  if (tables.is_null()) return {};
  const auto number = [&](const char* key) { return tables.at(key).get<double>(); };
  const double busiest = number("busiest");
  return fmt::format(
      "{:>14}: of {:.0f} ids in a rank's batch {}{:.0f} differ on average; it sends the others {:.3g} MB of ids, "
      "{:.3g} MB of rows and {:.3g} MB of gradients{}, in {:.2f} ms\n",
      counted(prediction.at("ranks").get<int>(), "rank"), number("ids"), busiest > 1 ? "" : "at most ",
      number("different_ids"), number("id_bytes") * 1e-6, number("row_bytes") * 1e-6, number("gradient_bytes") * 1e-6,
      busiest > 1 ? fmt::format(", the busiest rank {:.2f} times as much", busiest) : "", number("exchange_ms"));
}

}  // namespace

nlohmann::json predict_scaling(const Config& config, const Workload& workload, const ScalingOptions& options) {
  if (options.measured.empty()) {
    fail_usage("--ranks needs --links FILE, and --measured REPORT, of this configuration on one rank, or --device GPU");
  }
  const nlohmann::json report = load_report(options.measured);
  require_same_step(config, report, options.measured);
  return predict_scaling(config, workload, options, reported_step_times(report));
}

nlohmann::json predict_scaling(const Config& config, const Workload& workload, const ScalingOptions& options,
                               const StepTimes& times) {
  if (options.links.empty()) fail_usage("--ranks needs --links FILE, with the latency and bandwidth of the links");
  const Links links = load_links(shipped_file(options.links));
  const DType low_precision = workload.backend->kernels().preferred_low_precision();
  nlohmann::json list = nlohmann::json::array();
  for (const int ranks : options.ranks) {
    const StepOptions step = step_options(config, *workload.model, low_precision, std::max(ranks, 2));
    MeasuredStep measured = divide_step(step, config.data.batch_size, *workload.model, times, options.zipf);
    measured.slowest = options.straggler;
    const ScaledStep p = estimate_scaled_step(measured, links, ranks);
    list.push_back(
        {{"ranks", p.ranks},
         {"step_ms", p.step_seconds * 1e3},
         {"exchange_ms", p.exchange_seconds * 1e3},
         {"exposed_ms", p.exposed_seconds * 1e3},
         {"imbalance_ms", p.imbalance_seconds * 1e3},
         {"efficiency", p.efficiency},
         {"samples_per_second",
          static_cast<double>(config.data.batch_size * config.train.accumulate_steps * p.ranks) / p.step_seconds}});
    const TableTraffic traffic = count_table_traffic(step, config.data.batch_size, *workload.model, options.zipf);
    if (const nlohmann::json tables = predict_tables(traffic, measured, links, ranks); !tables.is_null()) {
      list.back()["tables"] = tables;
    }
  }
  return list;
}

std::string scaling_table(const nlohmann::json& predictions) {
  std::string text = fmt::format("{:>8} {:>12} {:>12} {:>12} {:>12} {:>14} {:>11}\n", "ranks", "step ms", "exchange ms",
                                 "exposed ms", "waiting ms", "samples/s", "efficiency");
  for (const nlohmann::json& p : predictions) {
    const auto number = [&](const char* key) { return p.at(key).get<double>(); };
    text += fmt::format("{:>8} {:>12.2f} {:>12.2f} {:>12.2f} {:>12.2f} {:>14.1f} {:>11.3f}\n", p.at("ranks").get<int>(),
                        number("step_ms"), number("exchange_ms"), number("exposed_ms"), number("imbalance_ms"),
                        number("samples_per_second"), number("efficiency"));
  }
  for (const nlohmann::json& p : predictions) text += tables_line(p);
  return text;
}

}  // namespace ptrain
