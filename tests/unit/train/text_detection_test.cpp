// The losses of differentiable binarization against sums in double, and a small training.
#include "core/data/boxes/text_boxes.h"
#include "core/tasks/task_registry.h"
#include "tests/test_backend.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace text_detection_training_test {

// Two images of 3x4 px. Five pixels are text, two are not learnt: 15 of 17 others are the hardest.
constexpr std::int64_t images = 2, height = 3, width = 4, pixels = images * height * width;
using Map = std::array<float, pixels>;
constexpr Map text_map{1, 1, 0, 0, 0, -1, 0, 0, 0, 0, 0,  0,  //
                       0, 0, 0, 0, 1, 1,  1, 0, 0, 0, -1, 0};
constexpr Map threshold_map{0.5f, 0.7f, 0.4f, -1, -1,   -1,   -1,   -1, -1, -1, -1, -1,
                            -1,   -1,   -1,   -1, 0.3f, 0.6f, 0.7f, -1, -1, -1, -1, -1};

double get_logit(std::size_t pixel) { return 3 * std::sin(1.0 + 2.3 * static_cast<double>(pixel)); }
double get_threshold_logit(std::size_t pixel) { return std::cos(0.7 * static_cast<double>(pixel)); }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

struct Values {
  double probability = 0, threshold = 0, binary = 0;
};

/// The losses that the task computes in training; with `labels` for the text map.
Values compute(const Map& labels) {
  Graph graph;
  const Shape shape{images, height, width, 1};
  graph.set_output(tensor_names::logits, graph.add_state("logits", {DType::f32, shape}));
  graph.set_output(tensor_names::threshold_logits, graph.add_state("thresholds", {DType::f32, shape}));
  const std::vector<Loss> losses = make_task("text_detection")->add_losses(graph, Mode::training);
  graph.clear_outputs();
  EXPECT_EQ(losses.size(), 3U);
  for (const Loss& one : losses) graph.set_output(one.name, one.value);

  const auto backend = testing::make_test_backend();
  Variables variables(backend->memory());
  Plan plan(std::move(graph), *backend, variables, testing::test_plan_options());
  variables.allocate();
  const PlanMemory memory(backend->memory(), {&plan});
  plan.bind(memory);
  Map logits{}, thresholds{};
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(get_logit(i));
    thresholds[i] = static_cast<float>(get_threshold_logit(i));
  }
  variables.write("logits", logits.data(), sizeof logits);
  variables.write("thresholds", thresholds.data(), sizeof thresholds);
  plan.write_input(tensor_names::text_map, labels.data(), sizeof labels);
  plan.write_input(tensor_names::threshold_map, threshold_map.data(), sizeof threshold_map);
  plan.run(Pass::forward, Pass::forward);
  const auto read = [&](const char* name) {
    float value = 0;
    plan.read_output(name, &value, sizeof value);
    return double{value};
  };
  return {read("probability"), read("threshold"), read("binary")};
}

TEST(TextDetectionLosses, CountTheHardestPixelsWithoutText) {
  double texts = 0, sum = 0;
  std::vector<double> others;
  for (std::size_t i = 0; i < text_map.size(); ++i) {
    const double p = logistic(get_logit(i));
    if (text_map[i] == 1) ++texts, sum -= std::log(p);
    if (text_map[i] == 0) others.push_back(-std::log(1 - p));
  }
  ASSERT_EQ(texts, 5);
  ASSERT_EQ(others.size(), 17U);
  std::ranges::sort(others, std::greater<>());
  for (std::size_t i = 0; i < 15; ++i) sum += others[i];
  EXPECT_NEAR(compute(text_map).probability, sum / 20, 1e-5);
}

TEST(TextDetectionLosses, CountAllPixelsWhereTextIsCommonAndNoneWithoutText) {
  Map labels{};
  labels.fill(1);
  labels[3] = labels[9] = 0;
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double p = logistic(get_logit(i));
    sum -= std::log(labels[i] == 1 ? p : 1 - p);
  }
  EXPECT_NEAR(compute(labels).probability, sum / pixels, 1e-5);
  labels.fill(0);
  EXPECT_EQ(compute(labels).probability, 0);
  labels.fill(-1);
  EXPECT_EQ(compute(labels).probability, 0);
}

TEST(TextDetectionLosses, AreTheDistanceOfThresholdsAndTheDiceOfTheBinaryMap) {
  double distance = 0, limited = 0, both = 0, binary = 0, texts = 0;
  for (std::size_t i = 0; i < text_map.size(); ++i) {
    const double p = logistic(get_logit(i)), t = logistic(get_threshold_logit(i));
    if (threshold_map[i] >= 0) ++limited, distance += std::abs(t - double{threshold_map[i]});
    if (text_map[i] < 0) continue;
    const double b = logistic(50 * (p - t));
    both += b * double{text_map[i]};
    binary += b;
    texts += double{text_map[i]};
  }
  const Values values = compute(text_map);
  EXPECT_NEAR(values.threshold, distance / limited, 1e-6);
  EXPECT_NEAR(values.binary, 1 - 2 * both / (binary + texts), 1e-5);
}

TEST(TextDetectionTraining, LearnsToFindWords) {
  Config config = testing::resnet_config();
  config.model.entry = find_model("dbnet_tiny");
  config.model.classes = 1;
  config.data.image_size = 64;
  config.data.batch_size = 8;
  config.data.synthetic_samples = 64;
  config.train.steps = 16;
  config.train.optimizer.name = OptimizerKind::adamw;
  config.train.optimizer.lr = 2e-3;
  config.eval.every_epochs = 2;
  const RunResult result = testing::train(config).result;
  ASSERT_EQ(result.loss_terms.size(), 3U);
  EXPECT_EQ(result.loss_weights.at("probability"), 5.0f);
  EXPECT_EQ(result.loss_weights.at("threshold"), 10.0f);
  for (const auto& [name, term] : result.loss_terms) EXPECT_LT(term.last, term.first) << name;
  EXPECT_FALSE(std::isnan(testing::get_value(result.evaluations.back(), "hmean")));
}

}  // namespace text_detection_training_test
}  // namespace ptrain
