#include "core/base/shape.h"

#include "tests/error_message.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(Shape, CountsElementsAndScalarIsOne) {
  EXPECT_EQ((Shape{2, 3, 4}).count(), 24);
  EXPECT_EQ(Shape{}.count(), 1);
  EXPECT_EQ((Shape{5, 0}).count(), 0);
  EXPECT_EQ((Shape{1 << 20, 1 << 20}).count(), std::int64_t{1} << 40);
}

TEST(Shape, NegativeAxisCountsFromTheLast) {
  const Shape shape{8, 56, 55, 64};
  EXPECT_EQ(shape[-1], 64);
  EXPECT_EQ(shape[-4], 8);
  EXPECT_EQ(shape[2], 55);
  EXPECT_EQ(shape.rank(), 4);
}

TEST(Shape, PrintsAndCompares) {
  EXPECT_EQ((Shape{8, 56, 56, 64}).to_string(), "[8,56,56,64]");
  EXPECT_EQ(Shape{}.to_string(), "[]");
  EXPECT_EQ((Shape{1, 2}), Shape(std::vector<std::int64_t>{1, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
}

TEST(Errors, CarryTheirExitCode) {
  EXPECT_EQ(get_error([] { fail_usage("{}: expected {}", "train.steps", 3); }, ExitCode::usage),
            "train.steps: expected 3");
  EXPECT_THROW(invariant(false, "x"), std::logic_error);
  EXPECT_NO_THROW(invariant(true, "x"));
}

}  // namespace
}  // namespace ptrain
