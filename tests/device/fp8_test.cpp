// Products in FP8: exact where 8 bits hold the operands, near to those of 16 bits elsewhere, and what a run says of
// them.
#include "core/cuda/cuda_backend.h"
#include "core/ops/linear.h"
#include "tests/device/agreement.h"
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptrain::testing {
namespace {

TestBackend in_fp8() {
  TestBackend on;
  on.options.kernels.fp8 = true;
  return on;
}

/// Multiples of a quarter up to 1.75: with the largest among them, both formats' scales are powers of two, and two bits
/// of mantissa hold every one.
HostTensor exact_tensor(DType dtype, const Shape& shape, std::uint64_t seed) {
  HostTensor t = random_tensor(DType::f32, shape, seed);
  for (double& value : t.values) value = std::round(value * 7) / 4;
  t.values.back() = 1.75;
  return tensor(dtype, shape, t.values);
}

/// ||a - b|| / ||b||
double distance(const HostTensor& a, const HostTensor& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    difference += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
    norm += b.values[i] * b.values[i];
  }
  return std::sqrt(difference / norm);
}

/// The layer and its gradients, with operands from `make`; sizes fill tiles of 64 unevenly.
template <typename Make>
std::vector<OpCase> layer(DType dtype, Make make, std::int64_t width = 208) {
  constexpr std::int64_t columns = 144;
  const Shape x{2, 80, width}, y{2, 80, columns}, w{columns, width};
  return {{std::make_shared<Linear>(LinearAttributes{}), {make(dtype, x, 1), make(dtype, w, 2), absent_tensor()}},
          {std::make_shared<Linear>(LinearAttributes{}),
           {make(dtype, x, 1), make(DType::f32, w, 2), make(DType::f32, Shape{columns}, 3)}},
          {std::make_shared<LinearGradInput>(), {make(dtype, y, 4), make(dtype, w, 2)}},
          {std::make_shared<LinearGradWeight>(LinearGradWeightAttributes{DType::f32, true}),
           {make(dtype, x, 1), make(dtype, y, 4)}}};
}

TEST(Fp8, ExactWhereEightBitsHoldTheOperands) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (OpCase& c : layer(dtype, exact_tensor)) {
      SCOPED_TRACE(c.op->type());
      const std::vector<HostTensor> expected = run_op(c.op, c.inputs, on_cpu()),
                                    actual = run_op(c.op, c.inputs, in_fp8());
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i].values, expected[i].values);
    }
  }
}

TEST(Fp8, NearToTheProductElsewhere) {
  const auto make = [](DType dtype, const Shape& shape, std::uint64_t seed) {
    return random_tensor(dtype, shape, seed, -3e-4, 3e-4);  // the scale makes up for it
  };
  for (OpCase& c : layer(DType::bf16, make)) {
    SCOPED_TRACE(c.op->type());
    if (c.inputs.size() == 3 && !c.inputs[2].absent) std::ranges::fill(c.inputs[2].values, 0.0);  // it would hide them
    const HostTensor expected = run_op(c.op, c.inputs, on_cpu())[0], actual = run_op(c.op, c.inputs, in_fp8())[0];
    EXPECT_GT(distance(actual, expected), 0.01) << "not rounded to 8 bits";
    EXPECT_LT(distance(actual, expected), 0.08);
  }
}

HostTensor any_tensor(DType dtype, const Shape& shape, std::uint64_t seed) { return random_tensor(dtype, shape, seed); }

TEST(Fp8, ZerosAreZerosAndWhatIsNotFiniteStaysSo) {
  for (const double value : {0.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    for (OpCase& c : layer(DType::bf16, any_tensor)) {
      SCOPED_TRACE(fmt::format("{} {}", c.op->type(), value));
      if (c.inputs.size() == 3 && !c.inputs[2].absent) continue;  // adds a bias
      std::ranges::fill(c.inputs[0].values, 0.0);
      c.inputs[0].values[100] = value;
      const std::vector<double> result = run_op(c.op, c.inputs, in_fp8())[0].values;
      if (value == 0) {
        EXPECT_EQ(result, std::vector<double>(result.size(), 0.0));
      } else {
        EXPECT_FALSE(std::ranges::all_of(result, [](double y) { return std::isfinite(y); }));
      }
    }
  }
}

/// Sizes that cuBLASLt does not multiply in 8 bits, and layers in fp32.
TEST(Fp8, OtherProductsAreAsWithoutIt) {
  std::vector<OpCase> cases = layer(DType::bf16, any_tensor, 200);
  for (OpCase& c : layer(DType::f32, any_tensor)) cases.push_back(c);
  for (OpCase& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.op->type(), c.inputs[0].desc.to_string()));
    EXPECT_EQ(run_op(c.op, c.inputs, in_fp8())[0].values, run_op(c.op, c.inputs)[0].values);
  }
}

TEST(Fp8, TrainsAsSixteenBitsDoAndSaysWhere) {
  Config config = bert_config();
  config.amp.level = AmpLevel::O1;
  config.amp.dtype = AmpDType::bf16;
  config.flags.cudnn_exhaustive_search = false;
  const std::vector<double> expected = train(config).result.losses;
  config.flags.fp8 = true;
  const Outcome outcome = train(config);
  EXPECT_LE(difference(outcome.result.losses, expected), 0.05);
  EXPECT_NE(outcome.result.losses, expected);
  std::vector<KernelRecord> kernels;
  int taken = 0;
  for (const NodeProfile& node : outcome.result.kernels) {
    kernels.push_back(node.record);
    taken += node.record.implementation.starts_with("fp8 cublaslt:");
  }
  EXPECT_GT(taken, 0);
  const OptionEffect<bool> effect = make_test_backend()->kernels().effects(plan_options(config).kernels, kernels).fp8;
  EXPECT_TRUE(effect.value);
  EXPECT_TRUE(effect.reason.starts_with(fmt::format("{} of ", taken))) << effect.reason;
}

}  // namespace
}  // namespace ptrain::testing
