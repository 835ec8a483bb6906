#include "core/config/model_catalog.h"

#include "core/base/errors.h"
#include "core/config/config.h"

#include <algorithm>

namespace ptrain {
namespace {

std::vector<ModelEntry>& catalog() {
  static std::vector<ModelEntry> models;
  return models;
}

}  // namespace

bool ModelEntry::reads_key(std::string_view key) const {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string task_name(const Config& config) {
  return config.model.head == Head::regression ? "regression" : find_model(config.model.name).task;
}

SampleForm ModelEntry::form() const {
  switch (reads) {
    case DataKind::image:
      return reads_clips() ? SampleForm::clip : SampleForm::image;
    case DataKind::text:
      return SampleForm::text;
    case DataKind::table:
      return SampleForm::table;
    case DataKind::tokens:
      return SampleForm::tokens;
  }
  fail_invariant("a model that reads no kind of data");
}

void use_models(std::vector<ModelEntry> models) { catalog() = std::move(models); }

const std::vector<ModelEntry>& known_models() { return catalog(); }

const ModelEntry& find_model(std::string_view name) {
  for (const ModelEntry& model : catalog()) {
    if (model.name == name) return model;
  }
  fail_usage("model.name: unknown model \"{}\"", name);
}

std::vector<std::string> other_model_names() {
  std::vector<std::string> names;
  for (const ModelEntry& model : catalog()) {
    names.insert(names.end(), model.other_names.begin(), model.other_names.end());
  }
  return names;
}

}  // namespace ptrain
