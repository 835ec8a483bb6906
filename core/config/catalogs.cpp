#include "core/config/catalogs.h"

#include "core/base/errors.h"
#include "core/config/key_tables.h"
#include "core/config/text.h"

namespace ptrain {

Catalogs::Catalogs(std::vector<ModelEntry> models, std::vector<DataSourceEntry> sources, FindMetricNames find_metrics)
    : models_(std::move(models)),
      sources_(std::move(sources)),
      metric_names_(find_metrics),
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
  return nullptr;
}

std::vector<std::string> Catalogs::metric_names(std::string_view task, std::int64_t classes) const {
  return metric_names_ == nullptr ? std::vector<std::string>{} : metric_names_(task, classes);
}

}  // namespace ptrain
