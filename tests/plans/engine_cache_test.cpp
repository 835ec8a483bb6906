#include "core/cuda/library/engine_cache.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ptrain::cuda {
namespace {

class PlanStoreTest : public ::testing::Test {
 protected:
  PlanStoreTest() { setenv("PTRAIN_CACHE_DIR", cache_.path().c_str(), 1); }
  ~PlanStoreTest() override { unsetenv("PTRAIN_CACHE_DIR"); }

  std::filesystem::path only_file() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cache_.path())) {
      if (entry.is_regular_file()) return entry.path();
    }
    return {};
  }

  TemporaryDirectory cache_;
  const CachedEngine plan_{"eng0_k30=0", {1, 2, 3, 250}};
};

TEST_F(PlanStoreTest, FindsWhatWasStoredForTheSameKeyAndDevice) {
  cached_plans("a GPU").store("graph", plan_);
  const auto found = cached_plans("a GPU").find("graph");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, plan_.name);
  EXPECT_EQ(found->code, plan_.code);
  EXPECT_FALSE(cached_plans("a GPU").find("another graph"));
  EXPECT_FALSE(cached_plans("another GPU").find("graph"));
}

TEST_F(PlanStoreTest, TakesNoDamagedFile) {
  const EngineCache store = cached_plans("a GPU");
  store.store("graph", plan_);
  std::ifstream file(only_file(), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(file)), {});
  const auto write = [&](const std::string& bytes) { std::ofstream(only_file(), std::ios::binary) << bytes; };
  for (std::size_t i = 0; i < good.size(); ++i) {
    write(good.substr(0, i));
    EXPECT_FALSE(store.find("graph")) << "cut at " << i;
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write(damaged);
    const auto found = store.find("graph");
    EXPECT_TRUE(!found || (found->code == plan_.code && found->name != plan_.name)) << "byte " << i;
  }
  write(good);
  EXPECT_TRUE(store.find("graph"));
}

TEST_F(PlanStoreTest, TakesNothingFromAFolderThatOthersCanWrite) {
  const EngineCache store = cached_plans("a GPU");
  store.store("graph", plan_);
  const std::filesystem::path folder = only_file().parent_path();
  for (const auto others : {std::filesystem::perms::group_write, std::filesystem::perms::others_write}) {
    std::filesystem::permissions(folder, others, std::filesystem::perm_options::add);
    EXPECT_FALSE(store.find("graph"));
    std::filesystem::permissions(folder, others, std::filesystem::perm_options::remove);
    EXPECT_TRUE(store.find("graph"));
  }
  std::filesystem::permissions(only_file(), std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  EXPECT_FALSE(store.find("graph"));
}

TEST_F(PlanStoreTest, AFolderThatCannotBeWrittenIsNoError) {
  setenv("PTRAIN_CACHE_DIR", "/proc/none", 1);
  const EngineCache store = cached_plans("a GPU");
  store.store("graph", plan_);
  EXPECT_FALSE(store.find("graph"));
}

}  // namespace
}  // namespace ptrain::cuda
