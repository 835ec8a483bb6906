#include "core/ops/softmax_cross_entropy.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace softmax_cross_entropy_test {

std::vector<std::vector<double>> reference(const std::vector<HostTensor>& in, double smoothing) {
  const auto classes = static_cast<std::size_t>(in[0].desc.shape[-1]);
  std::vector<double> probabilities(in[0].values.size());
  double loss = 0, counted = 0;
  const auto weight = [&](double c) { return in.size() > 4 ? in[4].values[static_cast<std::size_t>(c)] : 1.0; };
  for (std::size_t r = 0; r < in[1].values.size(); ++r) {
    const double* logits = in[0].values.data() + r * classes;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(logits[c]);
    for (std::size_t c = 0; c < classes; ++c) probabilities[r * classes + c] = std::exp(logits[c]) / sum;
    if (in[1].values[r] < 0) continue;
    counted += weight(in[1].values[r]);
    for (std::size_t c = 0; c < classes; ++c) {
      const auto is = [&](std::size_t input) { return in[input].values[r] == static_cast<double>(c) ? 1.0 : 0.0; };
      const double label =
          in.size() > 2 && !in[2].absent ? in[3].values[0] * is(1) + (1 - in[3].values[0]) * is(2) : is(1);
      const double target = smoothing / static_cast<double>(classes) + (1 - smoothing) * label;
      loss -= weight(static_cast<double>(c)) * target * std::log(probabilities[r * classes + c]);
    }
  }
  return {{counted > 0 ? loss / counted : 0}, probabilities};
}

OpCase make_case(std::int64_t classes, DType dtype, float smoothing, std::vector<double> labels) {
  OpCase c;
  const auto rows = static_cast<std::int64_t>(labels.size());
  c.op = std::make_shared<SoftmaxCrossEntropy>(smoothing);
  c.inputs = {random_tensor(dtype, Shape{rows, classes}, 1, -5, 5), tensor(DType::i32, Shape{rows}, std::move(labels))};
  c.reference = [smoothing](const auto& in) { return reference(in, static_cast<double>(smoothing)); };
  c.gradient_inputs = {0};
  return c;
}

TEST(SoftmaxCrossEntropy, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(10, dtype, 0, {3, 9, 0, 5}));
    check_op(make_case(2, dtype, 0, {1}));
    check_op(make_case(101, dtype, 0.1f, {100, 0}));
  }
}

TEST(SoftmaxCrossEntropy, TakesRowsOfTwoAxes) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    OpCase c = make_case(10, dtype, 0.1f, {3, 9, -1, 0, 5, -1});
    c.inputs[0].desc.shape = Shape{2, 3, 10};
    check_op(c);
  }
}

/// As many rows as several blocks of a GPU add up.
TEST(SoftmaxCrossEntropy, TakesEveryPixelOfABatchAsARow) {
  std::vector<double> labels;
  for (int i = 0; i < 2 * 70 * 70; ++i) labels.push_back(i % 4 - 1);
  OpCase c = make_case(3, DType::f32, 0, labels);
  c.inputs[0].desc.shape = Shape{2, 70, 70, 3};
  c.gradient_inputs.clear();
  check_op(c);
}

TEST(SoftmaxCrossEntropy, WeighsTwoLabelsOfMixedSamples) {
  for (const float smoothing : {0.0f, 0.1f}) {
    for (const double share : {0.0, 0.3, 1.0}) {
      OpCase c = make_case(7, DType::f32, smoothing, {3, 6, -1, 5});
      c.inputs.push_back(tensor(DType::i32, Shape{4}, {2, 6, 1, 0}));  // the second row's are the same
      c.inputs.push_back(tensor(DType::f32, Shape{1}, {share}));
      check_op(c);
    }
  }
}

OpCase weighted_case(DType dtype, float smoothing, std::vector<double> labels, std::vector<double> weights) {
  const auto classes = static_cast<std::int64_t>(weights.size());
  OpCase c = make_case(classes, dtype, smoothing, std::move(labels));
  c.inputs.insert(c.inputs.end(), {absent_tensor(), absent_tensor()});
  c.inputs.push_back(tensor(DType::f32, Shape{classes}, std::move(weights)));
  return c;
}

TEST(SoftmaxCrossEntropy, WeighsClasses) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const float smoothing : {0.0f, 0.1f}) {
      check_op(weighted_case(dtype, smoothing, {3, 2, -1, 0}, {0.25, 4, 1, 2}));
    }
  }
  check_op(weighted_case(DType::f32, 0.1f, {-1, -1}, {0.25, 4, 1, 2}));
}

/// By the formulas that torch.nn.CrossEntropyLoss documents for weight and label_smoothing with mean reduction.
TEST(SoftmaxCrossEntropy, DividesByTheLabelsWeightsAsPyTorchDoes) {
  std::vector<HostTensor> inputs = weighted_case(DType::f32, 0, {0, 2}, {1, 2, 5}).inputs;
  inputs[0].values = {0, 0, 0, 0, 0, 0};  // every class's probability is a third
  const auto loss = [&](float smoothing) {
    return run_op(std::make_shared<SoftmaxCrossEntropy>(smoothing), inputs)[0].values[0];
  };
  EXPECT_NEAR(loss(0), std::log(3.0), 1e-6) << "(1 + 5) log 3 / (1 + 5)";
  EXPECT_NEAR(loss(0.3f), (0.7 * 6 + 0.3 * 2 * 8 / 3) * std::log(3.0) / 6, 1e-6);
}

TEST(SoftmaxCrossEntropy, IgnoredRowsCountNowhere) { check_op(make_case(7, DType::f32, 0.1f, {-1, 2, -1})); }

TEST(SoftmaxCrossEntropy, IsZeroWhenEveryRowIsIgnored) { check_op(make_case(7, DType::f32, 0, {-1, -1})); }

TEST(SoftmaxCrossEntropy, SurvivesLargeLogits) {
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{1, 3}, {1e4, -1e4, 0}), tensor(DType::i32, Shape{1}, {1})};
  EXPECT_NEAR(run_op(std::make_shared<SoftmaxCrossEntropy>(), inputs)[0].values[0], 2e4, 1e-2);
}

TEST(SoftmaxCrossEntropy, NaNReachesTheLoss) {
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{1, 3}, {0, std::nan(""), 0}),
                                 tensor(DType::i32, Shape{1}, {0})};
  EXPECT_TRUE(std::isnan(run_op(std::make_shared<SoftmaxCrossEntropy>(), inputs)[0].values[0]));
}

}  // namespace softmax_cross_entropy_test
}  // namespace ptrain::testing
