#include "core/io/mapped_file.h"

#include "core/io/atomic_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace ptrain {
namespace {

class Mapped : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& content) {
    write_file_atomic(directory_ / "file", content);
    return directory_ / "file";
  }

  TemporaryDirectory directory_;
};

TEST_F(Mapped, HasTheFilesBytes) {
  const MappedFile mapped(file("content"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()), "content");
  mapped.check();
  EXPECT_TRUE(MappedFile(file("")).bytes().empty());
}

TEST_F(Mapped, ADirectoryIsNamed) {
  EXPECT_NE(get_error([&] { const MappedFile mapped(directory_.path()); }).find("it is a directory"),
            std::string::npos);
}

TEST_F(Mapped, WhatAFileNoLongerHasReadsAsZeroAndIsAnError) {
  const std::string content(5 * 65536, 'x');
  const std::filesystem::path path = file(content);
  MappedFile first(path);
  const MappedFile untouched(path);
  const MappedFile moved = std::move(first);
  std::filesystem::resize_file(path, 65536);
  const auto sum = [&](std::size_t begin) {
    std::size_t ones = 0;
    for (std::size_t i = begin; i < begin + 65536; ++i) ones += moved.bytes()[i] == std::byte{'x'} ? 1 : 0;
    return ones;
  };
  EXPECT_EQ(sum(0), 65536u);
  EXPECT_EQ(sum(2 * 65536), 0u);
  EXPECT_NE(get_error([&] { moved.check(); }).find(path.string() + ": it became shorter"), std::string::npos);
  EXPECT_EQ(sum(4 * 65536), 0u);
  EXPECT_NE(get_error([&] { untouched.check(); }), "");
}

TEST_F(Mapped, AFileThatIsWrittenToIsAnError) {
  const std::filesystem::path path = file("content");
  const MappedFile mapped(path);
  mapped.check();
  std::ofstream(path) << "contend";
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  EXPECT_NE(get_error([&] { mapped.check(); }).find(path.string() + ": was replaced or written to"), std::string::npos);
}

TEST_F(Mapped, OtherFaultsEndTheProcessAsBefore) {
  const MappedFile mapped(file("content"));
  EXPECT_DEATH(std::raise(SIGBUS), "");
}

}  // namespace
}  // namespace ptrain
