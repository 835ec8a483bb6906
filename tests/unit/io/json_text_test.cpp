#include "core/io/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace ptrain {
namespace {

std::string lists(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(JsonText, IsReadAsDeepAsDocumentsGo) {
  EXPECT_EQ(parse_json(lists(deepest_json)).dump(), lists(deepest_json));
  EXPECT_TRUE(parse_json(lists(deepest_json + 1)).is_discarded());
  EXPECT_TRUE(parse_json(std::string(10'000'000, '[')).is_discarded());
  EXPECT_TRUE(parse_json(R"({"a": )").is_discarded());
}

TEST(JsonText, BracketsInStringsAreNoLevels) {
  const std::string brackets = lists(2 * deepest_json);
  for (const std::string before : {"", "\\\"", "\\\\", "\\u005c"}) {
    const nlohmann::json value = parse_json("[\"" + before + brackets + "\", [[]]]");
    ASSERT_TRUE(value.is_array()) << before;
    EXPECT_EQ(value.size(), 2u) << before;
  }
  EXPECT_TRUE(parse_json("[\"\\\\\", " + brackets + "]").is_discarded());
}

TEST(JsonText, SiblingsDoNotAddUp) {
  std::string siblings = "[{}";
  for (int i = 0; i < 3 * deepest_json; ++i) siblings += ", {\"a\": []}";
  EXPECT_EQ(parse_json(siblings + "]").size(), 3u * deepest_json + 1);
}

}  // namespace
}  // namespace ptrain
