// The size in which images larger than a model's are read.
#include "core/infer/image_reader.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(ChooseOwnSize, KeepsTheSizeOfWhatAnImageShows) {
  const auto choose = [](int height, int width) { return choose_own_size({height, width}, 736, 2048); };
  EXPECT_EQ(choose(300, 736), ImageSize(736)) << "fits into the model's";
  EXPECT_EQ(choose(300, 737), ImageSize(384, 768));
  EXPECT_EQ(choose(1280, 720), ImageSize(1280, 768));
  EXPECT_EQ(choose(2000, 3000), ImageSize(1408, 2048)) << "2048 * 2000 / 3000 is 1365";
  EXPECT_EQ(choose(5, 20'000), ImageSize(128, 2048));
}

}  // namespace
}  // namespace ptrain
