#include "core/data/boxes/rle.h"

#include <gtest/gtest.h>

#include <fstream>

namespace ptrain {
namespace {

TEST(RunLengths, OfPolygonsAreThoseOfPycocotools) {
  const auto cases = nlohmann::json::parse(std::ifstream(PTRAIN_SOURCE_DIR "/tests/golden/coco_masks.json"));
  for (const nlohmann::json& one : cases.at("polygons")) {
    SCOPED_TRACE(one.dump());
    const auto polygons = one.at("polygons").get<std::vector<Polygon>>();
    const RunLengths runs = rasterize(polygons, one.at("size")[0], one.at("size")[1]);
    EXPECT_EQ(format_run_lengths(runs.counts), one.at("counts").get<std::string>());
    EXPECT_EQ(parse_run_lengths(format_run_lengths(runs.counts), "text"), runs.counts);
  }
}

TEST(RunLengths, OfNoPolygonAreEmpty) {
  EXPECT_EQ(rasterize({}, 3, 4), (RunLengths{3, 4, {12}}));
  EXPECT_EQ(rasterize(std::vector<Polygon>{{}}, 3, 4).area(), 0);
  EXPECT_EQ(rasterize(std::vector<Polygon>{{1, 1}}, 3, 4).area(), 0);
}

TEST(RunLengths, GoDownColumns) {
  const std::vector<std::uint8_t> pixels{1, 0, 0,   //
                                         1, 0, 9};  // two rows
  const RunLengths runs = encode_mask(pixels, 2, 3);
  EXPECT_EQ(runs.counts, (std::vector<std::int64_t>{0, 2, 3, 1}));
  EXPECT_EQ(runs.area(), 3);
}

TEST(RunLengths, OverlapInPixels) {
  const RunLengths one{2, 3, {0, 3, 3}}, other{2, 3, {2, 3, 1}};
  EXPECT_EQ(measure_overlap(one, other).intersection, 1);
  EXPECT_EQ(measure_overlap(one, other).union_of_both, 5);
}

}  // namespace
}  // namespace ptrain
