// EnumNames outlast the process that made them, however it ends, and others see them at once.
#include "core/exec/search_cache.h"

#include "core/io/atomic_file.h"
#include "tests/temporary_directory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

namespace ptrain {
namespace {

class SearchCacheTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("PTRAIN_CACHE_DIR", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("PTRAIN_CACHE_DIR"); }

  TemporaryDirectory folder_;
};

std::string problem(int i) { return fmt::format("problem {}", i); }

TEST_F(SearchCacheTest, AChoiceIsKeptWhenItIsMade) {
  SearchCache cache("a device");
  cache.store("p", "first");
  EXPECT_EQ(SearchCache("a device").find("p"), "first");
  cache.replace("p", "second");
  EXPECT_EQ(cache.find("p"), "second");
  EXPECT_EQ(SearchCache("a device").find("p"), "second");
  EXPECT_EQ(SearchCache("another").find("p"), "");
}

TEST_F(SearchCacheTest, WhoAskedBeforeSeesWhatAnotherChose) {
  SearchCache mine("a device"), theirs("a device");
  EXPECT_EQ(theirs.find("p"), "");
  mine.store("p", "chosen");
  EXPECT_EQ(theirs.find("p"), "chosen");
  theirs.store("q", "theirs");
  EXPECT_EQ(mine.find("q"), "theirs");
  EXPECT_EQ(mine.hash(), theirs.hash());
}

TEST_F(SearchCacheTest, WhatWasStoredFirstCounts) {
  SearchCache mine("a device"), theirs("a device");
  EXPECT_EQ(mine.store("p", "mine"), "mine");
  EXPECT_EQ(theirs.store("p", "theirs"), "mine");
  EXPECT_EQ(theirs.find("p"), "mine");
  EXPECT_EQ(theirs.store("p", "theirs", "mine"), "theirs");
  EXPECT_EQ(SearchCache("a device").find("p"), "theirs");
  setenv("PTRAIN_CACHE_DIR", "/proc/none", 1);
  SearchCache unsaved("a device");
  EXPECT_EQ(unsaved.store("p", "mine"), "mine");
  EXPECT_EQ(unsaved.store("p", "theirs"), "mine");
}

/// Stores problem after problem in a child, which says of each when it is stored, until it is killed after `least` of
/// them; returns how many were stored.
int store_until_killed(int first, int least) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    SearchCache cache("a device");
    for (int i = first;; ++i) {
      cache.store(problem(i), "chosen");
      if (::write(pipe_ends[1], "x", 1) != 1) _exit(1);
    }
  }
  ::close(pipe_ends[1]);
  char byte = 0;
  int stored = 0;
  while (stored < least && ::read(pipe_ends[0], &byte, 1) == 1) ++stored;
  ::kill(child, SIGKILL);
  while (::read(pipe_ends[0], &byte, 1) == 1) ++stored;
  ::close(pipe_ends[0]);
  ::waitpid(child, nullptr, 0);
  return stored;
}

TEST_F(SearchCacheTest, ASearchThatIsKilledGoesOnWhereItWas) {
  int stored = 0;
  for (const int least : {1, 7, 2, 19, 3, 5, 11, 1, 23, 4}) {
    stored += store_until_killed(stored, least);
    const SearchCache cache("a device");
    for (int i = 0; i < stored; ++i) ASSERT_EQ(cache.find(problem(i)), "chosen") << i << " of " << stored;
  }
  EXPECT_GE(stored, 76);
}

TEST_F(SearchCacheTest, WhatIsDamagedCountsAsNotChosen) {
  SearchCache cache("a device");
  cache.store("p", "chosen");
  std::ofstream(cache.path(), std::ios::app) << "\n[\"q\", \"cut o";
  SearchCache next("a device");
  EXPECT_EQ(next.find("q"), "");
  next.store("r", "after");
  EXPECT_EQ(SearchCache("a device").find("p"), "chosen");
  EXPECT_EQ(SearchCache("a device").find("r"), "after");
  write_file_atomic(cache.path(), "no cache at all");
  SearchCache fresh("a device");
  EXPECT_EQ(fresh.find("p"), "");
  fresh.store("p", "again");
  EXPECT_EQ(SearchCache("a device").find("p"), "again");
}

TEST_F(SearchCacheTest, AFolderThatCannotBeWrittenIsSaidOnce) {
  setenv("PTRAIN_CACHE_DIR", "/proc/none", 1);
  SearchCache cache("a device");
  EXPECT_TRUE(cache.take_notes().empty());
  cache.store("p", "chosen");
  EXPECT_EQ(cache.find("p"), "chosen");
  EXPECT_EQ(cache.take_notes().size(), 1u);
  EXPECT_TRUE(cache.take_notes().empty());
}

}  // namespace
}  // namespace ptrain
