// What configurations may name: models, data sources, metrics. The tables stand above, with the models, the data and
// the tasks; a program puts them together and hands them to what loads, checks and documents configurations.
#pragma once

#include "core/config/keys.h"
#include "core/config/model_catalog.h"
#include "core/config/source_catalog.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// The names of a task's metrics; `classes` 0: not known yet.
using FindMetricNames = std::vector<std::string> (*)(std::string_view task, std::int64_t classes);

class Catalogs {
 public:
  /// In the order to list them. `find_metrics` null: keys that name a metric take any name.
  Catalogs(std::vector<ModelEntry> models, std::vector<DataSourceEntry> sources, FindMetricNames find_metrics);

  const std::vector<ModelEntry>& models() const { return models_; }
  const std::vector<DataSourceEntry>& sources() const { return sources_; }
  /// Every key, as config_keys() has it, with the names that it takes and the sources that read it.
  const std::vector<Key>& keys() const { return keys_; }

  /// Throws Error{usage} when no model has this name (its own, not one of the others).
  const ModelEntry& find_model(std::string_view name) const;
  /// Throws Error{usage} when no source has this name.
  const DataSourceEntry& find_source(std::string_view name) const;
  /// Null when there is no key of this name.
  const Key* find_key(std::string_view name) const;
  /// Empty where any name will do.
  std::vector<std::string> metric_names(std::string_view task, std::int64_t classes) const;

 private:
  std::vector<ModelEntry> models_;
  std::vector<DataSourceEntry> sources_;
  FindMetricNames metric_names_;
  std::vector<Key> keys_;
};

}  // namespace ptrain
