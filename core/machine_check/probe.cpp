#include "core/machine_check/probe.h"

#include "core/base/errors.h"
#include "core/base/machine_load.h"
#include "core/base/machine_memory.h"
#include "core/base/parallel.h"
#include "core/report/environment.h"
#include "core/train/measure/cached_device_rates.h"
#include "core/train/measure/sensor_watch.h"

namespace ptrain {

std::unique_ptr<Sensors> sensors_or_reason(const Instruments& instruments, std::string& reason) {
  try {
    std::unique_ptr<Sensors> sensors = instruments.make_sensors();
    if (sensors == nullptr) reason = "the device has no sensors";
    return sensors;
  } catch (const Error& error) {
    reason = error.what();
    return nullptr;
  }
}

ProbedDevice probe_cpu(Backend& backend) {
  const LoadWatch watch;
  ProbedDevice cpu{"cpu", {collect_metrics(remeasure_rates(backend, {})), {{"model", read_cpu().model}}}, ""};
  const std::optional<OtherLoad> load = watch.measure();
  if (load && load->slows(thread_count())) cpu.disturbance = load->text();
  cpu.metrics.figures["threads"] = thread_count();
  if (memory_bytes() > 0) cpu.metrics.figures["memory_gb"] = static_cast<double>(memory_bytes()) * 1e-9;
  return cpu;
}

ProbedGpu probe_gpu(Backend& backend, int index) {
  constexpr auto between_looks = std::chrono::milliseconds(20);
  const BackendInfo info = backend.info();
  const DeviceInfo& device = info.devices.at(static_cast<std::size_t>(index));
  ProbedGpu gpu;
  const auto sensors = sensors_or_reason(backend.instruments(), gpu.no_sensors);
  std::optional<SensorWatch> watch;
  if (sensors != nullptr) watch.emplace(backend.instruments().make_sensors(), between_looks).start();
  DeviceMetrics& metrics = gpu.device.metrics;
  metrics.figures = collect_metrics(measure_rates(backend, {}));
  DeviceCondition condition;
  if (sensors != nullptr) {
    condition = sensors->condition();
    gpu.watched = watch->stop();
    metrics.figures.merge(collect_metrics(condition));
    if (gpu.watched->sm_clock_mhz) metrics.figures["sm_clock_mhz"] = gpu.watched->sm_clock_mhz->max;
    if (gpu.watched->memory_clock_mhz) metrics.figures["memory_clock_mhz"] = gpu.watched->memory_clock_mhz->max;
  }
  gpu.device.name = fmt::format("{}:{}", backend.name(), index);
  metrics.figures["memory_gb"] = static_cast<double>(device.memory_bytes) * 1e-9;
  metrics.texts["model"] = device.name;
  for (const auto& [library, version] : info.versions) {
    if (library.ends_with("driver")) metrics.texts["driver"] = version;
  }
  gpu.defaults = default_expectations(condition, find_datasheet(device.name));
  return gpu;
}

std::vector<Check> check_cpu(const ProbedDevice& cpu, const ExpectedMachine& expected) {
  return check_metrics(DeviceClass::cpu, cpu, expected.cpu, expected, {});
}

std::vector<Check> check_gpu(const ProbedGpu& gpu, const ExpectedMachine& expected) {
  std::vector<Check> checks = check_metrics(DeviceClass::gpu, gpu.device, expected.gpu, expected, gpu.defaults);
  checks.push_back(check_throttling(gpu.device.name, gpu.watched, gpu.no_sensors));
  return checks;
}

}  // namespace ptrain
