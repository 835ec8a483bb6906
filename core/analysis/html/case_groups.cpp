#include "core/analysis/html/case_groups.h"

#include "core/analysis/html/drawing.h"
#include "core/report/json_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ptrain::html {
namespace {

using nlohmann::json;

std::string find_set_name(const RunSet& set) { return set.suite ? set.suite->suite : set.path.string(); }

/// "level: O0"
std::string format_setting(const SuiteAxis& axis, const json& value) {
  return fmt::format("{}: {}", axis.label, to_text(value));
}

/// The settings that define a case; null where neither run nor suite has them.
const json* find_settings(const RunSet& set, const MeasuredCase& item) {
  if (!item.runs.empty()) return &item.runs.front().record.settings;
  for (const SuiteCase& known : set.suite->cases) {
    if (known.name == item.name) return &known.settings;
  }
  return nullptr;
}

/// The unit of a case's throughput; empty: not measured.
std::string find_unit(const MeasuredCase& item) {
  for (const MeasuredRun& run : item.runs) {
    if (run.record.figures) return run.record.figures->unit;
    if (run.report && run.report->throughput) return run.report->throughput->unit;
  }
  return {};
}

/// The axes of a set by their role in the drawing.
struct AxisRoles {
  const SuiteAxis* colour = nullptr;
  const SuiteAxis* row = nullptr;
  std::vector<const SuiteAxis*> panels;
};

AxisRoles assign_roles(const std::vector<SuiteAxis>& axes) {
  AxisRoles roles;
  for (const SuiteAxis& axis : axes) {
    const bool colours = axis.values.size() > 1 && axis.values.size() <= series_inks;
    if (roles.colour == nullptr && colours) {
      roles.colour = &axis;
    } else {
      roles.panels.push_back(&axis);
    }
  }
  if (!roles.panels.empty()) {
    roles.row = roles.panels.back();
    roles.panels.pop_back();
  }
  return roles;
}

void place(PlacedCase& placed, const AxisRoles& roles, const json& settings) {
  std::vector<std::string> panel;
  for (const SuiteAxis* axis : roles.panels) panel.push_back(format_setting(*axis, settings.at(axis->key)));
  placed.panel = fmt::format("{}", fmt::join(panel, ", "));
  placed.row = roles.row == nullptr ? "" : format_setting(*roles.row, settings.at(roles.row->key));
  std::vector<std::string> all = panel;
  if (!placed.row.empty()) all.push_back(placed.row);
  if (roles.colour != nullptr) {
    const json& values = roles.colour->values;
    const auto found = std::find(values.begin(), values.end(), settings.at(roles.colour->key));
    placed.series = static_cast<std::size_t>(found - values.begin());
    all.insert(all.begin(), format_setting(*roles.colour, settings.at(roles.colour->key)));
  }
  placed.label = fmt::format("{}", fmt::join(all, ", "));
}

bool has_settings(const RunSet& set) {
  if (!set.suite || set.suite->axes.empty()) return false;
  return std::all_of(set.cases.begin(), set.cases.end(), [&](const MeasuredCase& item) {
    const json* settings = find_settings(set, item);
    return settings != nullptr && std::all_of(set.suite->axes.begin(), set.suite->axes.end(),
                                              [&](const SuiteAxis& axis) { return settings->contains(axis.key); });
  });
}

class Grouping {
 public:
  void add(const RunSet& set) {
    const bool keyed = has_settings(set);
    const AxisRoles roles = keyed ? assign_roles(set.suite->axes) : AxisRoles{};
    std::string common;  // unit of the cases that were not measured
    for (const MeasuredCase& item : set.cases) {
      if (common.empty()) common = find_unit(item);
    }
    for (const MeasuredCase& item : set.cases) {
      PlacedCase placed;
      placed.item = &item;
      placed.good = item.good();
      placed.ended = item.ended();
      placed.reported = item.reported();
      placed.row = placed.label = item.name;
      if (keyed) place(placed, roles, *find_settings(set, item));
      const std::string unit = find_unit(item);
      find_or_add_group(set, roles, unit.empty() ? common : unit).cases.push_back(std::move(placed));
    }
  }

  std::vector<CaseGroup> groups() && {
    if (groups_.size() == 1) groups_.front().title.clear();
    return std::move(groups_);
  }

 private:
  CaseGroup& find_or_add_group(const RunSet& set, const AxisRoles& roles, const std::string& unit) {
    const RunSet* owner = set.suite ? &set : nullptr;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (owners_[i] == owner && groups_[i].unit == unit) return groups_[i];
    }
    CaseGroup& group = groups_.emplace_back();
    owners_.push_back(owner);
    group.unit = unit;
    group.title = owner == nullptr ? unit : fmt::format("{}, {}", find_set_name(set), unit);
    if (roles.colour != nullptr) {
      for (const json& value : roles.colour->values) group.series.push_back(format_setting(*roles.colour, value));
    }
    return group;
  }

  std::vector<CaseGroup> groups_;
  std::vector<const RunSet*> owners_;
};

}  // namespace

std::vector<std::vector<const PlacedCase*>> CaseGroup::panels() const {
  std::vector<std::vector<const PlacedCase*>> result;
  for (const PlacedCase& item : cases) {
    auto found = std::find_if(result.begin(), result.end(),
                              [&](const auto& panel) { return panel.front()->panel == item.panel; });
    if (found == result.end()) found = result.insert(found, std::vector<const PlacedCase*>());
    found->push_back(&item);
  }
  return result;
}

std::vector<CaseGroup> case_groups(std::span<const RunSet> sets) {
  Grouping grouping;
  for (const RunSet& set : sets) grouping.add(set);
  return std::move(grouping).groups();
}

}  // namespace ptrain::html
