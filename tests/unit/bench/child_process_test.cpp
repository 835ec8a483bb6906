#include "core/bench/child_process.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <fstream>

namespace ptrain {
namespace {

bool never() { return false; }

/// Neither gone nor a zombie that nobody has waited for.
bool is_alive(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z";
}

class ChildProcess : public testing::Test {
 protected:
  ChildResult shell(const std::string& script, double timeout = 20, const std::function<bool()>& stopped = never) {
    return run_child("/bin/sh", {"-c", script}, log(), timeout, stopped);
  }
  std::filesystem::path log() const { return folder_.path() / "log.txt"; }

  TemporaryDirectory folder_;
};

TEST_F(ChildProcess, HasWhatIsAddedToTheEnvironmentInPlaceOfItsOwn) {
  setenv("PTRAIN_TEST_A", "mine", 1);
  setenv("PTRAIN_TEST_B", "kept", 1);
  run_child("/bin/sh", {"-c", "echo $PTRAIN_TEST_A $PTRAIN_TEST_B $PTRAIN_TEST_C"}, log(), 20, never,
            {{"PTRAIN_TEST_A", "other"}, {"PTRAIN_TEST_C", "new"}});
  EXPECT_EQ(read_file(log()), "other kept new\n");
}

TEST_F(ChildProcess, ReturnsItsExitCodeAndKeepsWhatItSays) {
  const ChildResult result = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.end, ChildResult::End::exited);
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(read_file(log()), "out\nerr\n");
}

TEST_F(ChildProcess, ReportsASignal) {
  const ChildResult result = shell("kill -SEGV $$");
  EXPECT_EQ(result.end, ChildResult::End::signalled);
  EXPECT_EQ(result.code, 128 + SIGSEGV);
}

TEST_F(ChildProcess, TimesOutWithItsWholeGroup) {
  const ChildResult result = shell("sleep 30 & echo $!; wait", 0.3);
  EXPECT_EQ(result.end, ChildResult::End::timed_out);
  EXPECT_LT(result.seconds, 10);
  const int grandchild = std::stoi(read_file(log()));
  for (int i = 0; i < 100 && is_alive(grandchild); ++i) usleep(20'000);
  EXPECT_FALSE(is_alive(grandchild));
}

TEST_F(ChildProcess, StopsWhenAsked) {
  int asked = 0;
  const ChildResult result = shell("sleep 30", 60, [&] { return ++asked > 3; });
  EXPECT_EQ(result.end, ChildResult::End::stopped);
}

TEST_F(ChildProcess, ThatCannotStartIsAnError) {
  EXPECT_THROW(run_child("/no/such/program", {}, log(), 5, never), Error);
}

}  // namespace
}  // namespace ptrain
