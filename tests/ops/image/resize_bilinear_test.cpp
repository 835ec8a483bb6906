#include "core/ops/image/resize_bilinear.h"

#include "core/ops/math/bilinear.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/resize_bilinear.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace resize_bilinear_test {

struct Problem {
  Shape x;
  ResizeBilinearAttributes resize;
};
void PrintTo(const Problem& p, std::ostream* out) { *out << p.x.to_string() << ' ' << p.resize.to_string(); }

class ResizeBilinearCases : public ::testing::TestWithParam<Problem> {};

TEST_P(ResizeBilinearCases, AgreeWithReferenceInEveryDtype) {
  for (const Corners corners : {Corners::free, Corners::aligned}) {
    ResizeBilinearAttributes resize = GetParam().resize;
    resize.corners = corners;
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      check_op({.op = std::make_shared<ResizeBilinear>(resize),
                .inputs = {random_tensor(dtype, GetParam().x, 1)},
                .reference =
                    [resize](const auto& in) {
                      return std::vector<std::vector<double>>{reference_resize_bilinear(resize, in[0])};
                    },
                .gradient_inputs = {0}});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ResizeBilinearCases,
                         ::testing::Values(Problem{{2, 3, 4, 16}, {9, 12}}, Problem{{1, 5, 3, 21}, {8, 17}},
                                           Problem{{1, 1, 1, 5}, {4, 3}}, Problem{{2, 7, 9, 3}, {3, 4}},
                                           Problem{{1, 4, 6, 8}, {1, 6}}, Problem{{1, 4, 5, 2}, {4, 5}}),
                         case_name);

TEST(ResizeBilinear, FindsTheOutputsOfEachPixelAtLargeSizes) {
  for (const bool aligned : {false, true}) {
    for (const auto& [in, out] : {std::pair{65, 520}, {97, 769}, {1024, 37}, {3, 2048}, {713, 713}}) {
      const BilinearAxis axis(in, out, aligned);
      for (std::int64_t i = 0; i < in; ++i) {
        const BilinearAxis::Range range = axis.outputs(i);
        for (std::int64_t o = 0; o < out; ++o) {
          if (o >= range.begin && o < range.end) continue;
          ASSERT_EQ(axis.share(o, i), 0.0f) << in << " to " << out << ": output " << o << " of pixel " << i;
        }
      }
    }
  }
}

TEST(ResizeBilinear, TakesImagesAlone) {
  const std::vector<TensorDesc> x{{DType::f32, {4, 4, 1}}};
  EXPECT_THROW(ResizeBilinear(ResizeBilinearAttributes{8, 8}).infer(x), std::invalid_argument);
  const std::vector<TensorDesc> images{{DType::f32, {1, 4, 4, 1}}};
  EXPECT_THROW(ResizeBilinear(ResizeBilinearAttributes{0, 8}).infer(images), std::invalid_argument);
}

}  // namespace resize_bilinear_test
}  // namespace ptrain::testing
