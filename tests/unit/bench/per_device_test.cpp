#include "core/bench/per_device.h"

#include "core/bench/sweep.h"
#include "core/io/atomic_file.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ptrain {
namespace {

Suite get_suite(std::vector<std::string> names) {
  Suite suite;
  suite.name = "gpus";
  suite.repeats = 1;
  for (const std::string& name : names) {
    BenchCase item;
    item.name = item.folder = name;
    item.settings = nlohmann::json::object();
    suite.cases.push_back(item);
  }
  return suite;
}

TEST(PerDevice, IsTwoMoreAxes) {
  const Suite suite = on_each_device(get_suite({"base"}), 2, "");
  ASSERT_EQ(suite.cases.size(), 4u);
  ASSERT_EQ(suite.axes.size(), 2u);
  EXPECT_EQ(suite.axes[0].values, (std::vector<nlohmann::json>{"cuda:0", "cuda:1"}));
  EXPECT_EQ(suite.axes[1].values, (std::vector<nlohmann::json>{false, true}));
  EXPECT_EQ(suite.cases[3].name, "device=cuda:1,at_once=true");
  EXPECT_EQ(suite.cases[3].environment.at("CUDA_VISIBLE_DEVICES"), "1");
  EXPECT_EQ(suite.cases[3].at_once_with, suite.cases[2].at_once_with);
  EXPECT_TRUE(suite.cases[0].at_once_with.empty());
  std::set<std::string> folders;
  for (const BenchCase& item : suite.cases) folders.insert(item.folder);
  EXPECT_EQ(folders.size(), 4u);
}

TEST(PerDevice, KeepsToTheGpusThatAreVisible) {
  const Suite suite = on_each_device(get_suite({"base"}), 2, "5,GPU-8f");
  EXPECT_EQ(suite.cases[0].environment.at("CUDA_VISIBLE_DEVICES"), "5");
  EXPECT_EQ(suite.cases[1].environment.at("CUDA_VISIBLE_DEVICES"), "GPU-8f");
}

TEST(PerDevice, OfOneGpuHasNoOthersAtOnce) {
  const Suite suite = on_each_device(get_suite({"base"}), 1, "");
  EXPECT_EQ(suite.cases.size(), 1u);
  EXPECT_EQ(suite.axes.size(), 1u);
}

TEST(PerDevice, RefusesASuiteThatChoosesDevicesItself) {
  Suite suite = get_suite({"on the CPU"});
  suite.cases[0].settings["device"] = "cpu";
  EXPECT_NE(get_error([&] { on_each_device(suite, 2, ""); }, ExitCode::usage).find("on the CPU: sets device"),
            std::string::npos);
}

class NoObserver final : public SweepObserver {
  void on_start(const std::vector<CaseProgress>&, std::int64_t) override {}
  void on_change(const std::vector<CaseProgress>&, std::size_t) override {}
};

/// Each process says which GPU it has, waits a second for the other's word, and says whether that came.
TEST(PerDevice, RunsThoseAtOnceTogetherAndTheOthersApart) {
  const TemporaryDirectory folder;
  const std::string place = folder.path().string();
  const std::string program = folder.write(
      "program",
      fmt::format("#!/bin/sh\n"
                  "me=$CUDA_VISIBLE_DEVICES; touch {0}/here$me; tries=0\n"
                  "while [ ! -e {0}/here$((1 - me)) ] && [ $tries -lt 20 ]; do sleep 0.05; tries=$((tries + 1)); done\n"
                  "[ -e {0}/here$((1 - me)) ] && echo $me >>{0}/met || echo $me >>{0}/alone\n"
                  "sleep 0.2; rm -f {0}/here$me; exit 1\n",
                  place));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  SweepOptions options;
  options.folder = folder.path() / "out";
  options.stopped = [] { return false; };
  NoObserver observer;
  const Suite suite = on_each_device(get_suite({"base"}), 2, "");
  EXPECT_TRUE(run_sweep(suite, bench_program(program), options, observer));
  const auto lines = [](std::string text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(lines(read_file(folder / "met")), 2);
  EXPECT_EQ(lines(read_file(folder / "alone")), 2);
  EXPECT_TRUE(std::filesystem::exists(options.folder / "runs" / suite.cases[3].folder / "00" / "record.json"));
}

}  // namespace
}  // namespace ptrain
