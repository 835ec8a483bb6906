#include "core/ops/text/gather_token.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace gather_token_test {

TEST(GatherToken, PicksOneTokenInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const std::int64_t index : {std::int64_t{0}, std::int64_t{2}}) {
      OpCase c;
      c.op = std::make_shared<GatherToken>(index);
      c.inputs = {random_tensor(dtype, Shape{3, 4, 5}, 1)};
      c.reference = [index](const std::vector<HostTensor>& in) {
        std::vector<double> y;
        for (std::int64_t b = 0; b < 3; ++b) {
          for (std::int64_t h = 0; h < 5; ++h)
            y.push_back(in[0].values[static_cast<std::size_t>((b * 4 + index) * 5 + h)]);
        }
        return std::vector<std::vector<double>>{y};
      };
      c.gradient_inputs = {0};
      check_op(c);
    }
  }
}

TEST(GatherToken, PicksTheFirstTokenOfPackedSequences) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    OpCase c;
    c.op = std::make_shared<GatherToken>();
    c.inputs = {random_tensor(dtype, Shape{9, 5}, 1), get_offsets({3, 1, 4})};  // and a token of no sequence
    c.reference = [](const std::vector<HostTensor>& in) {
      std::vector<double> y;
      for (const std::ptrdiff_t row : {0, 3, 4}) {
        y.insert(y.end(), in[0].values.begin() + row * 5, in[0].values.begin() + row * 5 + 5);
      }
      return std::vector<std::vector<double>>{y};
    };
    c.gradient_inputs = {0};
    check_op(c);
  }
}

TEST(GatherToken, RefusesALaterTokenOfPackedSequences) {
  const std::vector<TensorDesc> inputs{{DType::f32, Shape{9, 5}}, {DType::i32, Shape{4}}};
  EXPECT_THROW(GatherToken(1).infer(inputs), std::invalid_argument);
}

}  // namespace gather_token_test
}  // namespace ptrain::testing
