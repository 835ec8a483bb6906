#include "core/machine_check/machine_metrics.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

constexpr MachineMetric keys[] = {
    {"threads", "compute threads", "", MetricRule::same, DeviceClass::cpu},
    {"memory_gb", "memory", "GB", MetricRule::least, DeviceClass::both},
    {"new_memory_errors", "uncorrected ECC errors, volatile", "", MetricRule::most, DeviceClass::gpu},
    {"all_memory_errors", "uncorrected ECC errors, aggregate", "", MetricRule::most, DeviceClass::gpu},
    {"rows_to_remap", "remapped rows pending", "", MetricRule::most, DeviceClass::gpu},
    {"failed_remaps", "row remapping failed", "", MetricRule::most, DeviceClass::gpu},
    {"pcie_generation", "PCIe generation", "", MetricRule::least, DeviceClass::gpu},
    {"pcie_width", "PCIe width", "lanes", MetricRule::least, DeviceClass::gpu},
    {"nvlink_links", "NVLink, links", "", MetricRule::least, DeviceClass::gpu},
    {"nvlink_gb_s", "NVLink, each link and direction", "GB/s", MetricRule::least, DeviceClass::gpu},
    {"power_limit_watts", "power limit", "W", MetricRule::least, DeviceClass::gpu},
    {"sm_clock_mhz", "SM clock under load", "MHz", MetricRule::measured, DeviceClass::gpu},
    {"memory_clock_mhz", "memory clock under load", "MHz", MetricRule::measured, DeviceClass::gpu},
    {"fp32_product", "fp32, matrix product", "Gop/s", MetricRule::measured, DeviceClass::both},
    {"fp32_convolution", "fp32, 3x3 convolution", "Gop/s", MetricRule::measured, DeviceClass::both},
    {"bf16_product", "bf16, matrix product", "Gop/s", MetricRule::measured, DeviceClass::both},
    {"bf16_convolution", "bf16, 3x3 convolution", "Gop/s", MetricRule::measured, DeviceClass::both},
    {"fp16_product", "fp16, matrix product", "Gop/s", MetricRule::measured, DeviceClass::both},
    {"fp16_convolution", "fp16, 3x3 convolution", "Gop/s", MetricRule::measured, DeviceClass::both},
    {"int8_product", "int8, matrix product", "Gop/s", MetricRule::measured, DeviceClass::both},
    {"int8_convolution", "int8, 3x3 convolution", "Gop/s", MetricRule::measured, DeviceClass::both},
    {"memory_bandwidth_gb_s", "memory bandwidth", "GB/s", MetricRule::measured, DeviceClass::both},
};
constexpr double giga = 1e9;

void set(MetricMap& metrics, std::string name, const std::optional<double>& value, double unit = 1) {
  if (value) metrics[std::move(name)] = *value / unit;
}

}  // namespace

std::span<const MachineMetric> machine_metrics() { return keys; }

void DeviceMetrics::remove_rates() {
  for (const MachineMetric& key : keys) {
    if (key.kind == MetricRule::measured) figures.erase(std::string(key.name));
  }
}

std::vector<std::string> metric_names(DeviceClass part) {
  std::vector<std::string> names;
  for (const MachineMetric& key : keys) {
    if (key.belongs_to(part)) names.emplace_back(key.name);
  }
  names.emplace_back("model");
  if (part == DeviceClass::gpu) names.emplace_back("driver");
  return names;
}

MetricMap collect_metrics(const DeviceRates& rates) {
  MetricMap metrics;
  const std::pair<const char*, const PrecisionRates*> precisions[] = {
      {"fp32", &rates.fp32}, {"bf16", &rates.bf16}, {"fp16", &rates.fp16}, {"int8", &rates.int8}};
  for (const auto& [name, of] : precisions) {
    set(metrics, fmt::format("{}_product", name), of->product, giga);
    set(metrics, fmt::format("{}_convolution", name), of->convolution, giga);
  }
  set(metrics, "memory_bandwidth_gb_s", rates.memory_bandwidth, giga);
  return metrics;
}

MetricMap collect_metrics(const DeviceCondition& condition) {
  MetricMap metrics;
  set(metrics, "new_memory_errors", condition.new_memory_errors);
  set(metrics, "all_memory_errors", condition.all_memory_errors);
  set(metrics, "rows_to_remap", condition.rows_to_remap);
  set(metrics, "failed_remaps", condition.failed_remaps);
  set(metrics, "pcie_generation", condition.pcie_generation);
  set(metrics, "pcie_width", condition.pcie_width);
  set(metrics, "nvlink_links", condition.links);
  set(metrics, "nvlink_gb_s", condition.link_bandwidth, giga);
  set(metrics, "power_limit_watts", condition.power_limit);
  return metrics;
}

ExpectedFigures default_expectations(const DeviceCondition& condition, const std::optional<GpuDataSheet>& sheet) {
  constexpr double clocks_under_load = 1.0 / 3;
  constexpr double of_arithmetic = 0.5, of_bandwidth = 0.25, reserved = 0.05;
  ExpectedFigures figures;
  const auto expect = [&](const char* name, const std::optional<double>& value, double tolerance, const char* source) {
    if (value) figures[name] = {*value, tolerance, source};
  };
  for (const char* errors : {"new_memory_errors", "all_memory_errors", "rows_to_remap", "failed_remaps"}) {
    expect(errors, 0, 0, "");
  }
  expect("pcie_generation", condition.most_pcie_generation, 0, "the most here");
  expect("pcie_width", condition.most_pcie_width, 0, "the most here");
  if (condition.links.value_or(0) > 0) expect("nvlink_links", condition.most_links, 0, "built in");
  expect("power_limit_watts", condition.default_power_limit, 0, "default");
  expect("sm_clock_mhz", condition.most_sm_mhz, clocks_under_load, "highest");
  expect("memory_clock_mhz", condition.most_memory_mhz, reserved, "highest");
  if (!sheet) return figures;
  const char* const source = "data sheet";
  expect("memory_gb", sheet->memory_gb, reserved, source);
  expect("pcie_generation", sheet->pcie_generation, 0, source);
  expect("pcie_width", sheet->pcie_width, 0, source);
  expect("nvlink_links", sheet->nvlink_links, 0, source);
  expect("nvlink_gb_s", sheet->nvlink_gb_s, 0, source);
  expect("power_limit_watts", sheet->power_limit_watts, 0, source);
  expect("fp32_product", sheet->rates.fp32 / giga, of_arithmetic, source);
  expect("fp16_product", sheet->rates.low / giga, of_arithmetic, source);
  if (sheet->has_bf16) expect("bf16_product", sheet->rates.low / giga, of_arithmetic, source);
  expect("memory_bandwidth_gb_s", sheet->rates.bandwidth / giga, of_bandwidth, source);
  return figures;
}

}  // namespace ptrain
