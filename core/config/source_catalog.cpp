#include "core/config/source_catalog.h"

#include <algorithm>

namespace ptrain {

bool DataSourceEntry::reads_key(std::string_view key) const {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool DataSourceEntry::provides_targets(const std::vector<std::string>& requested) const {
  return std::ranges::all_of(requested, [&](const std::string& one) { return std::ranges::count(targets, one) > 0; });
}

bool DataSourceEntry::provides_form(SampleForm form) const {
  return std::find(provides.begin(), provides.end(), form) != provides.end();
}

}  // namespace ptrain
