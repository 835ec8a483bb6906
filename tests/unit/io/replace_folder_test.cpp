// A folder is replaced whole or not at all.
#include "core/io/replace_folder.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace ptrain {
namespace {

using namespace testing;

namespace fs = std::filesystem;

TEST(ReplaceFolder, LeavesTheOldOneWhereWritingFails) {
  const TemporaryDirectory directory;
  const fs::path folder = directory.path() / "best";
  const auto write = [](const char* text) {
    return [text](const fs::path& to) { std::ofstream(to / "model.json") << text; };
  };
  replace_folder(folder, write("one"));
  replace_folder(folder, write("two"));
  const auto content = [&] {
    std::string text;
    std::ifstream(folder / "model.json") >> text;
    return text;
  };
  EXPECT_EQ(content(), "two");
  EXPECT_THROW(replace_folder(folder,
                              [](const fs::path& to) {
                                std::ofstream(to / "model.json") << "half";
                                throw std::runtime_error("disk on fire");
                              }),
               std::runtime_error);
  EXPECT_EQ(content(), "two");
  replace_folder(folder, write("three"));
  EXPECT_EQ(content(), "three");
}

}  // namespace
}  // namespace ptrain
