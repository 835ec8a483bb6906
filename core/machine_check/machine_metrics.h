// Metrics of a machine check: one table with each metric's key in files of expected values, its unit and its
// comparison.
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

/// Comparison of the found value: equal; no less; no more; no less, within the file's tolerance.
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

/// In the order of display.
std::span<const MachineMetric> machine_metrics();
/// Names of the metrics of `part` (cpu or gpu), then its text properties: model, and a GPU's driver.
std::vector<std::string> metric_names(DeviceClass part);

/// Figures by MachineMetric::name, in that metric's unit; unknown ones are absent.
using MetricMap = std::map<std::string, double, std::less<>>;

/// Properties of a CPU or GPU, as measured or as expected by a file.
struct DeviceMetrics {
  MetricMap figures;
  std::map<std::string, std::string, std::less<>> texts;

  bool empty() const { return figures.empty() && texts.empty(); }
  /// Removes what is measured, and keeps what is read.
  void remove_rates();
};

/// An expected figure, which may be lower by a fraction of `tolerance`; `source` names its origin.
struct ExpectedFigure {
  double value = 0;
  double tolerance = 0;
  std::string source;
};
using ExpectedFigures = std::map<std::string, ExpectedFigure, std::less<>>;

/// Measured rates by metric name; those that could not be measured are left out.
MetricMap collect_metrics(const DeviceRates& rates);
MetricMap collect_metrics(const DeviceCondition& condition);

/// Expected values of a GPU without a file: no memory errors, links and clocks at the device's maximum, its default
/// power limit, and the rates of its model's data sheet. Half of the data sheet's arithmetic and three quarters of its
/// bandwidth suffice, since small GPUs reach no more under their power limit. Five percent of memory may be reserved.
ExpectedFigures default_expectations(const DeviceCondition& condition, const std::optional<GpuDataSheet>& sheet);

}  // namespace ptrain
