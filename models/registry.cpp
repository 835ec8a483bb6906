#include "models/registry.h"

#include "core/base/errors.h"
#include "core/config/choices.h"
#include "models/bert.h"
#include "models/resnet.h"

#include <algorithm>

namespace ptrain {
namespace {

struct Row {
  ModelEntry entry;
  std::unique_ptr<Model> (*make)(const Config& config, const DatasetInfo& data);
};

template <int depth>
std::unique_ptr<Model> resnet(const Config& config, const DatasetInfo& data) {
  return make_resnet(resnet_spec(depth, config, data));
}

std::unique_ptr<Model> bert(const Config& config, const DatasetInfo& data) {
  return make_bert(bert_spec(config, data));
}

const std::vector<Row>& rows() {
  static const std::vector<std::string> resnet_keys{"model.stem",           "model.zero_init_residual",
                                                    "data.image_size",      "data.augment",
                                                    "dist.sync_batch_norm", "batch_norm_guard_every_steps"};
  static const std::vector<std::string> bert_keys{"model.size",      "model.attention",  "model.gelu",
                                                  "model.dropout",   "model.vocab_size", "model.max_positions",
                                                  "data.max_length", "data.padding"};
  static const std::vector<Row> table{
      {{"resnet18", {}, "ResNet", DataKind::image, resnet_keys}, resnet<18>},
      {{"resnet34", {}, "ResNet", DataKind::image, resnet_keys}, resnet<34>},
      {{"resnet50", {"ResNet50", "ResNet50_dist"}, "ResNet", DataKind::image, resnet_keys}, resnet<50>},
      {{"resnet101", {}, "ResNet", DataKind::image, resnet_keys}, resnet<101>},
      {{"resnet152", {}, "ResNet", DataKind::image, resnet_keys}, resnet<152>},
      {{"bert", {"BERT_finetune"}, "BERT", DataKind::text, bert_keys}, bert},
  };
  return table;
}

const char* plural(DataKind kind) { return kind == DataKind::image ? "images" : "text"; }

}  // namespace

std::vector<ModelEntry> model_entries() {
  std::vector<ModelEntry> entries;
  for (const Row& row : rows()) entries.push_back(row.entry);
  return entries;
}

std::unique_ptr<Model> make_model(const Config& config, const DatasetInfo& data) {
  if (data.classes > config.model.classes) {
    fail_usage("model.classes: is {}, but the data has {} classes", config.model.classes, data.classes);
  }
  const ModelEntry& entry = find_model(config.model.name);
  if (entry.reads != data.kind) {
    fail_usage("data.source: {} reads {}, but data.source {} gives {}", entry.name, plural(entry.reads),
               choice_name(config.data.source), plural(data.kind));
  }
  const auto row =
      std::find_if(rows().begin(), rows().end(), [&](const Row& known) { return known.entry.name == entry.name; });
  invariant(row != rows().end(), "a model without a row");
  return row->make(config, data);
}

}  // namespace ptrain
