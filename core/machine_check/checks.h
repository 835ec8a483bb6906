// Checks of a machine's measured properties against expected values, one line each.
#pragma once

#include "core/machine_check/expected_file.h"
#include "core/report/report.h"

namespace ptrain {

/// skipped: could not be checked, for the reason given.
enum class CheckVerdict { ok, failed, skipped };
/// "ok", "FAIL", "skipped"
std::string_view to_string(CheckVerdict verdict);

struct Check {
  std::string device;  // "cpu", "cuda:0", "machine"
  std::string what;
  std::string found, expected;  // with units; empty: not known
  CheckVerdict verdict = CheckVerdict::skipped;
  std::string reason;

  void describe(Fields& field) {
    field("device", device, "cpu, cuda:0 and so on, or machine");
    field("what", what, "");
    field("found", found, "measured or read value; empty: not reported by the device");
    field("expected", expected, "empty: nothing");
    field.choice("verdict", verdict, CheckVerdict::skipped, "");
    field("reason", reason, "why it was skipped or failed");
  }
};

struct CheckReport {
  std::string time;
  std::string expected_file;
  bool passed = true;
  std::vector<Check> checks;

  void describe(Fields& field) {
    field.document("ptrain.checks/1",
                   "Checks of a machine against expected values (ptrain doctor --check, --burn-in).");
    field("time", time, "UTC");
    field("expected_file", expected_file, "empty: none");
    field("passed", passed, "no check failed");
    field("checks", checks, "");
  }

  void add(std::vector<Check> more);
  std::int64_t count(CheckVerdict verdict) const;
};

/// One device's measured properties.
struct ProbedDevice {
  std::string name;  // as Check::device
  DeviceMetrics metrics;
  std::string disturbance = {};  // what made its measured rates doubtful; empty: nothing
};

/// Checks every metric of `part` against `expected` from a file, with its tolerance, else against `defaults`. A rate
/// that is too low names what disturbed the measurement.
std::vector<Check> check_metrics(DeviceClass part, const ProbedDevice& device, const DeviceMetrics& expected,
                                 const ExpectedMachine& file, const ExpectedFigures& defaults);

/// Checks that only its power limit held the GPU's clocks down; null `seen`: no sensors, for `reason`.
Check check_throttling(const std::string& device, const std::optional<GpuReport>& seen, const std::string& reason);

/// A line for each check, in columns, and one with their counts.
std::string checks_text(const CheckReport& report);

}  // namespace ptrain
