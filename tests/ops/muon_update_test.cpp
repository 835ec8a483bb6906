// Muon's update of one weight against torch.optim.Muon's definition, written out naively in double.
#include "core/ops/training/muon_update.h"

#include "tests/ops/op_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace muon_update_test {

constexpr float scale = 4;  // of the loss

using Matrix = std::vector<std::vector<double>>;

Matrix transposed(const Matrix& a) {
  Matrix t(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
  }
  return t;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b[0].size(); ++j) {
      for (std::size_t k = 0; k < b.size(); ++k) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

Matrix combined(double a, const Matrix& x, double b, const Matrix& y) {
  Matrix c = x;
  for (std::size_t i = 0; i < c.size(); ++i) {
    for (std::size_t j = 0; j < c[0].size(); ++j) c[i][j] = a * x[i][j] + b * y[i][j];
  }
  return c;
}

/// _zeropower_via_newtonschulz of torch.optim.Muon.
Matrix orthogonalized(Matrix x) {
  const bool tall = x.size() > x[0].size();
  if (tall) x = transposed(x);
  double squares = 0;
  for (const auto& row : x) {
    for (const double value : row) squares += value * value;
  }
  x = combined(1 / std::max(std::sqrt(squares), 1e-7), x, 0, x);
  for (int step = 0; step < 5; ++step) {
    const Matrix gram = product(x, transposed(x));
    const Matrix update = combined(-4.7750, gram, 2.0315, product(gram, gram));
    x = combined(3.4445, x, 1, product(update, x));
  }
  return tall ? transposed(x) : x;
}

Matrix get_matrix(const std::vector<double>& values, std::size_t rows, std::size_t columns) {
  Matrix m(rows, std::vector<double>(columns));
  for (std::size_t i = 0; i < rows * columns; ++i) m[i / columns][i % columns] = values[i];
  return m;
}

std::vector<double> flat_values(const Matrix& m) {
  std::vector<double> values;
  for (const auto& row : m) values.insert(values.end(), row.begin(), row.end());
  return values;
}

std::vector<HostTensor> inputs_for(std::int64_t count, DType low) {
  std::vector<HostTensor> inputs(OptimizerUpdate::count, absent_tensor());
  const bool is_low = low != DType::f32;
  inputs[OptimizerUpdate::learning_rate] = tensor(DType::f32, Shape{1}, {0.05});
  inputs[OptimizerUpdate::loss_scale] = tensor(DType::f32, Shape{4}, {scale, 0, 0, 0});
  inputs[OptimizerUpdate::grad_norm] = tensor(DType::f32, Shape{2}, {1, 0});
  inputs[OptimizerUpdate::master] = random_tensor(DType::f32, Shape{count}, 1);
  inputs[OptimizerUpdate::moment1] =
      tensor(DType::f32, Shape{count}, std::vector<double>(static_cast<std::size_t>(count)));
  inputs[OptimizerUpdate::updates] = tensor(DType::f32, Shape{1}, {0});
  if (is_low) inputs[OptimizerUpdate::low] = random_tensor(low, Shape{count}, 2);
  return inputs;
}

struct Expected {
  Matrix p, momentum;
};

void take_step(Expected& e, const OptimizerSettings& s, const Matrix& g) {
  const double lr = static_cast<double>(0.05f), m = static_cast<double>(s.momentum);
  const auto rows = static_cast<double>(g.size()), columns = static_cast<double>(g[0].size());
  e.momentum = combined(m, e.momentum, 1 - m, g);
  const Matrix direction = s.nesterov ? combined(1 - m, g, m, e.momentum) : e.momentum;
  const double adjusted = s.muon_scale == MuonScale::original ? std::sqrt(std::max(1.0, rows / columns))
                                                              : 0.2 * std::sqrt(std::max(rows, columns));
  e.p = combined(1 - lr * static_cast<double>(s.weight_decay), e.p, -lr * adjusted, orthogonalized(direction));
}

void expect_definition(const OptimizerSettings& s, std::int64_t rows, std::int64_t columns, DType low = DType::f32) {
  SCOPED_TRACE(fmt::format("{}x{} {}", rows, columns, to_string(low)));
  const std::int64_t count = rows * columns;
  const auto r = static_cast<std::size_t>(rows), c = static_cast<std::size_t>(columns);
  ParameterSegment segment;
  segment.count = count;
  if (low != DType::f32) segment.low_offset = 0;
  const auto op = std::make_shared<MuonUpdate>(MuonUpdateAttributes{s, segment, rows, columns});
  std::vector<HostTensor> inputs = inputs_for(count, low);
  Expected expected{get_matrix(inputs[OptimizerUpdate::master].values, r, c), Matrix(r, std::vector<double>(c))};
  for (std::uint64_t step = 0; step < 3; ++step) {
    const HostTensor gradient = random_tensor(low, Shape{count}, 10 + step);
    inputs[low == DType::f32 ? OptimizerUpdate::grad_f32 : OptimizerUpdate::grad_low] = gradient;
    run_op(op, inputs);
    std::vector<double> unscaled = gradient.values;
    for (double& value : unscaled) value /= static_cast<double>(scale);
    take_step(expected, s, get_matrix(unscaled, r, c));
  }
  expect_close(inputs[OptimizerUpdate::master].values, flat_values(expected.p), 1e-4, "weight");
  expect_close(inputs[OptimizerUpdate::moment1].values, flat_values(expected.momentum), 1e-6, "momentum");
  EXPECT_EQ(inputs[OptimizerUpdate::updates].values[0], 0) << "which the update of all others counts";
  if (low == DType::f32) return;
  for (std::size_t i = 0; i < inputs[OptimizerUpdate::low].values.size(); ++i) {
    EXPECT_EQ(inputs[OptimizerUpdate::low].values[i], round_to(low, inputs[OptimizerUpdate::master].values[i]));
  }
}

TEST(MuonUpdate, FollowsItsDefinitionForWidePlainAndTallWeights) {
  const OptimizerSettings s{.kind = OptimizerKind::muon, .momentum = 0.95f, .nesterov = true, .weight_decay = 0.1f};
  expect_definition(s, 5, 12);
  expect_definition(s, 12, 5);
  expect_definition(s, 8, 8);
  expect_definition(s, 33, 70);
}

TEST(MuonUpdate, FollowsItInLowPrecisionAndWithTheOtherScale) {
  OptimizerSettings s{.kind = OptimizerKind::muon, .momentum = 0.8f, .muon_scale = MuonScale::match_rms_adamw};
  expect_definition(s, 6, 16, DType::bf16);
  expect_definition(s, 16, 6, DType::f16);
  expect_definition(s, 16, 6);
}

TEST(MuonUpdate, MakesNearlyOrthogonalSteps) {
  const OptimizerSettings s{.kind = OptimizerKind::muon, .momentum = 0};
  ParameterSegment segment;
  segment.count = 6 * 20;
  std::vector<HostTensor> inputs = inputs_for(segment.count, DType::f32);
  inputs[OptimizerUpdate::grad_f32] = random_tensor(DType::f32, Shape{segment.count}, 5);
  const std::vector<double> before = inputs[OptimizerUpdate::master].values;
  run_op(std::make_shared<MuonUpdate>(MuonUpdateAttributes{s, segment, 6, 20}), inputs);
  Matrix step = get_matrix(inputs[OptimizerUpdate::master].values, 6, 20);
  step = combined(-20, step, 20, get_matrix(before, 6, 20));  // 1 / lr
  const Matrix gram = product(step, transposed(step));
  for (std::size_t i = 0; i < gram.size(); ++i) {
    for (std::size_t j = 0; j < gram.size(); ++j) EXPECT_NEAR(gram[i][j], i == j ? 1 : 0, 0.6) << i << " " << j;
  }
}

TEST(MuonUpdate, IsLeftOutWhereAGradientOverflowed) {
  const OptimizerSettings s{.kind = OptimizerKind::muon};
  ParameterSegment segment;
  segment.count = 4 * 7;
  std::vector<HostTensor> inputs = inputs_for(segment.count, DType::f32);
  inputs[OptimizerUpdate::grad_f32] = random_tensor(DType::f32, Shape{segment.count}, 5);
  inputs[OptimizerUpdate::grad_norm].values[1] = 1;
  const std::vector<double> before = inputs[OptimizerUpdate::master].values;
  run_op(std::make_shared<MuonUpdate>(MuonUpdateAttributes{s, segment, 4, 7}), inputs);
  EXPECT_EQ(inputs[OptimizerUpdate::master].values, before);
}

}  // namespace muon_update_test
}  // namespace ptrain::testing
