// A plan that was compiled before computes what it computed then.
#include "core/ops/image/conv2d.h"
#include "core/ops/normalization/batch_norm.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

namespace ptrain::testing {
namespace {

namespace fs = std::filesystem;

/// Files of plans, with the times at which they were written.
std::map<fs::path, fs::file_time_type> stored_plans() {
  std::map<fs::path, fs::file_time_type> found;
  for (const auto& entry : fs::recursive_directory_iterator(std::getenv("PTRAIN_CACHE_DIR"))) {
    if (entry.path().extension() == ".cbor") found[entry.path()] = entry.last_write_time();
  }
  return found;
}

void expect_the_same_from_a_restored_plan(const OpPtr& op, const std::vector<HostTensor>& inputs) {
  TestBackend on;
  on.options.kernels.exhaustive_search = false;
  std::vector<HostTensor> first_inputs = inputs, second_inputs = inputs;
  const std::size_t before = stored_plans().size();
  const std::vector<HostTensor> first = run_op(op, first_inputs, on);
  const auto stored = stored_plans();
  EXPECT_GT(stored.size(), before);
  const std::vector<HostTensor> second = run_op(op, second_inputs, on);
  EXPECT_EQ(stored_plans(), stored) << "nothing is compiled again";
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].values, second[i].values) << "output " << i;
}

TEST(RestoredPlans, ConvolutionsComputeTheSame) {
  expect_the_same_from_a_restored_plan(
      std::make_shared<Conv2d>(Conv2dAttributes{1, 1, 1, 1}),
      {random_tensor(DType::f16, {2, 9, 9, 16}, 1), random_tensor(DType::f16, {24, 3, 3, 16}, 2)});
}

TEST(RestoredPlans, BatchNormsComputeTheSame) {
  BatchNorm::Attributes attributes;
  attributes.training = true;
  attributes.activation = Activation::relu;
  expect_the_same_from_a_restored_plan(std::make_shared<BatchNorm>(attributes),
                                       {random_tensor(DType::f16, {4, 8, 8, 32}, 1), random_tensor(DType::f32, {32}, 2),
                                        random_tensor(DType::f32, {32}, 3), random_tensor(DType::f32, {32}, 4),
                                        random_tensor(DType::f32, {32}, 5, 0.5, 2.0)});
}

}  // namespace
}  // namespace ptrain::testing
