// The real models in small, as specifications for tests of graphs and as configurations for tests of training.
#pragma once

#include "core/config/config.h"
#include "core/tasks/task_registry.h"
#include "models/model_registry.h"
#include "models/text/bert.h"
#include "models/vision/resnet.h"

namespace ptrain::testing {

/// Half of a ResNet's channels are a quarter of its parameters, of which updates and checkpoints then take less time
/// than what is tested; some still are of a MiB and more.
inline constexpr std::int64_t small_channels = 32;

/// The graph that a task learns a model by.
inline Graph with_losses(const Model& model, const Bucket& batch, Mode mode, std::string_view task = "classification",
                         const TaskOptions& options = {}) {
  return build_with_losses(model, *make_task(task, options), batch, mode).graph;
}

/// The task that the model's row names, the first of several.
inline std::unique_ptr<Task> get_task(const Model& model) { return make_task(find_model(model.name()).tasks.front()); }

inline std::vector<float> get_floats(const ptrain::HostTensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

/// 4 classes. Images of 64 px and above get the ImageNet stem.
inline ResNetSpec small_resnet(int depth, std::int64_t image_size) {
  ResNetSpec spec;
  spec.depth = depth;
  spec.base_channels = small_channels;
  spec.classes = 4;
  spec.image_size = image_size;
  spec.stem = image_size < 64 ? Stem::small : Stem::imagenet;
  return spec;
}

/// BERT tiny of 100 words and sequences of 16 tokens.
inline BertSpec tiny_bert() {
  BertSpec spec = bert_spec_of_size("tiny");
  spec.vocab_size = 100;
  spec.max_positions = 32;
  spec.max_length = 16;
  return spec;
}

/// ResNet-18 (which small_model makes) on 16 px synthetic images, batch 4; no evaluation, no checkpoints.
inline Config resnet_config() {
  Config config;
  config.model.entry = find_model("resnet18");
  config.model.classes = 4;
  config.data.source = "synthetic";
  config.data.image_size = 16;
  config.data.batch_size = 4;
  config.data.workers = 0;
  config.data.synthetic_samples = 32;
  config.train.steps = 4;
  config.train.optimizer.lr = 0.005;
  config.train.schedule.name = ScheduleKind::constant;
  config.eval.every_epochs = 0;
  config.output.save = false;
  config.flags.cudnn_exhaustive_search = false;
  return config;
}

/// `tiny_bert` on synthetic text, batch 4, AdamW.
inline Config bert_config() {
  Config config = resnet_config();
  config.model.entry = find_model("bert");
  config.model.size = ModelSize::tiny;
  config.model.classes = 2;
  config.model.vocab_size = 100;
  config.model.max_positions = 32;
  config.data.max_length = 16;
  config.train.optimizer.name = OptimizerKind::adamw;
  config.train.optimizer.lr = 5e-4;
  return config;
}

/// Wide & Deep on synthetic clicks, batch 32, AdamW, a table of 500 rows.
inline Config clicks_config() {
  Config config = resnet_config();
  config.model.entry = find_model("wide_deep");
  config.model.classes = 2;
  config.model.hash_buckets = 500;
  config.data.batch_size = 32;
  config.data.synthetic_samples = 256;
  config.train.optimizer.name = OptimizerKind::adamw;
  config.train.optimizer.lr = 1e-3;
  return config;
}

/// GPT-2 tiny on synthetic tokens of 100 words, blocks of 16, batch 4, AdamW.
inline Config gpt2_config() {
  Config config = bert_config();
  config.model.entry = find_model("gpt2");
  config.model.classes = 1;
  return config;
}

/// A small detector on made-up shapes, AdamW, evaluated after its 8 steps.
inline Config detector_config(std::string_view model, int batch_size) {
  Config config = resnet_config();
  config.model.entry = find_model(model);
  config.model.classes = 3;
  config.data.image_size = 64;
  config.data.batch_size = batch_size;
  config.data.synthetic_samples = 8 * batch_size;
  config.train.steps = 8;
  config.train.optimizer.name = OptimizerKind::adamw;
  config.train.optimizer.lr = 0.002;
  config.eval.every_epochs = 1;
  return config;
}

/// The same with batches packed.
inline Config packed(Config config) {
  config.data.padding = Padding::none;
  return config;
}

}  // namespace ptrain::testing
