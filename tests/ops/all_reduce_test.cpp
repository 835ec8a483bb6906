// What the all-reduce kernels ask of the collectives, and batch norms that ask them for statistics.
#include "core/ops/training/all_reduce.h"

#include "core/cpu/cpu_backend.h"
#include "core/exec/all_reduce_kernels.h"
#include "core/ops/normalization/batch_norm.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace all_reduce_test {

/// Records its calls; the ranks that it simulates all have the same data.
class RecordingCollectives final : public Collectives {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 2; }
  void start_all_reduce(void* data, std::int64_t count, DType dtype, float factor) override {
    started.push_back({data, count, dtype, factor});
  }
  void start_reduce_scatter(void* data, std::int64_t count, DType dtype, float factor) override {
    scattered.push_back({data, count, dtype, factor});
  }
  void start_all_gather(void* data, std::int64_t count, DType dtype) override {
    gathered.push_back({data, count, dtype, 1});
  }
  void wait_all_reduces() override { ++waits; }
  void note_progress() override {}
  std::string_view engine() const override { return "none"; }

  struct Started {
    void* data;
    std::int64_t count;
    DType dtype;
    float factor;
  };
  std::vector<Started> started, scattered, gathered;
  int waits = 0;
};

TEST(AllReduce, StartsWithItsDataAndWaits) {
  RecordingCollectives collectives;
  const AllReduceStart start(0.25f);
  const std::vector<TensorDesc> data{{DType::bf16, Shape{12}}};
  float buffer[12];
  void* const pointer = buffer;
  make_all_reduce_kernel({start, data, {}, {}, nullptr, &collectives})->run({{&pointer, 1}, {}});
  ASSERT_EQ(collectives.started.size(), 1u);
  EXPECT_EQ(collectives.started[0].data, buffer);
  EXPECT_EQ(collectives.started[0].count, 12);
  EXPECT_EQ(collectives.started[0].dtype, DType::bf16);
  EXPECT_EQ(collectives.started[0].factor, 0.25f);
  const AllReduceWait wait;
  make_all_reduce_kernel({wait, data, {}, {}, nullptr, &collectives})->run({{&pointer, 1}, {}});
  EXPECT_EQ(collectives.waits, 1);
}

TEST(ReduceScatter, StartsWithItsDataAndFactor) {
  RecordingCollectives collectives;
  const ReduceScatterStart start(0.25f);
  const std::vector<TensorDesc> data{{DType::f32, Shape{12}}};
  float buffer[12];
  void* const pointer = buffer;
  make_all_reduce_kernel({start, data, {}, {}, nullptr, &collectives})->run({{&pointer, 1}, {}});
  EXPECT_TRUE(collectives.started.empty());
  ASSERT_EQ(collectives.scattered.size(), 1u);
  EXPECT_EQ(collectives.scattered[0].data, buffer);
  EXPECT_EQ(collectives.scattered[0].count, 12);
  EXPECT_EQ(collectives.scattered[0].factor, 0.25f);
}

TEST(AllGather, StartsWithItsData) {
  RecordingCollectives collectives;
  const AllGatherStart start;
  const std::vector<TensorDesc> data{{DType::f32, Shape{12}}};
  float buffer[12];
  void* const pointer = buffer;
  make_all_reduce_kernel({start, data, {}, {}, nullptr, &collectives})->run({{&pointer, 1}, {}});
  EXPECT_TRUE(collectives.started.empty());
  ASSERT_EQ(collectives.gathered.size(), 1u);
  EXPECT_EQ(collectives.gathered[0].data, buffer);
  EXPECT_EQ(collectives.gathered[0].count, 12);
  EXPECT_EQ(collectives.gathered[0].dtype, DType::f32);
}

TEST(AllReduce, NeedsCollectives) {
  const AllReduceWait wait;
  EXPECT_THROW(make_all_reduce_kernel({wait, {}, {}}), std::logic_error);
  EXPECT_EQ(make_all_reduce_kernel({BatchNorm(BatchNorm::Attributes{}), {}, {}}), nullptr);
}

TEST(AllReduce, AddsUpNoIntegersButGathersThem) {
  const std::vector<TensorDesc> integers{{DType::i32, Shape{4}}};
  EXPECT_THROW(AllReduceStart(1).infer(integers), std::invalid_argument);
  EXPECT_THROW(ReduceScatterStart(1).infer(integers), std::invalid_argument);
  EXPECT_TRUE(AllGatherStart().infer(integers).empty());
}

}  // namespace all_reduce_test
}  // namespace ptrain::testing
