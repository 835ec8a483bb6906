#include "core/analysis/op_times.h"

#include "core/base/counted.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

namespace ptrain {

double milliseconds_of_call(const KernelReport& kernel) {
  return kernel.calls == 0 ? 0 : kernel.milliseconds / static_cast<double>(kernel.calls);
}

std::vector<OpTime> op_times(const Report& report) {
  std::map<std::string, OpTime> by_op;
  for (const KernelReport& kernel : report.kernels) {
    if (kernel.calls == 0 || kernel.milliseconds <= 0) continue;
    OpTime& op = by_op[kernel.op];
    op.op = kernel.op;
    op.milliseconds += milliseconds_of_call(kernel);
    op.flops += kernel.flops;
    op.bytes += kernel.bytes;
  }
  std::vector<OpTime> ops;
  for (const auto& [name, op] : by_op) ops.push_back(op);
  std::sort(ops.begin(), ops.end(), [](const OpTime& a, const OpTime& b) { return a.milliseconds > b.milliseconds; });
  return ops;
}

std::optional<Roof> make_roofline(const Report& report) {
  Roof roof;
  const std::optional<DeviceRates>& rates = report.environment.rates;
  if (rates) roof.bandwidth = rates->memory_bandwidth;
  if (report.utilization && report.utilization->peak_flops) {
    roof.peak = *report.utilization->peak_flops;
  } else if (rates) {
    const std::string& dtype = report.amp.dtype;
    const PrecisionRates& precision = dtype == "bf16" ? rates->bf16 : dtype == "fp16" ? rates->fp16 : rates->fp32;
    roof.peak = std::max(precision.product.value_or(0), precision.convolution.value_or(0));
  }
  if (roof.peak <= 0) return std::nullopt;
  for (const OpTime& op : op_times(report)) {
    const double per_second = 1e3 / op.milliseconds;
    roof.raised =
        roof.raised || op.flops * per_second > roof.peak || (roof.bandwidth && op.bytes * per_second > *roof.bandwidth);
    roof.peak = std::max(roof.peak, op.flops * per_second);
    if (roof.bandwidth) roof.bandwidth = std::max(*roof.bandwidth, op.bytes * per_second);
  }
  return roof;
}

std::optional<double> least_milliseconds(double flops, double bytes, const Roof& roof) {
  if (!roof.bandwidth) return std::nullopt;
  return 1e3 * std::max(flops / roof.peak, bytes / *roof.bandwidth);
}

std::optional<double> least_milliseconds(const OpTime& op, const Roof& roof) {
  return least_milliseconds(op.flops, op.bytes, roof);
}

std::string slowest_nodes_text(const Report& report, std::size_t most) {
  std::vector<const KernelReport*> nodes;
  double all = 0;
  for (const KernelReport& node : report.kernels) {
    if (node.calls == 0 || node.milliseconds <= 0) continue;
    nodes.push_back(&node);
    all += milliseconds_of_call(node);
  }
  if (nodes.empty()) return {};
  std::stable_sort(nodes.begin(), nodes.end(), [](const KernelReport* a, const KernelReport* b) {
    return milliseconds_of_call(*a) > milliseconds_of_call(*b);
  });
  const std::size_t listed = std::min(most, nodes.size());
  const std::optional<Roof> roof = make_roofline(report);
  std::string text = fmt::format("{:<26} {:<30} {:<26} {:>8} {:>6} {:>8} {:>7} {}\n", "op", "layer", "implementation",
                                 "ms", "%", "GFLOP/s", "GB/s", "of the roofline");
  for (const KernelReport* node : std::span(nodes).first(listed)) {
    const double ms = milliseconds_of_call(*node);
    const std::optional<double> least = roof ? least_milliseconds(node->flops, node->bytes, *roof) : std::nullopt;
    const bool computes = roof && roof->bandwidth && node->flops / roof->peak > node->bytes / *roof->bandwidth;
    text +=
        fmt::format("{:<26} {:<30} {:<26} {:>8.3f} {:>6.1f} {:>8.0f} {:>7.1f} {}\n", node->op, node->node,
                    node->implementation.empty() ? "-" : node->implementation, ms, 100 * ms / all,
                    node->flops / ms * 1e-6, node->bytes / ms * 1e-6,
                    least ? fmt::format("{:.0f} % of {}", 100 * *least / ms, computes ? "arithmetic" : "memory") : "-");
  }
  if (listed < nodes.size()) text += fmt::format("and {} that are faster\n", counted(nodes.size() - listed, "node"));
  return text;
}

}  // namespace ptrain
