#include "core/ops/image/patch_embedding.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace patch_embedding_test {

std::vector<std::vector<double>> reference(const std::vector<HostTensor>& in) {
  const Shape& x = in[0].desc.shape;
  const std::int64_t patches = x[1] * x[2], width = x[3];
  std::vector<double> tokens;
  for (std::int64_t n = 0; n < x[0]; ++n) {
    tokens.insert(tokens.end(), in[1].values.begin(), in[1].values.end());
    const auto image = in[0].values.begin() + n * patches * width;
    tokens.insert(tokens.end(), image, image + patches * width);
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] += in[2].values[i % in[2].values.size()];
  return {tokens, std::vector<double>(static_cast<std::size_t>(x[0]), static_cast<double>(patches + 1))};
}

class PatchEmbeddingCases : public ::testing::TestWithParam<Shape> {};

TEST_P(PatchEmbeddingCases, AgreesWithReferenceInEveryDtype) {
  const Shape& x = GetParam();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op({.op = std::make_shared<PatchEmbedding>(),
              .inputs = {random_tensor(dtype, x, 1), random_tensor(DType::f32, {x[3]}, 2),
                         random_tensor(DType::f32, {x[1] * x[2] + 1, x[3]}, 3)},
              .reference = reference,
              .gradient_inputs = {PatchEmbedding::x, PatchEmbedding::class_token, PatchEmbedding::position}});
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, PatchEmbeddingCases,
                         ::testing::Values(Shape{1, 1, 1, 3}, Shape{2, 3, 2, 16}, Shape{3, 2, 2, 21}), case_name);

TEST(PatchEmbedding, RefusesThePositionsOfOtherImages) {
  const std::vector<TensorDesc> inputs{{DType::f32, {2, 3, 3, 8}}, {DType::f32, {8}}, {DType::f32, {17, 8}}};
  EXPECT_THROW(PatchEmbedding().infer(inputs), std::invalid_argument);
}

}  // namespace patch_embedding_test
}  // namespace ptrain::testing
