#include "core/ops/sparse/sparse_gradient.h"

#include "core/ops/sparse/embedding_bag.h"
#include "core/ops/text/embedding.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <map>

namespace ptrain::testing {
namespace sparse_gradient_test {

std::vector<std::vector<double>> reference(const std::vector<HostTensor>& in) {
  const std::vector<double>& ids = in[0].values;
  const auto width = static_cast<std::size_t>(in[1].desc.shape[-1]);
  const std::size_t in_bag = ids.size() * width / in[1].values.size();
  std::vector<double> rows(ids.size(), -1), values(ids.size() * width);
  std::map<double, std::size_t> first;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) continue;
    const auto [at, is_new] = first.try_emplace(ids[i], i);
    if (is_new) rows[i] = ids[i];
    for (std::size_t c = 0; c < width; ++c) values[at->second * width + c] += in[1].values[i / in_bag * width + c];
  }
  return {rows, values};
}

void check(HostTensor ids, Shape dy) {
  check_op(
      {std::make_shared<SparseGradient>(), {std::move(ids), random_tensor(DType::f32, std::move(dy), 2)}, reference});
}

TEST(SparseGradient, JoinsTheRowsOfEveryId) {
  const HostTensor ids = tensor(DType::i32, Shape{2, 4}, {7, 0, 7, 900000, 0, 7, 3, 900000});
  check(ids, Shape{2, 4, 9});
  check(ids, Shape{2, 4, 1});
  check(ids, Shape{2, 5});  // a row for each bag of four
  check(tensor(DType::i32, Shape{1}, {5}), Shape{1, 3});
  check(tensor(DType::i32, Shape{6}, {2, 2, 2, 2, 2, 2}), Shape{6, 3});
}

TEST(SparseGradient, LeavesOutTheIdsThatAreNone) {
  const HostTensor ids = tensor(DType::i32, Shape{2, 2, 3}, {4, 0, -1, -1, -1, -1, 5, 4, 4, -1, 4, -1});
  check(ids, Shape{2, 2, 9});
  check(ids, Shape{2, 2, 3, 9});
  check(tensor(DType::i32, Shape{3}, {-1, -1, -1}), Shape{3, 2});
}

TEST(SparseGradient, OfManyIdsThatMeetInTheHash) {
  HostTensor ids = random_tensor(DType::i32, Shape{100, 26}, 1, 0, 300);
  check(ids, Shape{100, 26, 9});
  for (double& id : ids.values) id *= 65536;  // low bits all alike
  check(ids, Shape{100, 26, 9});
  check(ids, Shape{100, 2});
}

/// The table's gradient that the rows make up, by differentiating `sparse`.
std::vector<double> scattered(const OpPtr& sparse, const HostTensor& ids, const HostTensor& table,
                              const HostTensor& seed) {
  const std::vector<HostTensor> values = run_gradient({sparse, {ids, table}, {}, {1}}, {seed});
  std::vector<HostTensor> inputs{ids, seed};
  const std::vector<HostTensor> made = run_op(std::make_shared<SparseGradient>(), inputs);
  EXPECT_EQ(values.at(0).values, made.at(1).values) << "what autodiff hands the table";
  const auto width = static_cast<std::size_t>(table.desc.shape[1]);
  std::vector<double> gradient(table.values.size());
  for (std::size_t i = 0; i < made[0].values.size(); ++i) {
    if (made[0].values[i] < 0) continue;
    for (std::size_t c = 0; c < width; ++c) {
      gradient[static_cast<std::size_t>(made[0].values[i]) * width + c] += made[1].values[i * width + c];
    }
  }
  return gradient;
}

TEST(SparseGradient, IsTheDenseGradientOfLookUps) {
  const HostTensor ids = random_tensor(DType::i32, Shape{20, 6}, 1, -1, 40);
  const HostTensor table = random_tensor(DType::f32, Shape{40, 9}, 2);
  const HostTensor of_rows = random_tensor(DType::f32, Shape{20, 6, 9}, 3),
                   of_bags = random_tensor(DType::f32, Shape{20, 9}, 4);
  const auto dense = [&](const OpPtr& op, const HostTensor& seed) {
    return run_gradient({op, {ids, table}, {}, {1}}, {seed}).at(0).values;
  };
  expect_close(scattered(std::make_shared<Embedding>(TableGradient::sparse), ids, table, of_rows),
               dense(std::make_shared<Embedding>(), of_rows), 1e-6, "rows");
  expect_close(scattered(std::make_shared<EmbeddingBag>(TableGradient::sparse), ids, table, of_bags),
               dense(std::make_shared<EmbeddingBag>(), of_bags), 1e-6, "bags");
}

TEST(SparseGradient, RefusesAGradientOfOtherIds) {
  const TensorDesc ids{DType::i32, Shape{4, 3}};
  EXPECT_THROW(SparseGradient().infer(std::vector<TensorDesc>{ids, {DType::f32, Shape{5, 2}}}), std::invalid_argument);
  EXPECT_THROW(SparseGradient().infer(std::vector<TensorDesc>{ids, {DType::bf16, Shape{4, 2}}}), std::invalid_argument);
}

}  // namespace sparse_gradient_test
}  // namespace ptrain::testing
