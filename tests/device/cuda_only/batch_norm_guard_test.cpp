// The guard by itself, on statistics that are right and on others that are not.
#include "core/cuda/kernels/batch_norm/batch_norm_guard.h"
#include "core/base/rng.h"
#include "core/ops/math/statistics_drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ptrain::cuda {
namespace {

constexpr std::int64_t rows = 1000;
constexpr float epsilon = 1e-5f;

/// Values around a mean that is some standard deviations from zero, and their statistics in double.
struct Data {
  std::int64_t channels;
  std::vector<bf16> x;
  std::vector<float> mean, invstd;

  explicit Data(std::int64_t width) : channels(width), x(static_cast<std::size_t>(rows * width)) {
    const RandomStream stream{7, 0, 0};
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = bf16(3.0f + 2.0f * stream.uniform(i));
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0, squares = 0;
      for (std::int64_t r = 0; r < rows; ++r) sum += at(r, c);
      const double m = sum / rows;
      for (std::int64_t r = 0; r < rows; ++r) squares += (at(r, c) - m) * (at(r, c) - m);
      mean.push_back(static_cast<float>(m));
      invstd.push_back(static_cast<float>(1 / std::sqrt(squares / rows + static_cast<double>(epsilon))));
    }
  }
  double at(std::int64_t r, std::int64_t c) const {
    return static_cast<double>(static_cast<float>(x[static_cast<std::size_t>(r * channels + c)]));
  }
};

/// What a guard that compares every `every`th run finds in `runs` of them.
GuardFinding guarded(const Data& data, std::int64_t every, int runs) {
  const Device device(0);
  const BatchNormGuard guard(device, DType::bf16, rows, data.channels, epsilon, every);
  const DeviceArray<bf16> x(data.x);
  const DeviceArray<float> mean(data.mean), invstd(data.invstd);
  const DeviceArray<std::byte> workspace{std::vector<std::byte>(guard.workspace_bytes())};
  for (int i = 0; i < runs; ++i) guard.run(x.data(), mean.data(), invstd.data(), workspace.data());
  return guard.finding();
}

TEST(BatchNormGuardOnDevice, FindsNothingWrongWithGoodStatistics) {
  for (const std::int64_t channels : {5, 64, 2048}) {
    const GuardFinding found = guarded(Data(channels), 1, 3);
    EXPECT_EQ(found.compared, 3);
    EXPECT_LT(found.worst_drift, statistics_drift_bound / 10) << channels << " channels";
  }
}

TEST(BatchNormGuardOnDevice, FindsTheOneMeanThatIsOff) {
  Data data(64);
  data.mean[41] += 0.5f / data.invstd[41];
  EXPECT_NEAR(guarded(data, 1, 1).worst_drift, 0.5, 1e-3);
}

TEST(BatchNormGuardOnDevice, FindsTheOneDeviationThatIsOff) {
  Data data(2048);
  data.invstd[2047] *= 0.75f;
  EXPECT_NEAR(guarded(data, 1, 1).worst_drift, 0.25, 1e-3);
  data.invstd[3] = NAN;
  EXPECT_EQ(guarded(data, 1, 1).worst_drift, INFINITY);
}

TEST(BatchNormGuardOnDevice, ComparesTheFirstRunAndThenEveryNth) {
  const Data data(64);
  EXPECT_EQ(guarded(data, 4, 1).compared, 1);
  EXPECT_EQ(guarded(data, 4, 4).compared, 1);
  EXPECT_EQ(guarded(data, 4, 9).compared, 3);
}

}  // namespace
}  // namespace ptrain::cuda
