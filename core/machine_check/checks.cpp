#include "core/machine_check/checks.h"

#include "core/base/text_columns.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

std::string format_figure(double value, std::string_view unit) {
  const bool whole = value >= 100 || value == static_cast<double>(static_cast<std::int64_t>(value));
  return fmt::format("{:.{}f}{}{}", value, whole ? 0 : value >= 10 ? 1 : 2, unit.empty() ? "" : " ", unit);
}

std::string format_expected(const MachineMetric& key, const ExpectedFigure& expected) {
  std::string text = format_figure(expected.value, key.unit);
  if (expected.tolerance > 0) text += fmt::format(" - {:.0f} %", 100 * expected.tolerance);
  return expected.source.empty() ? text : fmt::format("{} ({})", text, expected.source);
}

bool meets_expectation(MetricRule kind, double found, const ExpectedFigure& expected) {
  switch (kind) {
    case MetricRule::same:
      return found == expected.value;
    case MetricRule::most:
      return found <= expected.value;
    case MetricRule::least:
    case MetricRule::measured:
      break;
  }
  return found >= expected.value * (1 - expected.tolerance);
}

Check check_figure(const MachineMetric& key, const std::optional<double>& found,
                   const std::optional<ExpectedFigure>& expected) {
  Check check;
  check.what = key.what;
  if (found) check.found = format_figure(*found, key.unit);
  if (expected) check.expected = format_expected(key, *expected);
  if (!expected) {
    check.reason = found ? "no expected value" : "not reported, and no expected value";
  } else if (!found && key.kind == MetricRule::measured && expected->source != "highest") {
    check.verdict = CheckVerdict::failed;
    check.reason = "cannot be run here";
  } else if (!found) {
    check.reason = "not reported by the device";
  } else {
    check.verdict = meets_expectation(key.kind, *found, *expected) ? CheckVerdict::ok : CheckVerdict::failed;
  }
  return check;
}

Check check_text(const char* name, const DeviceMetrics& found, const DeviceMetrics& expected) {
  Check check;
  check.what = name;
  if (const auto text = found.texts.find(name); text != found.texts.end()) check.found = text->second;
  if (const auto text = expected.texts.find(name); text != expected.texts.end()) check.expected = text->second;
  if (check.expected.empty()) {
    check.reason = "no expected value";
  } else if (check.found.empty()) {
    check.reason = "not reported by the device";
  } else {
    check.verdict = check.found == check.expected ? CheckVerdict::ok : CheckVerdict::failed;
  }
  return check;
}

template <typename Map>
auto find(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

/// A rate may be lower by the file's tolerance; some memory is always reserved.
double choose_tolerance(const MachineMetric& key, const ExpectedMachine& file) {
  constexpr double reserved = 0.05;
  if (key.name == "memory_gb") return reserved;
  return key.kind == MetricRule::measured ? file.tolerance : 0;
}

}  // namespace

std::string_view to_string(CheckVerdict verdict) {
  constexpr std::array<std::string_view, 3> names{"ok", "FAIL", "skipped"};
  return names.at(static_cast<std::size_t>(verdict));
}

void CheckReport::add(std::vector<Check> more) {
  for (Check& check : more) {
    passed = passed && check.verdict != CheckVerdict::failed;
    checks.push_back(std::move(check));
  }
}

std::int64_t CheckReport::count(CheckVerdict verdict) const {
  return std::count_if(checks.begin(), checks.end(), [&](const Check& check) { return check.verdict == verdict; });
}

std::vector<Check> check_metrics(DeviceClass part, const ProbedDevice& device, const DeviceMetrics& expected,
                                 const ExpectedMachine& file, const ExpectedFigures& defaults) {
  std::vector<Check> checks{check_text("model", device.metrics, expected)};
  if (part == DeviceClass::gpu) checks.push_back(check_text("driver", device.metrics, expected));
  for (const MachineMetric& key : machine_metrics()) {
    if (!key.belongs_to(part)) continue;
    std::optional<ExpectedFigure> wanted = find(defaults, key.name);
    if (const auto value = find(expected.figures, key.name))
      wanted = ExpectedFigure{*value, choose_tolerance(key, file), "file"};
    checks.push_back(check_figure(key, find(device.metrics.figures, key.name), wanted));
    Check& check = checks.back();
    if (key.kind == MetricRule::measured && check.verdict == CheckVerdict::failed && check.reason.empty())
      check.reason = device.disturbance;
  }
  for (Check& check : checks) check.device = device.name;
  return checks;
}

Check check_throttling(const std::string& device, const std::optional<GpuReport>& seen, const std::string& reason) {
  Check check{device, "throttling under load", "", "none", CheckVerdict::skipped, reason};
  if (!seen) return check;
  check.verdict = CheckVerdict::ok;
  for (const auto& [name, share] : seen->throttled) {
    if (share <= 0) continue;
    check.found += fmt::format("{}{} {:.0f} %", check.found.empty() ? "" : ", ", name, 100 * share);
    if (name != Sensors::power_cap) check.verdict = CheckVerdict::failed;
  }
  if (check.found.empty()) check.found = "none";
  check.expected = fmt::format("none but {}", Sensors::power_cap);
  return check;
}

std::string checks_text(const CheckReport& report) {
  const auto or_dash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  std::vector<std::vector<std::string>> rows{{"device", "what", "found", "expected", "verdict"}};
  for (const Check& check : report.checks) {
    rows.push_back({check.device, check.what, or_dash(check.found), or_dash(check.expected),
                    fmt::format("{}{}", to_string(check.verdict), check.reason.empty() ? "" : ": " + check.reason)});
  }
  return align_columns(rows) + fmt::format("{} ok, {} failed, {} skipped\n", report.count(CheckVerdict::ok),
                                           report.count(CheckVerdict::failed), report.count(CheckVerdict::skipped));
}

}  // namespace ptrain
