// The names a configuration may use: models, data sources, tasks and their metrics. Their tables belong to higher
// layers (models, data, tasks); a program combines them and passes them to the code that loads, checks and documents
// configurations.
#pragma once

#include "core/config/keys.h"
#include "core/config/model_catalog.h"
#include "core/config/source_catalog.h"
#include "core/config/task_catalog.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

class Catalogs {
 public:
  /// In the order of listings.
  Catalogs(std::vector<ModelEntry> models, std::vector<DataSourceEntry> sources, std::vector<TaskEntry> tasks);

  const std::vector<ModelEntry>& models() const { return models_; }
  const std::vector<DataSourceEntry>& sources() const { return sources_; }
  /// Every key of config_keys(), completed with these names as choices and with the sources that read it.
  const std::vector<Key>& keys() const { return keys_; }

  /// Throws Error{usage} when no model has this name (aliases do not count).
  const ModelEntry& find_model(std::string_view name) const;
  /// Throws Error{usage} when no source has this name.
  const DataSourceEntry& find_source(std::string_view name) const;
  /// Null when there is no key of this name, hidden or not.
  const Key* find_key(std::string_view name) const;
  /// Throws std::logic_error when no task has this name.
  const TaskEntry& find_task(std::string_view name) const;

 private:
  std::vector<ModelEntry> models_;
  std::vector<DataSourceEntry> sources_;
  std::vector<TaskEntry> tasks_;
  std::vector<Key> keys_;
};

}  // namespace ptrain
