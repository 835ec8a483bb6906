// A deployed model answers on a GPU as it does on the CPU, whichever kind of model it is.
#include "core/cpu/cpu_backend.h"
#include "core/cuda/cuda_backend.h"
#include "core/data/tensor_names.h"
#include "core/runtime/deployed_model.h"
#include "core/runtime/predictor.h"
#include "core/runtime/weights.h"
#include "models/clicks/click_model.h"
#include "models/model_registry.h"
#include "models/text/gpt2.h"
#include "tests/device/agreement.h"
#include "tests/disturbed_weights.h"
#include "tests/small_models.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace {

constexpr std::int64_t rows = 3;

void write_weights(const Model& model, const std::filesystem::path& file) {
  const std::unique_ptr<Backend> cpu = cpu::make_backend();
  Variables variables(cpu->memory());
  variables.declare(model.build(1, Mode::evaluation));
  variables.allocate();
  disturb(model, variables);
  save_weights(file, model, variables, 1);
}

DatasetInfo get_info(const Model& model) {
  DatasetInfo info;
  info.kind = model.reads();
  info.image_size = 32;
  info.max_length = 16;
  info.vocab_size = 100;
  info.dense_features = 13;
  info.categorical_features = 26;
  info.hash_buckets = 50;
  return info;
}

std::vector<float> answers(Backend& backend, const Model& model, const std::filesystem::path& file, AmpLevel level) {
  const DatasetInfo info = get_info(model);
  DeployOptions options;
  options.batch_size = rows;
  options.max_length = model.is_text() ? info.max_length : 0;
  options.amp.level = level;
  options.amp.dtype = DType::f16;
  options.kernels.exhaustive_search = false;
  const std::unique_ptr<Task> task = get_task(model);
  Predictor ready(backend, model, *task, file, options);
  Batch batch = make_synthetic_batch(info, rows);
  return get_floats(ready.run(batch).at(tensor_names::logits));
}

void expect_same_answers(const Model& model, AmpLevel level, float tolerance) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory / "model.safetensors";
  write_weights(model, file);
  const std::unique_ptr<Backend> cpu = cpu::make_backend(), gpu = cuda::make_backend();
  const std::vector<float> expected = answers(*cpu, model, file, AmpLevel::O0);
  const std::vector<float> found = answers(*gpu, model, file, level);
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0, worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    worst = std::max(worst, std::abs(found[i] - expected[i]));
  }
  EXPECT_GT(largest, 0);
  EXPECT_LE(worst, tolerance * largest) << model.name() << " at " << enum_name(level);
}

std::vector<std::unique_ptr<Model>> models() {
  std::vector<std::unique_ptr<Model>> all;
  all.push_back(make_resnet(small_resnet(50, 32)));
  Config config;
  config.model.classes = 4;
  config.model.stochastic_depth = 0;
  DatasetInfo images;
  images.image_size = 32;
  images.classes = 4;
  for (const char* name : {"mobilenet_v2", "efficientnet_b0"}) {  // other activations, in groups
    config.model.entry = find_model(name);
    all.push_back(make_model(config, images));
  }
  for (const Padding padding : {Padding::max_length, Padding::none}) {
    BertSpec bert = tiny_bert();
    bert.padding = padding;
    all.push_back(make_bert(bert));
  }
  Gpt2Spec gpt2 = gpt2_spec_of_size("tiny");
  gpt2.vocab_size = 100;
  gpt2.max_length = 16;
  all.push_back(make_gpt2(gpt2));
  ClickSpec clicks;
  clicks.dense_features = 13;
  clicks.categorical_features = 26;
  clicks.hash_buckets = 50;
  for (const std::string_view form : EnumNames<ClickForm>::names) {
    clicks.form = choice_from_name<ClickForm>(form).value();
    all.push_back(make_click_model(clicks));
  }
  return all;
}

TEST(Deployment, AnswersAsOnTheCpu) {
  for (const auto& model : models()) expect_same_answers(*model, AmpLevel::O0, 1e-4f);
}

TEST(Deployment, AnswersAlikeInLowPrecision) {
  for (const auto& model : models()) {
    for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) expect_same_answers(*model, level, 0.03f);
  }
}

}  // namespace
}  // namespace ptrain::testing
