// A deployed model answers as the model does in evaluation, in fewer passes over the data.
#include "core/runtime/deployed_model.h"

#include "core/base/rng.h"
#include "core/data/tensor_names.h"
#include "core/runtime/feeder.h"
#include "core/runtime/weights.h"
#include "core/train/options_from_config.h"
#include "models/model_registry.h"
#include "models/text/gpt2.h"
#include "models/vision/convnext.h"
#include "models/vision/pp_yoloe.h"
#include "models/vision/vision_transformer.h"
#include "tests/disturbed_weights.h"
#include "tests/small_models.h"
#include "tests/temporary_directory.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace {

using testing::disturb;
using testing::get_floats;
using testing::make_test_backend;

constexpr std::int64_t rows = 4;

/// Images of different brightness, which answers depend on more than on their noise.
Batch image_batch(std::int64_t size, std::uint64_t seed) {
  const TensorSpec spec{tensor_names::images, DType::u8, {size, size, 3}};
  Batch batch({&spec, 1}, rows);
  batch.count = rows;
  const auto pixels = batch.values<std::uint8_t>(tensor_names::images);
  const RandomStream random{seed, 0, 1};
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t row = i * rows / pixels.size();
    pixels[i] = static_cast<std::uint8_t>(random.bits(i) % 64 + 64 * row);
  }
  return batch;
}

Batch text_batch(std::int64_t length, std::uint64_t seed) {
  const auto tokens = static_cast<std::size_t>(rows * length);
  std::vector<std::int32_t> ids(tokens);
  const RandomStream random{seed, 0, 1};
  for (std::size_t i = 0; i < tokens; ++i) ids[i] = static_cast<std::int32_t>(random.bits(i) % 100);
  Batch batch;
  batch.add(tensor_names::ids, {length}, ids);
  batch.add(tensor_names::token_types, {length}, std::vector<std::int32_t>(tokens));
  batch.add(tensor_names::lengths, {}, std::vector<std::int32_t>{static_cast<std::int32_t>(length), 5, 1, 9});
  batch.count = rows;
  return batch;
}

class Deployment : public ::testing::Test {
 protected:
  /// An output of the evaluation graph, whose weights are written to file_.
  std::vector<float> evaluated(const Model& model, const Batch& batch, const char* output = tensor_names::logits) {
    Variables variables(backend_->memory());
    PlanOptions options;
    options.kernels.exhaustive_search = false;
    Plan plan(build_inference_graph(model.build(rows, Mode::evaluation), {}).graph, *backend_, variables, options);
    variables.allocate();
    disturb(model, variables);
    save_weights(file_, model, variables, 1);
    const PlanMemory memory(backend_->memory(), {&plan});
    plan.bind(memory);
    feed(plan, batch);
    plan.run(Pass::forward, Pass::forward);
    return get_floats(read_outputs(plan, {output}).at(output));
  }

  /// For batches of `rows`, without a search for kernels.
  static DeployOptions quick_options() {
    DeployOptions options;
    options.batch_size = rows;
    options.kernels.exhaustive_search = false;
    return options;
  }

  std::vector<float> deployed(const Model& model, const Batch& batch, std::int64_t length, AmpLevel level,
                              bool search = false) {
    DeployOptions options = quick_options();
    options.max_length = length;
    options.amp.level = level;
    options.kernels.exhaustive_search = search;
    const std::unique_ptr<Task> task = testing::get_task(model);
    DeployedModel ready(*backend_, model, *task, file_, options);
    const auto answer = [&] { return get_floats(ready.run(batch).at(tensor_names::logits)); };
    const std::vector<float> first = answer();
    EXPECT_EQ(answer(), first) << "packed weights stay";
    return first;
  }

  /// Largest difference over the largest logit, and the same best class of every row.
  static void expect_same(const std::vector<float>& actual, const std::vector<float>& expected, double limit) {
    ASSERT_EQ(actual.size(), expected.size());
    float worst = 0, largest = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      worst = std::max(worst, std::abs(actual[i] - expected[i]));
      largest = std::max(largest, std::abs(expected[i]));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(worst, limit * largest);
    const auto classes = static_cast<std::ptrdiff_t>(actual.size() / rows);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto best = [&](const std::vector<float>& logits) {
        const auto first = logits.begin() + row * classes;
        return std::max_element(first, first + classes) - first;
      };
      EXPECT_EQ(best(actual), best(expected)) << "row " << row;
    }
  }

  std::unique_ptr<Backend> backend_ = make_test_backend();
  const TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_ / "model.safetensors";
};

TEST_F(Deployment, ResNetsAnswerAsInEvaluation) {
  for (const int depth : {18, 34, 50, 101, 152}) {
    const std::int64_t size = depth == 50 ? 64 : 32;
    const auto model = make_resnet(testing::small_resnet(depth, size));
    const Batch batch = image_batch(size, 11);
    const std::vector<float> expected = evaluated(*model, batch);
    expect_same(deployed(*model, batch, 0, AmpLevel::O0), expected, 1e-4);
    if (depth == 18) expect_same(deployed(*model, batch, 0, AmpLevel::O0, true), expected, 1e-4);
  }
}

TEST_F(Deployment, PlansOfGrowingImagesShareTheMemoryOfTheLargest) {
  const auto model = make_resnet(testing::small_resnet(18, 32));
  const std::vector<float> expected = evaluated(*model, image_batch(32, 11));
  const std::unique_ptr<Task> task = testing::get_task(*model);
  DeployOptions options = quick_options();
  options.image_size = {32, 32};
  DeployedModel ready(*backend_, *model, *task, file_, options);
  const auto answer = [&](std::int64_t size) {
    return get_floats(ready.run(image_batch(size, 11)).at(tensor_names::logits));
  };
  const std::vector<float> of_96 = answer(96);
  const auto resident = [this] { return backend_->memory().usage().resident_bytes; };
  const std::int64_t before = resident();
  for (const std::int64_t size : {224, 256, 288, 320}) answer(size);
  const std::int64_t grown = resident() - before;
  expect_same(answer(32), expected, 1e-4);
  EXPECT_EQ(answer(96), of_96) << "its plan has moved";
  constexpr std::int64_t arena = 2 * 64 * 160 * 160 * rows * sizeof(float);  // of 320 px: a convolution's two sides
  EXPECT_LT(grown, 4 * arena);
}

TEST_F(Deployment, PartsOfABatchAnswerAsTheWhole) {
  const auto model = make_resnet(testing::small_resnet(18, 32));
  const Batch batch = image_batch(32, 11);
  const std::vector<float> expected = evaluated(*model, batch);
  const std::unique_ptr<Task> task = testing::get_task(*model);
  DeployOptions options = quick_options();
  for (const std::int64_t at_once : {1, 2, 3}) {
    options.rows_at_once = at_once;
    DeployedModel ready(*backend_, *model, *task, file_, options);
    EXPECT_EQ(ready.rows_at_once(rows), rows % at_once == 0 ? at_once : rows);
    expect_same(get_floats(ready.run(batch).at(tensor_names::logits)), expected, 1e-4);
  }
}

TEST_F(Deployment, HowManyRowsAreComputedAtOnceIsTimedOnce) {
  const auto model = make_resnet(testing::small_resnet(18, 32));
  evaluated(*model, image_batch(32, 11));
  const std::unique_ptr<Task> task = testing::get_task(*model);
  DeployOptions options = quick_options();
  options.kernels.exhaustive_search = true;
  const auto choose = [&] { return DeployedModel(*backend_, *model, *task, file_, options).rows_at_once(rows); };
  const std::int64_t chosen = choose();
  EXPECT_EQ(rows % chosen, 0);
  const std::string before = backend_->kernels().search_cache().hash();
  EXPECT_EQ(choose(), chosen);
  EXPECT_EQ(backend_->kernels().search_cache().hash(), before);
  options.readable = {"fc"};
  EXPECT_EQ(choose(), rows) << "what is read is of all rows";
}

TEST_F(Deployment, MergedConvolutionsAnswerAsInEvaluation) {
  constexpr std::int64_t size = 64;
  PpYoloeSpec spec;
  spec.classes = 3;
  spec.image_size = size;
  const auto model = make_pp_yoloe(spec);
  const Batch batch = image_batch(size, 17);
  const std::vector<float> expected = evaluated(*model, batch, tensor_names::class_logits);
  const std::unique_ptr<Task> task = testing::get_task(*model);
  DeployOptions options = quick_options();
  options.readable = {"yolo_head.logits"};
  DeployedModel ready(*backend_, *model, *task, file_, options);
  ready.run(batch);
  const Batch read = read_outputs(ready.last_plan(), {"yolo_head.logits"});
  expect_same(get_floats(read.at("yolo_head.logits")), expected, 1e-4);
}

TEST_F(Deployment, NetworksWithLayerNormsAnswerAsInEvaluation) {
  constexpr std::int64_t size = 32;
  const Batch batch = image_batch(size, 15);
  for (const auto& model :
       {make_convnext_tiny({.classes = 4, .image_size = size}), make_deit_small({.classes = 4, .image_size = size})}) {
    const std::vector<float> expected = evaluated(*model, batch);
    expect_same(deployed(*model, batch, 0, AmpLevel::O0), expected, 1e-4);
  }
}

TEST_F(Deployment, BertAnswersAsInEvaluation) {
  for (const auto& [form, padding] : {std::pair{BertForm::bert, Padding::max_length},
                                      {BertForm::bert, Padding::none},
                                      {BertForm::distilbert, Padding::max_length}}) {
    BertSpec spec = testing::tiny_bert();
    spec.form = form;
    const Batch batch = text_batch(spec.max_length, 12);
    const std::vector<float> expected = evaluated(*make_bert(spec), batch);
    spec.padding = padding;
    expect_same(deployed(*make_bert(spec), batch, spec.max_length, AmpLevel::O0), expected, 1e-4);
  }
}

TEST_F(Deployment, RunningTextIsAnsweredByTheTokenBehindEachText) {
  Gpt2Spec spec = gpt2_spec_of_size("tiny");
  spec.vocab_size = 100;
  spec.max_length = 16;
  const auto model = make_gpt2(spec);
  const Batch batch = text_batch(spec.max_length, 16);
  const std::vector<float> all = evaluated(*model, batch);
  std::vector<float> expected;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t last =
        row * spec.max_length + batch.values<std::int32_t>(tensor_names::lengths)[static_cast<std::size_t>(row)] - 1;
    const auto scores = all.begin() + static_cast<std::ptrdiff_t>(last * spec.vocab_size);
    expected.insert(expected.end(), scores, scores + static_cast<std::ptrdiff_t>(spec.vocab_size));
  }
  expect_same(deployed(*model, batch, spec.max_length, AmpLevel::O0), expected, 1e-4);
}

TEST_F(Deployment, LowPrecisionAnswersAlike) {
  const auto resnet = make_resnet(testing::small_resnet(18, 32));
  const auto bert = make_bert(testing::tiny_bert());
  for (const auto& [model, batch, length] :
       {std::tuple{resnet.get(), image_batch(32, 13), 0}, {bert.get(), text_batch(16, 14), 16}}) {
    const std::vector<float> expected = evaluated(*model, batch);
    for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
      expect_same(deployed(*model, batch, length, level), expected, 0.05);
    }
  }
}

}  // namespace
}  // namespace ptrain
