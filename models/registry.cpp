#include "models/registry.h"

#include "core/base/errors.h"
#include "core/config/choices.h"
#include "models/bert.h"
#include "models/resnet.h"

namespace ptrain {
namespace {

void require_kind(const Config& config, const DatasetInfo& data, DataKind kind) {
  if (data.kind == kind) return;
  fail_usage("data.source: {} reads {}, but data.source {} gives {}", config.model.name,
             kind == DataKind::image ? "images" : "text", choice_name(config.data.source),
             data.kind == DataKind::image ? "images" : "text");
}

}  // namespace

std::vector<std::string> model_names() {
  return {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "bert"};
}

std::unique_ptr<Model> make_model(const Config& config, const DatasetInfo& data) {
  if (data.classes > config.model.classes) {
    fail_usage("model.classes: is {}, but the data has {} classes", config.model.classes, data.classes);
  }
  if (config.model.name == "bert") {
    require_kind(config, data, DataKind::text);
    return make_bert(bert_spec(config, data));
  }
  if (config.model.name.starts_with("resnet")) {
    require_kind(config, data, DataKind::image);
    return make_resnet(resnet_spec(std::stoi(config.model.name.substr(6)), config, data));
  }
  fail_usage("model.name: unknown model \"{}\"", config.model.name);
}

}  // namespace ptrain
