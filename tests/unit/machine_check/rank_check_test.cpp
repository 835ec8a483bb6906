// doctor --ranks, with ranks that are threads of the test.
#include "core/machine_check/rank_check.h"

#include "core/cpu/cpu_backend.h"
#include "tests/temporary_directory.h"
#include "tests/unit/comm/run_ranks.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(RankCheck, ComparesAllRanksAndNamesWhatCannotBeCompared) {
  const TemporaryDirectory folder;
  for (const int ranks : {2, 3}) {
    std::vector<std::vector<Check>> checks(static_cast<std::size_t>(ranks));
    for (const std::exception_ptr& failure : testing::run_ranks(ranks, 60, [&](Communicator& communicator) {
           const auto backend = cpu::make_backend();
           checks[static_cast<std::size_t>(communicator.rank())] =
               check_ranks(communicator, *backend, {.folder = folder.path(), .exchange_seconds = 1});
         })) {
      if (failure) std::rethrow_exception(failure);
    }
    EXPECT_EQ(checks[0].size(), checks[1].size());
    std::vector<std::string> figures;
    for (const Check& check : checks[0]) {
      if (check.device != "ranks") continue;  // a busy machine may have slow ranks
      figures.push_back(check.what);
      EXPECT_NE(check.found.find("median"), std::string::npos);
      if (ranks == 2) {
        EXPECT_EQ(check.verdict, CheckVerdict::skipped) << check.found;
      }
    }
    EXPECT_EQ(figures,
              (std::vector<std::string>{"matrix product, fp32", "memory", "disk, written", "links inside a host"}));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

TEST(RankCheck, NamesTheFolderThatItCannotWriteTo) {
  for (const std::exception_ptr& failure : testing::run_ranks(2, 60, [&](Communicator& communicator) {
         const auto backend = cpu::make_backend();
         check_ranks(communicator, *backend, {.folder = "/nowhere"});
       })) {
    ASSERT_TRUE(failure);
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("/nowhere"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("--disk"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace ptrain
