#include "cli/machine_check/machine.h"

#include "cli/open_device.h"
#include "cli/shipped.h"
#include "core/base/errors.h"
#include "core/base/standard_streams.h"
#include "core/cpu/cpu_backend.h"
#include "core/machine_check/probe.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

Check check_count(std::size_t gpus, const ExpectedMachine& expected) {
  Check check{"machine", "GPUs", std::to_string(gpus), "", CheckVerdict::skipped, cuda::unavailable_reason()};
  if (!expected.gpus) return check;
  check.expected = fmt::format("{}", *expected.gpus);
  check.verdict = static_cast<double>(gpus) == *expected.gpus ? CheckVerdict::ok : CheckVerdict::failed;
  return check;
}

}  // namespace

CheckReport check_machine(const MachineCheckOptions& options) {
  ExpectedMachine expected;
  if (!options.expected_file.empty()) expected = load_expected(shipped_file(options.expected_file));
  if (!options.save_file.empty()) require_absent(options.save_file);
  CheckReport report;
  report.time = utc_time();
  report.expected_file = expected.source;
  const std::size_t gpus = cuda::unavailable_reason().empty() ? cuda::cuda_info().devices.size() : 0;
  report.add({check_count(gpus, expected)});
  const ProbedDevice cpu = probe_cpu(*cpu::make_backend());
  report.add(check_cpu(cpu, expected));
  std::vector<DeviceMetrics> found;
  for (std::size_t i = 0; i < gpus; ++i) {
    const int index = static_cast<int>(i);
    const ProbedGpu gpu = probe_gpu(*make_backend({DeviceKind::cuda, index}), index);
    report.add(check_gpu(gpu, expected));
    found.push_back(gpu.device.metrics);
  }
  if (!options.save_file.empty()) {
    ExpectedMachine machine;
    machine.about = fmt::format("As measured by ptrain doctor --check --save, {}.", report.time);
    if (gpus > 0) machine.gpus = static_cast<double>(gpus);
    machine.cpu = cpu.metrics;
    if (!cpu.disturbance.empty()) {
      machine.cpu.remove_rates();
      print_error_line(fmt::format("note: {} has no rates of the CPU: {}; save it again on an idle machine",
                                   options.save_file, cpu.disturbance));
    }
    machine.gpu = combine_metrics(found);
    save_expected(machine, options.save_file);
  }
  return report;
}

void finish_checks(const CheckReport& report, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", write_fields(report).dump(2));
  } else {
    fmt::print("{}", checks_text(report));
  }
  if (!report.passed) {
    fail("{} of {} checks failed", report.count(CheckVerdict::failed), report.checks.size());
  }
}

}  // namespace ptrain
