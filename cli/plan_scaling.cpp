#include "cli/plan_scaling.h"

#include "cli/shipped.h"
#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/train/scaling.h"

namespace ptrain {
namespace {

nlohmann::json load_report(const std::string& path) {
  nlohmann::json report = nlohmann::json::parse(read_file(path), nullptr, false);
  if (!report.is_object()) fail_usage("{}: expected a report of ptrain run", path);
  return report;
}

}  // namespace

nlohmann::json predict_scaling(const Config& config, const Workload& workload, const ScalingOptions& options) {
  if (options.links.empty()) fail_usage("--ranks needs --links FILE, with the latency and bandwidth of the links");
  if (options.measured.empty()) fail_usage("--ranks needs --measured REPORT, of this configuration on one rank");
  const Links links = load_links(shipped_file(options.links));
  const MeasuredStep measured = measured_step(config, workload.backend->kernels().preferred_low_precision(),
                                              *workload.model, load_report(options.measured));
  nlohmann::json list = nlohmann::json::array();
  for (const int ranks : options.ranks) {
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
  return text;
}

}  // namespace ptrain
