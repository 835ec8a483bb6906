#include "core/config/catalogs.h"

#include "core/base/errors.h"
#include "core/config/key_tables.h"
#include "core/config/text.h"

namespace ptrain {

Catalogs::Catalogs(std::vector<ModelEntry> models, std::vector<DataSourceEntry> sources, std::vector<TaskEntry> tasks)
    : models_(std::move(models)),
      sources_(std::move(sources)),
      tasks_(std::move(tasks)),
      keys_(make_keys(models_, sources_)) {}

const ModelEntry& Catalogs::find_model(std::string_view name) const {
  for (const ModelEntry& model : models_) {
    if (model.name == name) return model;
  }
  fail_usage("model.name: unknown model {}", shown(name));
}

const DataSourceEntry& Catalogs::find_source(std::string_view name) const {
  for (const DataSourceEntry& source : sources_) {
    if (source.name == name) return source;
  }
  fail_usage("data.source: unknown data source {}", shown(name));
}

const Key* Catalogs::find_key(std::string_view name) const {
  for (const Key& key : keys_) {
    if (key.name == name) return &key;
  }
  return ptrain::find_key(name);
}

const TaskEntry& Catalogs::find_task(std::string_view name) const {
  for (const TaskEntry& task : tasks_) {
    if (task.name == name) return task;
  }
  fail_invariant("a model's row names an unknown task");
}

}  // namespace ptrain
