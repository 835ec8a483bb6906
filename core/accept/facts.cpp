#include "core/accept/facts.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

constexpr FactKey keys[] = {
    {"threads", "compute threads", "", FactKind::same, FactOf::cpu},
    {"memory_gb", "memory", "GB", FactKind::least, FactOf::both},
    {"new_memory_errors", "uncorrected ECC errors, volatile", "", FactKind::most, FactOf::gpu},
    {"all_memory_errors", "uncorrected ECC errors, aggregate", "", FactKind::most, FactOf::gpu},
    {"rows_to_remap", "remapped rows pending", "", FactKind::most, FactOf::gpu},
    {"failed_remaps", "row remapping failed", "", FactKind::most, FactOf::gpu},
    {"pcie_generation", "PCIe generation", "", FactKind::least, FactOf::gpu},
    {"pcie_width", "PCIe width", "lanes", FactKind::least, FactOf::gpu},
    {"nvlink_links", "NVLink, links", "", FactKind::least, FactOf::gpu},
    {"nvlink_gb_s", "NVLink, each link and direction", "GB/s", FactKind::least, FactOf::gpu},
    {"power_limit_watts", "power limit", "W", FactKind::least, FactOf::gpu},
    {"sm_clock_mhz", "SM clock under load", "MHz", FactKind::measured, FactOf::gpu},
    {"memory_clock_mhz", "memory clock under load", "MHz", FactKind::measured, FactOf::gpu},
    {"fp32_product", "fp32, matrix product", "Gop/s", FactKind::measured, FactOf::both},
    {"fp32_convolution", "fp32, 3x3 convolution", "Gop/s", FactKind::measured, FactOf::both},
    {"bf16_product", "bf16, matrix product", "Gop/s", FactKind::measured, FactOf::both},
    {"bf16_convolution", "bf16, 3x3 convolution", "Gop/s", FactKind::measured, FactOf::both},
    {"fp16_product", "fp16, matrix product", "Gop/s", FactKind::measured, FactOf::both},
    {"fp16_convolution", "fp16, 3x3 convolution", "Gop/s", FactKind::measured, FactOf::both},
    {"int8_product", "int8, matrix product", "Gop/s", FactKind::measured, FactOf::both},
    {"int8_convolution", "int8, 3x3 convolution", "Gop/s", FactKind::measured, FactOf::both},
    {"memory_bandwidth_gb_s", "memory bandwidth", "GB/s", FactKind::measured, FactOf::both},
};
constexpr double giga = 1e9;

void set(Facts& facts, std::string name, const std::optional<double>& value, double unit = 1) {
  if (value) facts[std::move(name)] = *value / unit;
}

}  // namespace

std::span<const FactKey> fact_keys() { return keys; }

std::vector<std::string> fact_names(FactOf part) {
  std::vector<std::string> names;
  for (const FactKey& key : keys) {
    if (key.belongs_to(part)) names.emplace_back(key.name);
  }
  names.emplace_back("model");
  if (part == FactOf::gpu) names.emplace_back("driver");
  return names;
}

Facts facts_of(const DeviceRates& rates) {
  Facts facts;
  const std::pair<const char*, const PrecisionRates*> precisions[] = {
      {"fp32", &rates.fp32}, {"bf16", &rates.bf16}, {"fp16", &rates.fp16}, {"int8", &rates.int8}};
  for (const auto& [name, of] : precisions) {
    set(facts, fmt::format("{}_product", name), of->product, giga);
    set(facts, fmt::format("{}_convolution", name), of->convolution, giga);
  }
  set(facts, "memory_bandwidth_gb_s", rates.memory_bandwidth, giga);
  return facts;
}

Facts facts_of(const DeviceCondition& condition) {
  Facts facts;
  set(facts, "new_memory_errors", condition.new_memory_errors);
  set(facts, "all_memory_errors", condition.all_memory_errors);
  set(facts, "rows_to_remap", condition.rows_to_remap);
  set(facts, "failed_remaps", condition.failed_remaps);
  set(facts, "pcie_generation", condition.pcie_generation);
  set(facts, "pcie_width", condition.pcie_width);
  set(facts, "nvlink_links", condition.links);
  set(facts, "nvlink_gb_s", condition.link_bandwidth, giga);
  set(facts, "power_limit_watts", condition.power_limit);
  return facts;
}

ExpectedFigures usual_figures(const DeviceCondition& condition, const std::optional<GpuDataSheet>& sheet) {
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
