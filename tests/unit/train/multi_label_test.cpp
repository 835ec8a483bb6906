// The loss of several labels per sample, against a sum in double.
#include "core/data/tensor_names.h"
#include "core/tasks/task_registry.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace ptrain {
namespace multi_label_loss_test {

constexpr std::int64_t samples = 3, classes = 4;
constexpr std::array<float, samples * classes> logits{0.5f, -2, 30, 1, -40, 0, 1.5f, -0.25f, 7, 7, 7, 7};

float compute_loss(const std::array<std::int32_t, samples * classes>& labels) {
  Graph graph;
  graph.set_output(tensor_names::logits, graph.add_state("scores", {DType::f32, {samples, classes}}));
  const std::vector<Loss> losses = make_task("multi_label")->add_losses(graph, Mode::training);
  graph.clear_outputs();
  graph.set_output(tensor_names::loss, losses.at(0).value);
  const auto backend = testing::make_test_backend();
  Variables variables(backend->memory());
  Plan plan(std::move(graph), *backend, variables, testing::test_plan_options());
  variables.allocate();
  const PlanMemory memory(backend->memory(), {&plan});
  plan.bind(memory);
  variables.write("scores", logits.data(), sizeof logits);
  plan.write_input(tensor_names::multi_hot_labels, labels.data(), sizeof labels);
  plan.run(Pass::forward, Pass::forward);
  float loss = 0;
  plan.read_output(tensor_names::loss, &loss, sizeof loss);
  return loss;
}

TEST(MultiLabelLoss, IsSummedOverClassesAndTheMeanOfSamplesWithLabels) {
  const std::array<std::int32_t, samples * classes> labels{1, 0, 1, 0, 0, 1, 1, 0, -1, -1, -1, -1};
  double sum = 0;
  for (std::size_t i = 0; i < 2 * classes; ++i) {
    const double z = logits[i];
    sum += std::max(z, 0.0) - z * labels[i] + std::log1p(std::exp(-std::abs(z)));
  }
  EXPECT_NEAR(compute_loss(labels), sum / 2, 1e-5);
}

TEST(MultiLabelLoss, IsZeroWithoutSamples) {
  std::array<std::int32_t, samples * classes> labels{};
  labels.fill(-1);
  EXPECT_EQ(compute_loss(labels), 0);
}

}  // namespace multi_label_loss_test
}  // namespace ptrain
