#include "core/ops/sequence/ctc_loss.h"

#include "core/ops/softmax_cross_entropy.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

namespace ptrain::testing {
namespace ctc_loss_test {

using Label = std::vector<std::int32_t>;

/// The label that a sequence of classes stands for: equal neighbours are one, and blanks are none.
Label collapse(const std::vector<std::int32_t>& path, std::int32_t blank) {
  Label label;
  for (std::size_t t = 0; t < path.size(); ++t) {
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) label.push_back(path[t]);
  }
  return label;
}

Label read_label(const HostTensor& labels, std::size_t sample) {
  const auto longest = static_cast<std::size_t>(labels.desc.shape[1]);
  Label label;
  for (std::size_t i = 0; i < longest; ++i) {
    const auto character = static_cast<std::int32_t>(labels.values[sample * longest + i]);
    if (character == ignored_label) break;
    label.push_back(character);
  }
  return label;
}

/// The sum of the probabilities of all sequences of classes that stand for the label; `logits` are of one sample.
double sum_paths(const double* logits, std::int64_t steps, std::int64_t classes, const Label& label,
                 std::int32_t blank) {
  std::vector<double> probabilities(static_cast<std::size_t>(steps * classes));
  for (std::int64_t t = 0; t < steps; ++t) {
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(logits[t * classes + c]);
    for (std::int64_t c = 0; c < classes; ++c) {
      probabilities[static_cast<std::size_t>(t * classes + c)] = std::exp(logits[t * classes + c]) / sum;
    }
  }
  std::vector<std::int32_t> path(static_cast<std::size_t>(steps));
  double total = 0;
  while (true) {
    if (collapse(path, blank) == label) {
      double probability = 1;
      for (std::size_t t = 0; t < path.size(); ++t) {
        probability *= probabilities[t * static_cast<std::size_t>(classes) + static_cast<std::size_t>(path[t])];
      }
      total += probability;
    }
    std::size_t t = 0;
    while (t < path.size() && ++path[t] == classes) path[t++] = 0;
    if (t == path.size()) return total;
  }
}

std::vector<std::vector<double>> sum_all_paths(const std::vector<HostTensor>& in, std::int32_t blank) {
  const Shape& shape = in[CtcLoss::logits].desc.shape;
  std::vector<double> losses;
  double total = 0, labelled = 0;
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    const Label label = read_label(in[CtcLoss::labels], static_cast<std::size_t>(n));
    const double* logits = in[CtcLoss::logits].values.data() + n * shape[1] * shape[2];
    const double found = label.empty() ? 0 : sum_paths(logits, shape[1], shape[2], label, blank);
    losses.push_back(found > 0 ? -std::log(found) : 0);
    total += losses.back();
    labelled += label.empty() ? 0 : 1;
  }
  return {{labelled > 0 ? total / labelled : 0}, losses, {}, {}};
}

OpCase make_case(DType dtype, Shape shape, std::vector<double> labels, std::int32_t blank = 0) {
  OpCase c;
  c.op = std::make_shared<CtcLoss>(CtcLossAttributes{blank});
  const std::int64_t samples = shape[0], longest = std::ssize(labels) / samples;
  c.inputs = {random_tensor(dtype, std::move(shape), 1, -2, 2),
              tensor(DType::i32, Shape{samples, longest}, std::move(labels))};
  c.reference = [blank](const std::vector<HostTensor>& in) { return sum_all_paths(in, blank); };
  c.gradient_inputs = {CtcLoss::logits};
  return c;
}

TEST(CtcLoss, IsTheSumOverAllPathsInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(dtype, Shape{3, 5, 4}, {1, 2, 3, -1, 3, 1, -1, -1, 2, 2, -1, -1}));
    check_op(make_case(dtype, Shape{1, 6, 3}, {1, 1, 2}));
  }
}

TEST(CtcLoss, TakesAnyClassAsBlank) {
  check_op(make_case(DType::f32, Shape{2, 4, 4}, {0, 1, 2, 0, 0, -1}, 3));
  check_op(make_case(DType::f32, Shape{1, 4, 4}, {0, 2}, 1));
}

TEST(CtcLoss, CountsNoSampleWithoutALabel) {
  check_op(make_case(DType::f32, Shape{3, 3, 3}, {1, 2, -1, -1, 2, -1}));
  check_op(make_case(DType::f32, Shape{2, 2, 3}, {-1, -1}));
}

/// Three equal characters need five steps.
TEST(CtcLoss, CountsALabelThatDoesNotFitAsZero) {
  OpCase c = make_case(DType::f32, Shape{2, 4, 3}, {1, 1, 1, 1, 2, -1});
  check_op(c);
  const auto gradient = run_gradient(c, {tensor(DType::f32, Shape{}, {1})})[0].values;
  for (std::size_t i = 0; i < 4 * 3; ++i) EXPECT_EQ(gradient[i], 0) << i;
}

TEST(CtcLoss, StaysFiniteWithLogitsFarApart) {
  OpCase c = make_case(DType::f32, Shape{1, 3, 3}, {1, 2});
  c.inputs[0] = tensor(DType::f32, Shape{1, 3, 3}, {0, 1e4, 0, 1e4, 0, 0, 0, 0, 1e4});
  EXPECT_NEAR(run_op(c.op, c.inputs)[CtcLoss::loss].values[0], 0, 1e-6);
  c.inputs[1] = tensor(DType::i32, Shape{1, 2}, {2, 1});
  const double worst = run_op(c.op, c.inputs)[CtcLoss::loss].values[0];
  EXPECT_TRUE(std::isfinite(worst) && worst >= 1e4) << worst;
  const auto gradient = run_gradient(c, {tensor(DType::f32, Shape{}, {1})})[0].values;
  for (const double value : gradient) EXPECT_TRUE(std::isfinite(value));
}

TEST(CtcLoss, OfNotANumberIsNotANumber) {
  OpCase c = make_case(DType::f32, Shape{1, 4, 3}, {1, 2});
  c.inputs[0].values[4] = std::nan("");
  EXPECT_TRUE(std::isnan(run_op(c.op, c.inputs)[CtcLoss::loss].values[0]));
}

/// A batch of tests/golden/ctc_loss.json, by make_ctc_golden.py.
OpCase read_case(const nlohmann::json& golden) {
  const auto labels = golden.at("labels").get<std::vector<Label>>();
  const Shape shape{std::ssize(labels), golden.at("steps").get<std::int64_t>(),
                    golden.at("classes").get<std::int64_t>()};
  std::vector<double> flat, logits;
  for (const Label& label : labels) flat.insert(flat.end(), label.begin(), label.end());
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    logits.push_back(3 * std::sin(1 + 0.37 * static_cast<double>(i * (i % 11 + 1))));
  }
  OpCase c = make_case(DType::f32, shape, flat, golden.at("blank").get<std::int32_t>());
  c.inputs[CtcLoss::logits] = tensor(DType::f32, shape, logits);
  return c;
}

TEST(CtcLoss, IsPyTorchsWithItsGradient) {
  constexpr double limit = 1e-5;
  std::ifstream file(PTRAIN_SOURCE_DIR "/tests/golden/ctc_loss.json");
  const nlohmann::json cases = nlohmann::json::parse(file).at("cases");
  ASSERT_GT(cases.size(), 3U);
  for (const auto& [name, golden] : cases.items()) {
    OpCase c = read_case(golden);
    const std::vector<HostTensor> outputs = run_op(c.op, c.inputs);
    expect_close(outputs[CtcLoss::loss].values, {golden.at("loss").get<double>()}, limit, name);
    expect_close(outputs[CtcLoss::sample_losses].values, golden.at("losses"), limit, name + ": losses");
    const auto gradient = run_gradient(c, {tensor(DType::f32, Shape{}, {1})})[0].values;
    expect_close(gradient, golden.at("gradient"), limit, name + ": gradient");
  }
}

TEST(CtcLoss, RefusesLabelsOfAnotherNumberOfSamples) {
  const CtcLoss op(CtcLossAttributes{});
  const std::vector<TensorDesc> inputs{{DType::f32, Shape{2, 4, 3}}, {DType::i32, Shape{3, 2}}};
  EXPECT_THROW(op.infer(inputs), std::invalid_argument);
  const std::vector<TensorDesc> blank_beyond{{DType::f32, Shape{2, 4, 3}}, {DType::i32, Shape{2, 2}}};
  EXPECT_THROW(CtcLoss(CtcLossAttributes{3}).infer(blank_beyond), std::invalid_argument);
}

}  // namespace ctc_loss_test
}  // namespace ptrain::testing
