#include "core/config/source_catalog.h"

#include "core/base/errors.h"
#include "core/config/text.h"

#include <algorithm>

namespace ptrain {
namespace {

std::vector<DataSourceEntry>& source_catalog() {
  static std::vector<DataSourceEntry> all;
  return all;
}

}  // namespace

bool DataSourceEntry::reads_key(std::string_view key) const {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool DataSourceEntry::gives_form(SampleForm form) const {
  return std::find(gives.begin(), gives.end(), form) != gives.end();
}

void use_data_sources(std::vector<DataSourceEntry> sources) { source_catalog() = std::move(sources); }

const std::vector<DataSourceEntry>& known_data_sources() { return source_catalog(); }

const DataSourceEntry& find_data_source(std::string_view name) {
  for (const DataSourceEntry& source : source_catalog()) {
    if (source.name == name) return source;
  }
  fail_usage("data.source: unknown data source {}", shown(name));
}

}  // namespace ptrain
