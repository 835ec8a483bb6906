// The fused update against the published formulas, written out naively in double.
#include "core/ops/training/optimizer_update.h"
#include "core/exec/plan.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain {
namespace optimizer_update_test {

constexpr std::size_t elements = 8;
constexpr int steps = 4;

float start(std::size_t i) { return 0.5f - 0.17f * static_cast<float>(i); }
float gradient(int step, std::size_t i) {
  return std::sin(1.0f + static_cast<float>(step) * 2.0f + static_cast<float>(i));
}
float rate(int step) { return 0.1f / static_cast<float>(step + 1); }

/// The parameters after `steps` updates by the kernel, which counts them or leaves that to an op that has no
/// parameters.
std::vector<float> run(const OptimizerSettings& settings, bool decay, UpdateCount counted = UpdateCount::here) {
  const auto backend = testing::make_test_backend();
  Variables variables(backend->memory());
  Graph graph;
  const TensorDesc flat{DType::f32, Shape{static_cast<std::int64_t>(elements)}};
  std::vector<ValueId> inputs(OptimizerUpdate::count, no_value);
  inputs[OptimizerUpdate::learning_rate] = graph.add_input("lr", {DType::f32, Shape{1}});
  inputs[OptimizerUpdate::grad_f32] = graph.add_state("grad", flat);
  inputs[OptimizerUpdate::master] = graph.add_state("master", flat);
  const int moments = moment_count(settings);
  if (moments >= 1) inputs[OptimizerUpdate::moment1] = graph.add_state("m", flat);
  if (moments >= 2) inputs[OptimizerUpdate::moment2] = graph.add_state("v", flat);
  if (moments >= 3) inputs[OptimizerUpdate::moment3] = graph.add_state("w", flat);
  inputs[OptimizerUpdate::updates] = graph.add_state("updates", {DType::f32, Shape{1}});
  ParameterSegment segment;
  segment.count = static_cast<std::int64_t>(elements);
  segment.decay = decay;
  graph.add_node("update", std::make_shared<OptimizerUpdate>(settings, std::vector{segment}, counted), inputs,
                 Pass::update);
  if (counted == UpdateCount::later) {
    graph.add_node("count", std::make_shared<OptimizerUpdate>(settings, std::vector<ParameterSegment>{}), inputs,
                   Pass::update);
  }
  Plan plan(graph, *backend, variables, {});
  variables.allocate();
  const PlanMemory memory(backend->memory(), {&plan});
  plan.bind(memory);
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = start(i);
  variables.write("master", values.data(), sizeof(float) * elements);
  for (int step = 0; step < steps; ++step) {
    const float lr = rate(step);
    plan.write_input("lr", &lr, sizeof lr);
    for (std::size_t i = 0; i < elements; ++i) values[i] = gradient(step, i);
    variables.write("grad", values.data(), sizeof(float) * elements);
    plan.run(Pass::update, Pass::update);
  }
  return variables.read_f32("master");
}

double norm(const std::vector<double>& x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  return std::sqrt(squares);
}

/// One element of the optimizers that PyTorch documents with L2 decay, in the letters of its documentation.
struct PyTorchElement {
  double p, m = 0, v = 0, average = 0, buffer = 0;

  void step(const OptimizerSettings& s, double lr, double g, int t) {
    const double epsilon = static_cast<double>(s.epsilon), alpha = static_cast<double>(s.alpha);
    switch (s.kind) {
      case OptimizerKind::adam: {
        const double b1 = static_cast<double>(s.beta1), b2 = static_cast<double>(s.beta2);
        m = b1 * m + (1 - b1) * g;
        v = b2 * v + (1 - b2) * g * g;
        p -= lr * (m / (1 - std::pow(b1, t))) / (std::sqrt(v / (1 - std::pow(b2, t))) + epsilon);
        return;
      }
      case OptimizerKind::adagrad:
        if (t == 1) v = static_cast<double>(s.initial_accumulator);
        v += g * g;
        p -= lr * g / (std::sqrt(v) + epsilon);
        return;
      default:
        v = alpha * v + (1 - alpha) * g * g;
        average = alpha * average + (1 - alpha) * g;
        buffer = static_cast<double>(s.momentum) * buffer +
                 g / (std::sqrt(s.centered ? v - average * average : v) + epsilon);
        p -= lr * buffer;
    }
  }
};

std::vector<double> expected_of_pytorch(const OptimizerSettings& s, bool decay) {
  std::vector<double> values;
  for (std::size_t i = 0; i < elements; ++i) {
    PyTorchElement element{static_cast<double>(start(i))};
    for (int step = 0; step < steps; ++step) {
      const double wd = decay ? static_cast<double>(s.weight_decay) : 0.0;
      element.step(s, static_cast<double>(rate(step)), static_cast<double>(gradient(step, i)) + wd * element.p,
                   step + 1);
    }
    values.push_back(element.p);
  }
  return values;
}

/// The same in double, each optimizer as its paper or PyTorch writes it.
std::vector<double> expected(const OptimizerSettings& s, bool decay) {
  const double wd = decay ? static_cast<double>(s.weight_decay) : 0.0;
  std::vector<double> p(elements), m(elements), v(elements), g(elements), d(elements);
  for (std::size_t i = 0; i < elements; ++i) p[i] = static_cast<double>(start(i));
  for (int step = 0; step < steps; ++step) {
    double lr = static_cast<double>(rate(step));
    for (std::size_t i = 0; i < elements; ++i) g[i] = static_cast<double>(gradient(step, i));
    const bool adam = s.kind == OptimizerKind::adamw || s.kind == OptimizerKind::lamb;
    if (!adam) {
      const double momentum = s.kind == OptimizerKind::sgd ? 0.0 : static_cast<double>(s.momentum);
      if (s.kind == OptimizerKind::lars && decay)
        lr *= static_cast<double>(s.trust_coefficient) * norm(p) / (norm(g) + wd * norm(p));
      for (std::size_t i = 0; i < elements; ++i) {
        const double total = g[i] + wd * p[i];
        m[i] = momentum * m[i] + total;
        p[i] -= lr * (s.nesterov ? total + momentum * m[i] : m[i]);
      }
      continue;
    }
    const double b1 = static_cast<double>(s.beta1), b2 = static_cast<double>(s.beta2);
    for (std::size_t i = 0; i < elements; ++i) {
      m[i] = b1 * m[i] + (1 - b1) * g[i];
      v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
      const double m_hat = m[i] / (1 - std::pow(b1, step + 1)), v_hat = v[i] / (1 - std::pow(b2, step + 1));
      d[i] = m_hat / (std::sqrt(v_hat) + static_cast<double>(s.epsilon)) + wd * p[i];
    }
    const double trust = s.kind == OptimizerKind::lamb && decay ? norm(p) / norm(d) : 1.0;
    for (std::size_t i = 0; i < elements; ++i) p[i] -= lr * trust * d[i];
  }
  return p;
}

using Expected = std::vector<double> (*)(const OptimizerSettings&, bool);

void expect_as_published(OptimizerSettings settings, Expected formula = expected) {
  settings.weight_decay = 0.05f;
  for (const bool decay : {true, false}) {
    const std::vector<float> actual = run(settings, decay);
    const std::vector<double> reference = formula(settings, decay);
    for (std::size_t i = 0; i < elements; ++i) {
      EXPECT_NEAR(static_cast<double>(actual[i]), reference[i], 2e-5)
          << enum_name(settings.kind) << (settings.nesterov ? " nesterov" : "") << " element " << i << " decay "
          << decay;
    }
    EXPECT_EQ(run(settings, decay, UpdateCount::later), actual) << enum_name(settings.kind);
  }
}

TEST(OptimizerUpdate, FollowsThePublishedFormulas) {
  for (const OptimizerKind kind :
       {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::adamw, OptimizerKind::lars, OptimizerKind::lamb}) {
    OptimizerSettings settings;
    settings.kind = kind;
    expect_as_published(settings);
  }
  OptimizerSettings nesterov;
  nesterov.nesterov = true;
  expect_as_published(nesterov);
}

TEST(OptimizerUpdate, FollowsPyTorchWhereTheDecayIsPartOfTheGradient) {
  for (const float initial : {0.0f, 0.3f}) {
    expect_as_published({.kind = OptimizerKind::adagrad, .initial_accumulator = initial}, expected_of_pytorch);
  }
  expect_as_published({.kind = OptimizerKind::adam, .beta1 = 0.8f, .beta2 = 0.9f}, expected_of_pytorch);
  for (const float momentum : {0.0f, 0.7f}) {
    for (const bool centered : {false, true}) {
      expect_as_published(
          {.kind = OptimizerKind::rmsprop, .momentum = momentum, .epsilon = 1e-2f, .alpha = 0.9f, .centered = centered},
          expected_of_pytorch);
    }
  }
}

TEST(OptimizerUpdate, ScalesItsLearningRate) {
  for (const OptimizerKind kind :
       {OptimizerKind::sgd, OptimizerKind::adamw, OptimizerKind::lamb, OptimizerKind::adagrad}) {
    const std::vector<float> none = run({.kind = kind, .lr_scale = 0.0f}, true);
    for (std::size_t i = 0; i < elements; ++i) EXPECT_EQ(none[i], start(i)) << enum_name(kind);
  }
  const OptimizerSettings half{.kind = OptimizerKind::sgd, .lr_scale = 0.5f};
  const std::vector<float> whole = run({.kind = OptimizerKind::sgd}, true), scaled = run(half, true);
  for (std::size_t i = 0; i < elements; ++i) EXPECT_NEAR(scaled[i] - start(i), (whole[i] - start(i)) / 2, 1e-6);
}

}  // namespace optimizer_update_test
}  // namespace ptrain
