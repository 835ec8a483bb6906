#include "core/ops/dropout.h"

#include "core/ops/math/dropout_math.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace dropout_test {

OpCase make_case(std::int64_t count, DType dtype, float p) {
  OpCase c;
  c.op = std::make_shared<Dropout>(DropoutAttributes{p, 3});
  c.inputs = {random_tensor(dtype, Shape{count}, 1), tensor(DType::i64, Shape{3}, {1234567890123, 5, 0})};
  c.reference = [p](const std::vector<HostTensor>& in) {
    const DropoutMask mask(p, 1234567890123, 5, 3);
    std::vector<double> y = in[0].values;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= static_cast<double>(mask.factor(i));
    return std::vector<std::vector<double>>{y};
  };
  c.gradient_inputs = {0};
  return c;
}

TEST(Dropout, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(300, dtype, 0.1f));
    check_op(make_case(1, dtype, 0.5f));
  }
}

TEST(Dropout, OfSamplesKeepsOrDropsEachWhole) {
  for (const Shape& shape : {Shape{9, 3, 5, 2}, Shape{5, 1}, Shape{3, 300}}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      OpCase c = make_case(shape.count(), dtype, 0.4f);
      c.op = std::make_shared<Dropout>(DropoutAttributes{0.4f, 3, DropoutUnit::sample});
      c.inputs[0] = random_tensor(dtype, shape, 1);
      c.reference = [shape](const std::vector<HostTensor>& in) {
        const DropoutMask mask(0.4f, 1234567890123, 5, 3);
        const auto each = static_cast<std::size_t>(shape.count() / shape[0]);
        std::vector<double> y = in[0].values;
        for (std::size_t i = 0; i < y.size(); ++i) y[i] *= static_cast<double>(mask.factor(i / each));
        return std::vector<std::vector<double>>{y};
      };
      check_op(c);
    }
  }
}

TEST(Dropout, MaskDoesNotDependOnHowElementsAreSplit) {
  OpCase c = make_case(40001, DType::f32, 0.3f);
  c.gradient_inputs.clear();
  check_op(c);
}

TEST(Dropout, DropsTheStatedShareAndKeepsTheMean) {
  constexpr int count = 1 << 18;
  const DropoutMask mask(0.1f, 99, 1, 2);
  int dropped = 0;
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    dropped += mask.keeps(static_cast<std::uint64_t>(i)) ? 0 : 1;
    sum += static_cast<double>(mask.factor(static_cast<std::uint64_t>(i)));
  }
  const double deviation = std::sqrt(0.1 * 0.9 / count);
  EXPECT_NEAR(static_cast<double>(dropped) / count, 0.1, 4 * deviation);
  EXPECT_NEAR(sum / count, 1.0, 6 * deviation);
}

TEST(Dropout, StepsAndStreamsDrawDifferently) {
  const auto agreement = [](const DropoutMask& a, const DropoutMask& b) {
    int same = 0;
    for (std::uint64_t i = 0; i < 4096; ++i) same += a.keeps(i) == b.keeps(i) ? 1 : 0;
    return same / 4096.0;
  };
  const DropoutMask mask(0.5f, 1, 1, 1);
  EXPECT_NEAR(agreement(mask, DropoutMask(0.5f, 1, 2, 1)), 0.5, 0.04);
  EXPECT_NEAR(agreement(mask, DropoutMask(0.5f, 1, 1, 2)), 0.5, 0.04);
  EXPECT_NEAR(agreement(mask, DropoutMask(0.5f, 2, 1, 1)), 0.5, 0.04);
}

}  // namespace dropout_test
}  // namespace ptrain::testing
