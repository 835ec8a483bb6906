#include "models/registry.h"

#include "core/base/errors.h"
#include "core/config/choices.h"
#include "models/bert.h"
#include "models/mobilenet.h"
#include "models/resnet.h"

#include <algorithm>

namespace ptrain {
namespace {

struct Row {
  ModelEntry entry;
  std::unique_ptr<Model> (*make)(const Config& config, const DatasetInfo& data);
};

template <int depth, int groups = 1, int group_width = 64, ResNetForm form = ResNetForm::plain>
std::unique_ptr<Model> resnet(const Config& config, const DatasetInfo& data) {
  ResNetSpec spec = resnet_spec(config, data);
  spec.depth = depth;
  spec.form = form;
  spec.groups = groups;
  spec.group_width = group_width;
  return make_resnet(spec);
}

template <int depth>
constexpr auto resnet_vd = resnet<depth, 1, 64, ResNetForm::d>;

template <MobileNetVersion version>
std::unique_ptr<Model> mobilenet(const Config& config, const DatasetInfo& data) {
  return make_mobilenet(mobilenet_spec(version, config, data));
}

std::unique_ptr<Model> bert(const Config& config, const DatasetInfo& data) {
  return make_bert(bert_spec(config, data));
}

const std::vector<Row>& rows() {
  static const std::vector<std::string> resnet_keys{
      "model.stem",           "model.zero_init_residual",    "data.image_size", "data.augment", "data.random_erasing",
      "dist.sync_batch_norm", "batch_norm_guard_every_steps"};
  static const std::vector<std::string> mobilenet_v1_keys{"model.stem",           "data.image_size",
                                                          "data.augment",         "data.random_erasing",
                                                          "dist.sync_batch_norm", "batch_norm_guard_every_steps"};
  static const std::vector<std::string> mobilenet_v2_keys = [] {
    std::vector<std::string> keys = mobilenet_v1_keys;
    keys.push_back("model.dropout");
    return keys;
  }();
  static const std::vector<std::string> bert_keys{"model.size",      "model.attention",  "model.gelu",
                                                  "model.dropout",   "model.vocab_size", "model.max_positions",
                                                  "data.max_length", "data.padding"};
  static const std::vector<Row> table{
      {{"resnet18", {}, "ResNet", DataKind::image, resnet_keys}, resnet<18>},
      {{"resnet34", {}, "ResNet", DataKind::image, resnet_keys}, resnet<34>},
      {{"resnet50", {"ResNet50", "ResNet50_dist"}, "ResNet", DataKind::image, resnet_keys}, resnet<50>},
      {{"resnet101", {}, "ResNet", DataKind::image, resnet_keys}, resnet<101>},
      {{"resnet152", {}, "ResNet", DataKind::image, resnet_keys}, resnet<152>},
      {{"resnet50_vd", {"ResNet50_vd"}, "ResNet", DataKind::image, resnet_keys}, resnet_vd<50>},
      {{"resnet101_vd", {}, "ResNet", DataKind::image, resnet_keys}, resnet_vd<101>},
      {{"resnext50_32x4d", {"ResNeXt50_32x4d"}, "ResNet", DataKind::image, resnet_keys}, resnet<50, 32, 4>},
      {{"resnext101_32x8d", {}, "ResNet", DataKind::image, resnet_keys}, resnet<101, 32, 8>},
      {{"wide_resnet50_2", {}, "ResNet", DataKind::image, resnet_keys}, resnet<50, 1, 128>},
      {{"wide_resnet101_2", {}, "ResNet", DataKind::image, resnet_keys}, resnet<101, 1, 128>},
      {{"mobilenet_v1", {"MobileNetV1"}, "MobileNet", DataKind::image, mobilenet_v1_keys},
       mobilenet<MobileNetVersion::v1>},
      {{"mobilenet_v2", {"MobileNetV2"}, "MobileNet", DataKind::image, mobilenet_v2_keys},
       mobilenet<MobileNetVersion::v2>},
      {{"mobilenet_v3_large", {"MobileNetV3_large_x1_0"}, "MobileNet", DataKind::image, mobilenet_v2_keys},
       mobilenet<MobileNetVersion::v3_large>},
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
