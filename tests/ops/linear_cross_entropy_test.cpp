#include "core/ops/linear_cross_entropy.h"

#include "core/ops/softmax_cross_entropy.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace linear_cross_entropy_test {

struct Results {
  double loss = 0;
  std::vector<double> dx, dw;
};

/// The loss, and its gradients times `dloss`, by the definition; logits are not rounded.
Results compute(const std::vector<HostTensor>& in, double smoothing, double dloss) {
  const auto classes = static_cast<std::size_t>(in[1].desc.shape[0]),
             depth = static_cast<std::size_t>(in[1].desc.shape[1]);
  const std::size_t rows = in[2].values.size();
  double counted = 0;
  for (const double label : in[2].values) counted += label >= 0 ? 1 : 0;
  Results results{0, std::vector<double>(rows * depth), std::vector<double>(classes * depth)};
  for (std::size_t r = 0; r < rows; ++r) {
    if (in[2].values[r] < 0) continue;
    const double* x = in[0].values.data() + r * depth;
    std::vector<double> exponentials(classes);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      double logit = 0;
      for (std::size_t k = 0; k < depth; ++k) logit += x[k] * in[1].values[c * depth + k];
      sum += exponentials[c] = std::exp(logit);
    }
    for (std::size_t c = 0; c < classes; ++c) {
      const double label = in[2].values[r] == static_cast<double>(c) ? 1 : 0;
      const double target = smoothing / static_cast<double>(classes) + (1 - smoothing) * label;
      results.loss -= target * std::log(exponentials[c] / sum) / counted;
      const double dlogit = dloss * (exponentials[c] / sum - target) / counted;
      for (std::size_t k = 0; k < depth; ++k) {
        results.dx[r * depth + k] += dlogit * in[1].values[c * depth + k];
        results.dw[c * depth + k] += dlogit * x[k];
      }
    }
  }
  return results;
}

/// Labels 0..classes-1, and every fifth ignored.
HostTensor some_labels(std::int64_t rows, std::int64_t classes) {
  std::vector<double> labels;
  for (std::int64_t r = 0; r < rows; ++r) labels.push_back(r % 5 == 3 ? -1.0 : static_cast<double>(r * 7 % classes));
  return tensor(DType::i32, Shape{rows}, labels);
}

struct Dtypes {
  DType x, w;
};

constexpr Dtypes all_dtypes[] = {{DType::f32, DType::f32},
                                 {DType::bf16, DType::bf16},
                                 {DType::bf16, DType::f32},
                                 {DType::f16, DType::f16},
                                 {DType::f16, DType::f32}};

/// Chunks of 64 rows.
OpCase make_case(std::int64_t rows, Dtypes dtypes, float smoothing) {
  constexpr std::int64_t classes = 19, depth = 12;
  OpCase c;
  c.op = std::make_shared<LinearCrossEntropy>(LinearCrossEntropyAttributes{smoothing, 64});
  c.inputs = {random_tensor(dtypes.x, Shape{rows, depth}, 1), random_tensor(dtypes.w, Shape{classes, depth}, 2),
              some_labels(rows, classes)};
  c.reference = [smoothing](const auto& in) {
    return std::vector<std::vector<double>>{{compute(in, static_cast<double>(smoothing), 1).loss}, {}};
  };
  c.gradient_inputs = {0, 1};
  return c;
}

TEST(LinearCrossEntropy, MatchesReferenceInEveryDtype) {
  for (const Dtypes dtypes : all_dtypes) {
    check_op(make_case(5, dtypes, 0));
    check_op(make_case(130, dtypes, 0.1f));
  }
}

TEST(LinearCrossEntropy, TakesRowsOfTwoAxes) {
  OpCase c = make_case(128, {DType::f32, DType::f32}, 0);
  c.inputs[0].desc.shape = Shape{2, 64, 12};
  check_op(c);
}

TEST(LinearCrossEntropy, GivesGradientsOfOneInputAlone) {
  for (const int input : {0, 1}) {
    for (const Dtypes dtypes : all_dtypes) {
      OpCase c = make_case(70, dtypes, 0);
      c.gradient_inputs = {input};
      check_op(c);
    }
  }
}

TEST(LinearCrossEntropy, IsZeroWhenEveryRowIsIgnored) {
  OpCase c = make_case(70, {DType::f32, DType::f32}, 0);
  std::ranges::fill(c.inputs[2].values, -1.0);
  check_op(c);
}

TEST(LinearCrossEntropy, RefusesChunksThatBeginAtOddAddresses) {
  const std::vector<TensorDesc> inputs{{DType::f32, Shape{8, 3}}, {DType::f32, Shape{5, 3}}, {DType::i32, Shape{8}}};
  EXPECT_NO_THROW(LinearCrossEntropy({0, 64}).infer(inputs));
  EXPECT_THROW(LinearCrossEntropy({0, 4}).infer(inputs), std::invalid_argument);
  EXPECT_THROW(LinearCrossEntropy({0, 0}).infer(inputs), std::invalid_argument);
}

/// Each row's gradients are about 1, so that the tolerances tell.
TEST(LinearCrossEntropyGrad, MatchesReferenceInEveryDtype) {
  for (const Dtypes dtypes : all_dtypes) {
    for (const std::int64_t rows : {5, 64, 200}) {
      OpCase c = make_case(rows, dtypes, 0.1f);
      const double dloss = static_cast<double>(rows);
      c.op = std::make_shared<LinearCrossEntropyGrad>(LinearCrossEntropyGradAttributes{{0.1f, 64}, true, dtypes.w});
      c.inputs.push_back(tensor(DType::f32, Shape{}, {dloss}));
      c.reference = [dloss](const auto& in) {
        Results results = compute(in, static_cast<double>(0.1f), dloss);
        return std::vector<std::vector<double>>{{results.loss}, {}, results.dx, results.dw};
      };
      c.gradient_inputs.clear();
      check_op(c);
    }
  }
}

TEST(LinearCrossEntropyGrad, IsZeroWhereTheLossHasNoGradient) {
  std::vector<HostTensor> inputs = make_case(70, {DType::f32, DType::f32}, 0).inputs;
  inputs.push_back(tensor(DType::f32, Shape{}, {0}));
  const auto op = std::make_shared<LinearCrossEntropyGrad>(LinearCrossEntropyGradAttributes{{0, 64}, true, DType::f32});
  const std::vector<HostTensor> outputs = run_op(op, inputs);
  for (const double v : outputs[2].values) EXPECT_EQ(v, 0);
  for (const double v : outputs[3].values) EXPECT_EQ(v, 0);
}

TEST(LinearCrossEntropy, NaNReachesTheLoss) {
  std::vector<HostTensor> inputs = make_case(70, {DType::f32, DType::f32}, 0).inputs;
  inputs[0].values[3] = std::nan("");
  EXPECT_TRUE(std::isnan(
      run_op(std::make_shared<LinearCrossEntropy>(LinearCrossEntropyAttributes{0, 64}), inputs)[0].values[0]));
}

TEST(LinearCrossEntropy, ChunksAreAFewOfTheRows) {
  EXPECT_EQ(choose_chunk_rows(100), 128);
  EXPECT_EQ(choose_chunk_rows(512), 256);
  EXPECT_EQ(choose_chunk_rows(1000), 384);
  EXPECT_EQ(choose_chunk_rows(1024), 256);
  EXPECT_EQ(choose_chunk_rows(16384), 2048);
}

}  // namespace linear_cross_entropy_test
}  // namespace ptrain::testing
