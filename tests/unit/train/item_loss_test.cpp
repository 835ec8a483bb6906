// Losses of a session's next item among candidates, against sums in double.
#include "core/data/tensor_names.h"
#include "core/tasks/task_registry.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

namespace ptrain {
namespace item_loss_test {

// Two sessions of two items and one drawn item each. The last next item is padding; items 1 and 3 occur twice.
constexpr std::int64_t sessions = 2, length = 2, drawn = 1, rows = sessions * length, count = rows + sessions * drawn;
constexpr std::array<std::int32_t, count> candidates{3, 1, 3, -1, 5, 1};
constexpr std::array<std::int32_t, rows> next{3, 1, 3, -1}, own{0, 1, 2, 3};
constexpr std::array<float, rows> next_shares{-1, -2, -1, 0};
constexpr std::array<float, sessions * drawn> drawn_shares{-3, -0.5f};

float score(std::int64_t row, std::int64_t candidate) {
  return 0.7f * static_cast<float>((row * 5 + candidate * 3) % 7) - 2;
}

/// The loss of a task with `options`.
double compute(const TaskOptions& options) {
  Graph graph;
  const ValueId scores = graph.add_state("scores", {DType::f32, {sessions, length, count}});
  graph.add_input(tensor_names::next_tokens, {DType::i32, Shape{rows}});
  const ValueId items = graph.add_input(tensor_names::candidates, {DType::i32, Shape{count}});
  graph.set_output(tensor_names::logits, scores);
  graph.set_output(tensor_names::candidates, items);
  const std::vector<Loss> losses = make_task("next_item", options)->add_losses(graph, Mode::training);
  graph.clear_outputs();
  graph.set_output(tensor_names::loss, losses.at(0).value);
  EXPECT_EQ(losses.at(0).name, enum_name(options.item_loss));

  const auto backend = testing::make_test_backend();
  Variables variables(backend->memory());
  Plan plan(std::move(graph), *backend, variables, testing::test_plan_options());
  variables.allocate();
  const PlanMemory memory(backend->memory(), {&plan});
  plan.bind(memory);
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows * count; ++i) values.push_back(score(i / count, i % count));
  variables.write("scores", values.data(), values.size() * sizeof(float));
  const auto feed = [&](const char* name, const auto& from) {
    plan.write_input(name, from.data(), from.size() * sizeof from[0]);
  };
  feed(tensor_names::next_tokens, next);
  feed(tensor_names::candidates, candidates);
  feed("own_candidates", own);
  if (options.logq > 0) {
    feed(tensor_names::next_shares, next_shares);
    feed(tensor_names::sampled_shares, drawn_shares);
  }
  plan.run(Pass::forward, Pass::forward);
  float loss = 0;
  plan.read_output(tensor_names::loss, &loss, sizeof loss);
  return loss;
}

/// The mean over rows with a next item of `loss`(its score, the scores of other items).
double expect(const std::function<double(double, const std::vector<double>&)>& loss, double logq = 0) {
  double sum = 0;
  for (std::int64_t row = 0; row < rows - 1; ++row) {
    const auto corrected = [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i < rows ? i : i - rows);
      return score(row, i) - logq * (i < rows ? next_shares[at] : drawn_shares[at]);
    };
    std::vector<double> others;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t item = candidates[static_cast<std::size_t>(i)];
      if (item >= 0 && item != next[static_cast<std::size_t>(row)]) others.push_back(corrected(i));
    }
    sum += loss(corrected(row), others);
  }
  return sum / (rows - 1);
}

double cross_entropy(double positive, const std::vector<double>& others) {
  double sum = 1;
  for (const double other : others) sum += std::exp(other - positive);
  return std::log(sum);
}

double count_against(double positive, double other) { return std::log1p(std::exp(other - positive)); }

TEST(ItemLoss, IsTheCrossEntropyOfTheNextItemAmongOtherCandidates) {
  EXPECT_NEAR(compute({}), expect(cross_entropy), 1e-5);
}

TEST(ItemLoss, IsCorrectedForHowOftenCandidatesOccur) {
  TaskOptions options;
  options.logq = 0.5f;
  EXPECT_NEAR(compute(options), expect(cross_entropy, 0.5), 1e-5);
  EXPECT_GT(std::abs(compute(options) - compute({})), 0.01);
}

TEST(ItemLoss, IsBprsMeanOverOtherCandidates) {
  TaskOptions options;
  options.item_loss = ItemLoss::bpr;
  const auto bpr = [](double positive, const std::vector<double>& others) {
    double sum = 0;
    for (const double other : others) sum += count_against(positive, other);
    return sum / static_cast<double>(others.size());
  };
  EXPECT_NEAR(compute(options), expect(bpr), 1e-5);
}

TEST(ItemLoss, IsWhatTheNextItemLacksToTheMargin) {
  TaskOptions options;
  options.item_loss = ItemLoss::hinge;
  options.hinge_margin = 0.8f;
  const auto hinge = [](double positive, const std::vector<double>& others) {
    double sum = 0;
    for (const double other : others) sum += std::max(0.0, 0.8 - positive + other);
    return sum / static_cast<double>(others.size());
  };
  EXPECT_NEAR(compute(options), expect(hinge), 1e-5);
}

TEST(ItemLoss, IsBprMaxWithItsRegularization) {
  TaskOptions options;
  options.item_loss = ItemLoss::bpr_max;
  options.bpr_regularization = 0.3f;
  const auto bpr_max = [](double positive, const std::vector<double>& others) {
    double sum = 0, rank = 0, squares = 0;
    for (const double other : others) sum += std::exp(other);
    for (const double other : others) {
      rank += std::exp(other) / sum * std::exp(-count_against(positive, other));
      squares += std::exp(other) / sum * other * other;
    }
    return 0.3 * squares - std::log(rank);
  };
  EXPECT_NEAR(compute(options), expect(bpr_max), 1e-5);
}

}  // namespace item_loss_test
}  // namespace ptrain
