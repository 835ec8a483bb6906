// What a machine is held to when it is accepted: one table of figures, each with the key that files of expected values
// give it, its unit and how it is compared.
#pragma once

#include "core/base/device_rates.h"
#include "core/base/gpu_datasheet.h"
#include "core/exec/sensors.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// How what is found is compared: the same; no less; no more; no less but for the file's tolerance.
enum class MetricRule { same, least, most, measured };
enum class DeviceClass { cpu, gpu, both };

struct MachineMetric {
  std::string_view name;  // "fp32_product"
  std::string_view what;  // "fp32, matrix product"
  std::string_view unit;  // "Gop/s", or empty
  MetricRule kind;
  DeviceClass of;

  bool belongs_to(DeviceClass part) const { return of == DeviceClass::both || of == part; }
};

/// In the order in which they are listed.
std::span<const MachineMetric> machine_metrics();
/// Names of those that `part` (cpu or gpu) has, then its texts': model, and a GPU's driver.
std::vector<std::string> metric_names(DeviceClass part);

/// Figures by MachineMetric::name in its unit; what is not known is absent.
using MetricMap = std::map<std::string, double, std::less<>>;

/// A CPU, or a GPU: what it is found to be, or what a file expects.
struct DeviceMetrics {
  MetricMap figures;
  std::map<std::string, std::string, std::less<>> texts;

  bool empty() const { return figures.empty() && texts.empty(); }
};

/// A figure to hold a device to, less than which by a share of `tolerance` will do; `source` says who expects it.
struct ExpectedFigure {
  double value = 0;
  double tolerance = 0;
  std::string source;
};
using ExpectedFigures = std::map<std::string, ExpectedFigure, std::less<>>;

/// What was measured, under the names that expectations go by; what could not be measured is left out.
MetricMap collect_metrics(const DeviceRates& rates);
MetricMap collect_metrics(const DeviceCondition& condition);

/// What is expected of a GPU when no file says it: no errors of memory, links and clocks as wide and fast as the device
/// can, its default power limit, and what the data sheet of its model says. Half of the data sheet's arithmetic will
/// do, and three quarters of its bandwidth: small GPUs reach no more under their power limit. Five percent of memory
/// may be reserved.
ExpectedFigures default_expectations(const DeviceCondition& condition, const std::optional<GpuDataSheet>& sheet);

}  // namespace ptrain
