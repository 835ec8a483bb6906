// Every file of tests/cli/bad_configs is refused with one line that names the place its first line expects:
// "# line LINE key KEY", line 0 for none, no key where the YAML itself is wrong.
#include "core/yaml/load.h"
#include "tests/error_message.h"
#include "tests/test_catalogs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ptrain {
namespace {

std::vector<std::filesystem::path> bad_configs() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(PTRAIN_SOURCE_DIR "/tests/cli/bad_configs")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class BadConfig : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(BadConfig, IsRefusedInOneLineWithItsPlace) {
  std::ifstream file(GetParam());
  std::string hash, word, key;
  int line = -1;
  std::string first;
  std::getline(file, first);
  std::istringstream(first) >> hash >> word >> line >> word >> key;
  ASSERT_GE(line, 0) << "first line: " << first;
  const std::string place = fmt::format("{}{}{}:", GetParam().string(), line > 0 ? fmt::format(":{}", line) : "",
                                        key.empty() ? "" : fmt::format(": {}", key));
  const std::string message =
      get_error([] { load_config(GetParam(), test_catalogs(), {}, [](const std::string&) { return std::nullopt; }); },
                ExitCode::usage);
  EXPECT_EQ(message.substr(0, place.size()), place) << message;
  EXPECT_GT(message.size(), place.size() + 5) << message;
  EXPECT_LT(message.size(), place.size() + 300) << message;
}

INSTANTIATE_TEST_SUITE_P(All, BadConfig, testing::ValuesIn(bad_configs()),
                         [](const auto& file) { return file.param.stem().string(); });

TEST(BadConfigs, AreFortyOrMore) { EXPECT_GE(bad_configs().size(), 40u); }

}  // namespace
}  // namespace ptrain
