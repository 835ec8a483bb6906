// Models of videos as features of their frames: their sizes.
#include "core/base/errors.h"
#include "models/model_registry.h"
#include "models/video/nextvlad.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace video_models_test {

std::int64_t count_parameters(const Graph& graph) {
  std::int64_t count = 0;
  for (const Value& value : graph.values()) count += value.storage == Storage::parameter ? value.desc.shape.count() : 0;
  return count;
}

TEST(NextVlad, HasThePublishedLayers) {
  constexpr std::int64_t clusters = 128, groups = 8, hidden = 2048, classes = 3862;
  const auto aggregation = [](std::int64_t width) {
    const std::int64_t expanded = 2 * width, group = expanded / groups, scores = groups * clusters;
    const std::int64_t expansion = width * expanded + expanded, attention = expanded * groups + groups;
    return expansion + attention + expanded * scores + 2 * scores + clusters * group + 2 * clusters * group;
  };
  const std::int64_t features = clusters * (2 * 1024 + 2 * 128) / groups;
  const std::int64_t gate = 2 * hidden * hidden / 8 + 2 * hidden / 8;
  EXPECT_EQ(count_parameters(make_nextvlad({})->build(2, Mode::training)),
            aggregation(1024) + aggregation(128) + features * hidden + 2 * hidden + gate + hidden * classes + classes);
}

TEST(NextVlad, HasTwoSizes) {
  Config config;
  config.model.entry = find_model("nextvlad");
  config.model.size = ModelSize::large;
  EXPECT_EQ(get_error([&] { nextvlad_spec(config, {}); }, ExitCode::usage),
            "model.size: nextvlad has tiny and base, got large");
}

}  // namespace video_models_test
}  // namespace ptrain
