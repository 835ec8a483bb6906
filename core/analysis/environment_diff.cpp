#include "core/analysis/environment_diff.h"

#include "core/base/errors.h"
#include "core/config/keys.h"
#include "core/config/text.h"
#include "core/report/json_file.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> difference_kinds = {"hardware", "config", "data", "note"};

struct Watched {
  const char* pointer;
  DifferenceKind kind;
};

/// The parts of a report compared in addition to the configuration, as JSON.
json select_watched_parts(const Report& report) {
  json flags = json::object();
  for (const auto& [name, flag] : report.flags) flags[name] = {{"reason", flag.reason}};
  return {{"environment", write_fields(report.environment)}, {"flags", flags}};
}

constexpr Watched watched_parts[] = {
    {"/environment/cpu/model", DifferenceKind::hardware},
    {"/environment/cpu/usable_cores", DifferenceKind::hardware},
    {"/environment/cpu/quota", DifferenceKind::hardware},
    {"/environment/cpu/features", DifferenceKind::hardware},
    {"/environment/threads", DifferenceKind::hardware},
    {"/environment/memory_bytes", DifferenceKind::hardware},
    {"/environment/devices", DifferenceKind::hardware},
    {"/environment/libraries", DifferenceKind::note},
    {"/environment/noise/governor", DifferenceKind::note},
    {"/environment/os", DifferenceKind::note},
    {"/environment/kernel", DifferenceKind::note},
    {"/environment/ptrain", DifferenceKind::note},
    {"/flags/cudnn_exhaustive_search/reason", DifferenceKind::note},
};

/// "environment.cpu.model"
std::string to_dotted(std::string_view pointer) {
  std::string name(pointer.substr(1));
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

json get_at(const json& tree, const char* pointer) { return tree.value(json::json_pointer(pointer), json()); }

/// Device properties whose difference is an error. Clocks and driver are only reported.
json summarize_devices(const json& devices) {
  json names = json::array();
  for (const json& device : devices) names.push_back(device.value("name", device.dump()));
  return names;
}

/// Adds a difference; of two objects, one for each member that differs: "environment.ptrain.commit".
void add_difference(std::vector<Difference>& found, DifferenceKind kind, const std::string& what, const json& base,
                    const json& changed) {
  if (!base.is_object() || !changed.is_object()) {
    found.push_back({kind, what, to_text(base), to_text(changed)});
    return;
  }
  json members = base;
  members.update(changed);
  for (const auto& [name, value] : members.items()) {
    const json before = base.value(name, json()), after = changed.value(name, json());
    if (before != after) add_difference(found, kind, what + "." + name, before, after);
  }
}

void add_config(std::vector<Difference>& found, const json& base, const json& changed) {
  // A report of before a key was added has its default; a hidden key is present only if set.
  const auto values_of = [&](const Key& key) {
    const json::json_pointer pointer = pointer_to(key);
    return std::pair(base.value(pointer, default_value(key)), changed.value(pointer, default_value(key)));
  };
  for (const Key& key : config_keys()) {
    if (key.name.starts_with("output.") || key.name == "resume" || key.name == "seed") continue;
    const auto [before, after] = values_of(key);
    if (before == after) continue;
    const bool data = key.name.starts_with("data.") && key.name != "data.batch_size";
    const DifferenceKind kind = !key.defines_work ? DifferenceKind::note
                                : data            ? DifferenceKind::data
                                                  : DifferenceKind::config;
    found.push_back({kind, key.name, to_text(before), to_text(after)});
  }
  for (const Key& key : hidden_keys()) {
    const auto [before, after] = values_of(key);
    if (before != after) found.push_back({DifferenceKind::note, key.name, to_text(before), to_text(after)});
  }
}

}  // namespace

std::string_view to_string(DifferenceKind kind) { return difference_kinds.at(static_cast<std::size_t>(kind)); }

DifferenceKind difference_kind_from_name(std::string_view name) {
  for (std::size_t i = 0; i + 1 < difference_kinds.size(); ++i) {
    if (difference_kinds.at(i) == name) return static_cast<DifferenceKind>(i);
  }
  fail_usage("--allow: expected hardware, config or data, got {}", shown(name));
}

std::vector<Difference> find_differences(const Report& base, const Report& changed) {
  std::vector<Difference> found;
  const json parts = select_watched_parts(base), changed_parts = select_watched_parts(changed);
  for (const Watched& watched : watched_parts) {
    const json before = get_at(parts, watched.pointer), after = get_at(changed_parts, watched.pointer);
    if (before == after) continue;
    const bool devices = std::string_view(watched.pointer) == "/environment/devices";
    const bool same_devices =
        devices && before.is_array() && after.is_array() && summarize_devices(before) == summarize_devices(after);
    add_difference(found, same_devices ? DifferenceKind::note : watched.kind, to_dotted(watched.pointer), before,
                   after);
  }
  add_config(found, base.config, changed.config);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
  return found;
}

}  // namespace ptrain
