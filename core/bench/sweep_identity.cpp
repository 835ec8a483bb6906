#include "core/bench/sweep_identity.h"

#include "core/config/keys.h"
#include "core/config/text.h"
#include "core/report/json_file.h"

#include <algorithm>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// A part of a command; empty for an own run.
std::string get_text(const nlohmann::json& work, const char* part) {
  return work.is_object() ? work.value(part, std::string()) : std::string();
}

std::string describe_config_difference(const SuiteCase& before, const BenchCase& now) {
  std::string text;
  for (const Key& key : config_keys()) {
    if (before.work.is_null() || !key.defines_work) continue;
    const nlohmann::json fallback = default_value(key);
    const nlohmann::json earlier = before.work.value(key.name, fallback), later = now.work.value(key.name, fallback);
    if (earlier != later) add_change(text, key.name, to_text(earlier), to_text(later));
  }
  for (const char* part : {"command", "metric", "unit"}) {
    const std::string earlier = get_text(before.work, part), later = get_text(now.work, part);
    if (earlier != later) add_change(text, part, shown(earlier), shown(later));
  }
  return text.empty() ? "its configuration was different" : text;
}

}  // namespace

bool has_records(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / "suite.json", error)) return false;
  const auto runs = fs::recursive_directory_iterator(folder / "runs", error);
  return !error && std::any_of(begin(runs), end(runs),
                               [](const auto& entry) { return entry.path().filename() == "record.json"; });
}

std::string sweep_difference(const SuiteRecord& before, const Suite& suite, const SweepSetting& now) {
  if (before.suite != suite.name) return fmt::format("it belongs to suite {}, this is {}", before.suite, suite.name);
  if (before.machine.hash != now.machine.hash) {
    return fmt::format("it was measured on another machine ({})", before.machine.name);
  }
  for (const BenchCase& item : suite.cases) {
    const auto known = std::find_if(before.cases.begin(), before.cases.end(),
                                    [&](const SuiteCase& other) { return other.name == item.name; });
    if (known == before.cases.end() || known->config_hash == item.config_hash) continue;
    return fmt::format("{}: {}", item.name, describe_config_difference(*known, item));
  }
  if (std::string difference = software_difference(before.software.value_or(Software{}), now.software);
      before.software && !difference.empty()) {
    return difference;
  }
  if (before.binary != now.program.hash) {
    return "it was measured with another build of the program";
  }
  if (before.seed != suite.seed) return fmt::format("seed was {}, is {}", before.seed, suite.seed);
  return {};
}

}  // namespace ptrain
