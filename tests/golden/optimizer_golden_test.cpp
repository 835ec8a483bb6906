// Ten steps of every optimizer against PyTorch's own (optimizers.json, by make_optimizer_golden.py), through the pass
// that lays parameters out and the kernels that it names.
#include "core/exec/plan.h"
#include "core/passes/optimizer.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <map>
#include <string>

namespace ptrain {
namespace {

const std::map<std::string, Shape>& shapes() {
  static const std::map<std::string, Shape> all{{"wide", Shape{4, 6}}, {"tall", Shape{6, 4}}, {"vector", Shape{5}}};
  return all;
}

float start_value(int i) { return static_cast<float>(std::cos(0.7 * i)); }
float gradient_value(int step, int i) { return static_cast<float>(std::sin(1 + 2 * step + i * (i + 3))); }
float rate(int step) { return 0.1f / static_cast<float>(step + 1); }

std::vector<float> filled(const Shape& shape, const std::function<float(int)>& value) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(static_cast<int>(i));
  return values;
}

OptimizerSettings get_settings(const nlohmann::json& json) {
  OptimizerSettings s;
  s.kind = choice_from_name<OptimizerKind>(json.at("kind").get<std::string>()).value();
  s.momentum = json.value("momentum", s.momentum);
  s.nesterov = json.value("nesterov", s.nesterov);
  s.beta1 = json.value("beta1", s.beta1);
  s.beta2 = json.value("beta2", s.beta2);
  s.epsilon = json.value("epsilon", s.epsilon);
  s.weight_decay = json.value("weight_decay", s.weight_decay);
  s.alpha = json.value("alpha", s.alpha);
  s.centered = json.value("centered", s.centered);
  s.initial_accumulator = json.value("initial_accumulator", s.initial_accumulator);
  s.muon_scale = choice_from_name<MuonScale>(json.value("muon_scale", "original")).value();
  return s;
}

/// The parameters, by name, after `steps` updates.
std::map<std::string, std::vector<float>> train(const OptimizerSettings& settings, int steps) {
  Differentiated made;
  for (const auto& [name, shape] : shapes()) {
    const ValueId parameter = made.graph.add_parameter(name, shape);
    made.gradients.push_back({parameter, made.graph.add_input(name + ".grad", {DType::f32, shape})});
  }
  OptimizerPassOptions options;
  options.settings = settings;
  const auto backend = testing::make_test_backend();
  Variables variables(backend->memory());
  Plan plan(add_optimizer(std::move(made), options), *backend, variables, {});
  variables.allocate();
  const PlanMemory memory(backend->memory(), {&plan});
  plan.bind(memory);
  for (const auto& [name, shape] : shapes()) {
    const std::vector<float> values = filled(shape, start_value);
    variables.write(name, values.data(), values.size() * sizeof(float));
  }
  for (int step = 0; step < steps; ++step) {
    const float lr = rate(step);
    plan.write_input(flat::learning_rate, &lr, sizeof lr);
    for (const auto& [name, shape] : shapes()) {
      const std::vector<float> values = filled(shape, [step](int i) { return gradient_value(step, i); });
      plan.write_input(name + ".grad", values.data(), values.size() * sizeof(float));
    }
    plan.run(Pass::forward, Pass::update);
  }
  std::map<std::string, std::vector<float>> result;
  for (const auto& [name, shape] : shapes()) result[name] = variables.read_f32(name);
  return result;
}

const nlohmann::json& golden() {
  static const nlohmann::json json =
      nlohmann::json::parse(std::ifstream(PTRAIN_SOURCE_DIR "/tests/golden/optimizers.json"));
  return json;
}

TEST(OptimizerGolden, EveryOptimizerIsPyTorchs) {
  for (const auto& [name, expected] : golden().at("cases").items()) {
    SCOPED_TRACE(name);
    const OptimizerSettings settings = get_settings(expected);
    const auto actual = train(settings, golden().at("steps"));
    for (const auto& [parameter, values] : actual) {
      const auto reference = expected.at("expected").at(parameter).get<std::vector<double>>();
      ASSERT_EQ(values.size(), reference.size());
      // PyTorch rounds Muon's products to bf16.
      const bool rounded = settings.kind == OptimizerKind::muon && shapes().at(parameter).rank() == 2;
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(static_cast<double>(values[i]), reference[i], rounded ? 1e-2 : 2e-5) << parameter << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace ptrain
