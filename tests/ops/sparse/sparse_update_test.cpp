// Updates of single rows against the published formulas, written out naively in double.
#include "core/ops/sparse/sparse_update.h"

#include "core/base/parallel.h"
#include "core/ops/training/optimizer_update.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace sparse_update_test {

constexpr std::int64_t table_rows = 50, width = 9, entries = 12;
constexpr float scale = 8;

/// What one element is after each step that its row is in; `t` counts all steps.
struct Element {
  double p, m = 0, v = 0, average = 0;

  void step(const OptimizerSettings& s, double lr, double gradient, int t) {
    const double decay = static_cast<double>(s.weight_decay), epsilon = static_cast<double>(s.epsilon);
    if (s.kind == OptimizerKind::adagrad) {
      const double g = gradient + decay * p;
      v += g * g;
      p -= lr * g / (std::sqrt(v + static_cast<double>(s.initial_accumulator)) + epsilon);
      return;
    }
    if (s.kind == OptimizerKind::rmsprop) {
      const double alpha = static_cast<double>(s.alpha), g = gradient + decay * p;
      v = alpha * v + (1 - alpha) * g * g;
      average = alpha * average + (1 - alpha) * g;
      m = static_cast<double>(s.momentum) * m + g / (std::sqrt(v - (s.centered ? average * average : 0)) + epsilon);
      p -= lr * m;
      return;
    }
    if (s.kind == OptimizerKind::adam) gradient += decay * p;
    if (s.kind == OptimizerKind::adamw || s.kind == OptimizerKind::adam) {
      const double b1 = static_cast<double>(s.beta1), b2 = static_cast<double>(s.beta2);
      m = b1 * m + (1 - b1) * gradient;
      v = b2 * v + (1 - b2) * gradient * gradient;
      const double m_hat = m / (1 - std::pow(b1, t)), v_hat = v / (1 - std::pow(b2, t));
      p = p * (s.kind == OptimizerKind::adam ? 1 : 1 - lr * decay) -
          lr * m_hat / (std::sqrt(v_hat) + static_cast<double>(s.epsilon));
      return;
    }
    const double momentum = s.kind == OptimizerKind::sgd ? 0 : static_cast<double>(s.momentum);
    const double total = gradient + decay * p;
    m = momentum * m + total;
    p -= lr * (s.nesterov ? total + momentum * m : m);
  }
};

/// Rows of step `t`, each once, some places without one.
HostTensor get_rows(int t) {
  std::vector<double> rows;
  for (std::int64_t i = 0; i < entries; ++i)
    rows.push_back(i % 4 == 1 ? -1 : static_cast<double>((i * 7 + t * 3) % table_rows));
  return tensor(DType::i32, Shape{entries}, std::move(rows));
}

HostTensor get_values(int t) { return random_tensor(DType::f32, Shape{entries, width}, static_cast<std::uint64_t>(t)); }

std::vector<HostTensor> get_inputs(const OptimizerSettings& s, float found_inf = 0) {
  const Shape shape{table_rows, width};
  const int moments = moment_count(s);
  const auto moment = [&](bool kept) {
    return kept ? tensor(DType::f32, shape, std::vector<double>(table_rows * width)) : absent_tensor();
  };
  return {tensor(DType::f32, Shape{1}, {0.1}),
          get_rows(0),
          get_values(0),
          tensor(DType::f32, Shape{1}, {0}),
          tensor(DType::f32, Shape{2}, {1, found_inf}),
          tensor(DType::f32, Shape{4}, {scale, 0, 0, 0}),
          random_tensor(DType::f32, shape, 77),
          moment(moments >= 1),
          moment(moments >= 2),
          moment(moments >= 3)};
}

void expect_formula(const OptimizerSettings& s) {
  SCOPED_TRACE(enum_name(s.kind));
  std::vector<HostTensor> inputs = get_inputs(s);
  std::vector<Element> expected;
  for (const double p : inputs[SparseUpdate::table].values) expected.push_back({p});
  for (int step = 1; step <= 5; ++step) {
    inputs[SparseUpdate::rows] = get_rows(step);
    inputs[SparseUpdate::values] = get_values(step);
    inputs[SparseUpdate::updates].values = {static_cast<double>(step - 1)};
    run_op(std::make_shared<SparseUpdate>(SparseUpdateAttributes{s}), inputs);
    for (std::size_t i = 0; i < inputs[SparseUpdate::values].values.size(); ++i) {
      const double row = inputs[SparseUpdate::rows].values[i / width];
      if (row < 0) continue;
      expected[static_cast<std::size_t>(row) * width + i % width].step(
          s, 0.1f, inputs[SparseUpdate::values].values[i] / static_cast<double>(scale), step);
    }
  }
  std::vector<double> values;
  for (const Element& element : expected) values.push_back(element.p);
  expect_close(inputs[SparseUpdate::table].values, values, 1e-5, "table");
}

TEST(SparseUpdate, FollowsEachFormulaInTheRowsOfTheGradient) {
  expect_formula({.kind = OptimizerKind::adamw, .epsilon = 1e-6f, .weight_decay = 0.01f});
  expect_formula({.kind = OptimizerKind::momentum, .weight_decay = 0.1f});
  expect_formula({.kind = OptimizerKind::momentum, .nesterov = true});
  expect_formula({.kind = OptimizerKind::sgd, .weight_decay = 0.1f});
  expect_formula({.kind = OptimizerKind::adam, .epsilon = 1e-6f, .weight_decay = 0.1f});
  expect_formula({.kind = OptimizerKind::adagrad, .weight_decay = 0.1f, .initial_accumulator = 0.1f});
  expect_formula({.kind = OptimizerKind::rmsprop, .epsilon = 1e-2f, .weight_decay = 0.1f});
  expect_formula({.kind = OptimizerKind::rmsprop, .momentum = 0, .epsilon = 1e-2f, .centered = true});
  expect_formula({.kind = OptimizerKind::rmsprop, .epsilon = 1e-2f, .centered = true});
}

/// FBGEMM's rowwise_adagrad with L2 decay: sum += mean of the row's g^2; p -= lr g / (sqrt(sum) + epsilon).
TEST(SparseUpdate, KeepsOneSumForEachRowWhereAdagradIsRowWise) {
  const OptimizerSettings s{.kind = OptimizerKind::adagrad,
                            .epsilon = 1e-4f,
                            .weight_decay = 0.1f,
                            .initial_accumulator = 0.01f,
                            .row_wise = true};
  std::vector<HostTensor> inputs = get_inputs(s);
  inputs[SparseUpdate::moment1] = tensor(DType::f32, Shape{table_rows}, std::vector<double>(table_rows));
  std::vector<double> p = inputs[SparseUpdate::table].values, sums(table_rows);
  for (int step = 1; step <= 5; ++step) {
    inputs[SparseUpdate::rows] = get_rows(step);
    inputs[SparseUpdate::values] = get_values(step);
    run_op(std::make_shared<SparseUpdate>(SparseUpdateAttributes{s}), inputs);
    for (std::size_t i = 0; i < entries; ++i) {
      if (inputs[SparseUpdate::rows].values[i] < 0) continue;
      const auto row = static_cast<std::size_t>(inputs[SparseUpdate::rows].values[i]);
      std::vector<double> g(width);
      double squares = 0;
      for (std::size_t c = 0; c < width; ++c) {
        g[c] = inputs[SparseUpdate::values].values[i * width + c] / static_cast<double>(scale) +
               static_cast<double>(s.weight_decay) * p[row * width + c];
        squares += g[c] * g[c];
      }
      sums[row] += squares / width;
      const double denominator = std::sqrt(sums[row] + static_cast<double>(s.initial_accumulator)) + 1e-4;
      for (std::size_t c = 0; c < width; ++c) p[row * width + c] -= static_cast<double>(0.1f) * g[c] / denominator;
    }
  }
  expect_close(inputs[SparseUpdate::table].values, p, 1e-5, "table");
  expect_close(inputs[SparseUpdate::moment1].values, sums, 1e-5, "sums");
}

TEST(SparseUpdate, LeavesOtherRowsAndTheirMomentsAsTheyAre) {
  const OptimizerSettings s{.kind = OptimizerKind::adamw, .weight_decay = 0.5f};
  std::vector<HostTensor> inputs = get_inputs(s);
  inputs[SparseUpdate::moment1] = inputs[SparseUpdate::moment2] =
      random_tensor(DType::f32, Shape{table_rows, width}, 5, 0.5, 1);
  const std::vector<HostTensor> before = inputs;
  run_op(std::make_shared<SparseUpdate>(SparseUpdateAttributes{s}), inputs);
  const std::vector<double>& rows = before[SparseUpdate::rows].values;
  for (const SparseUpdate::Input state : {SparseUpdate::table, SparseUpdate::moment1, SparseUpdate::moment2}) {
    for (std::size_t i = 0; i < before[state].values.size(); ++i) {
      const bool updated = std::count(rows.begin(), rows.end(), static_cast<double>(i / width)) > 0;
      EXPECT_EQ(inputs[state].values[i] != before[state].values[i], updated) << "input " << state << ", element " << i;
    }
  }
}

TEST(SparseUpdate, GivesTheSameBitsOnAnyNumberOfThreads) {
  constexpr std::int64_t many = 3000;
  const OptimizerSettings s{.kind = OptimizerKind::adamw};
  std::vector<HostTensor> one = get_inputs(s);
  std::vector<double> rows;
  for (std::int64_t i = 0; i < many; ++i) rows.push_back(static_cast<double>(i * 7 % many));
  one[SparseUpdate::rows] = tensor(DType::i32, Shape{many}, rows);
  one[SparseUpdate::values] = random_tensor(DType::f32, Shape{many, width}, 1);
  for (const SparseUpdate::Input state : {SparseUpdate::table, SparseUpdate::moment1, SparseUpdate::moment2}) {
    one[state] = random_tensor(DType::f32, Shape{many, width}, 2, 0, 1);
  }
  std::vector<HostTensor> three = one;
  const int before = thread_count();
  set_thread_count(1);
  run_op(std::make_shared<SparseUpdate>(SparseUpdateAttributes{s}), one);
  set_thread_count(3);
  run_op(std::make_shared<SparseUpdate>(SparseUpdateAttributes{s}), three);
  set_thread_count(before);
  EXPECT_EQ(one[SparseUpdate::table].values, three[SparseUpdate::table].values);
  EXPECT_EQ(one[SparseUpdate::moment2].values, three[SparseUpdate::moment2].values);
}

TEST(SparseUpdate, IsLeftOutWhereAGradientOverflowed) {
  const OptimizerSettings s{.kind = OptimizerKind::adamw};
  std::vector<HostTensor> inputs = get_inputs(s, 1);
  const std::vector<HostTensor> before = inputs;
  run_op(std::make_shared<SparseUpdate>(SparseUpdateAttributes{s}), inputs);
  EXPECT_EQ(inputs[SparseUpdate::table].values, before[SparseUpdate::table].values);
  EXPECT_EQ(inputs[SparseUpdate::moment2].values, before[SparseUpdate::moment2].values);
}

TEST(SparseUpdate, ClipsByTheNormOfAllGradients) {
  OptimizerSettings s{.kind = OptimizerKind::sgd};
  std::vector<HostTensor> free = get_inputs(s), clipped = free;
  const std::vector<double> start = free[SparseUpdate::table].values;
  run_op(std::make_shared<SparseUpdate>(SparseUpdateAttributes{s}), free);
  s.clip_norm = 0.25f;  // of a norm of 1
  run_op(std::make_shared<SparseUpdate>(SparseUpdateAttributes{s}), clipped);
  for (std::size_t i = 0; i < start.size(); ++i) {
    EXPECT_NEAR(clipped[SparseUpdate::table].values[i] - start[i], (free[SparseUpdate::table].values[i] - start[i]) / 4,
                1e-6);
  }
}

TEST(SparseUpdate, RefusesOptimizersOfWholeTables) {
  EXPECT_FALSE(updates_rows(OptimizerKind::lamb));
  std::vector<HostTensor> inputs = get_inputs({.kind = OptimizerKind::lamb});
  const auto op = std::make_shared<SparseUpdate>(SparseUpdateAttributes{{.kind = OptimizerKind::lamb}});
  EXPECT_ANY_THROW(run_op(op, inputs));
}

}  // namespace sparse_update_test
}  // namespace ptrain::testing
