#include "core/bench/command_metric.h"

#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

class CommandMetricTest : public ::testing::Test {
 protected:
  std::vector<double> read(const std::string& metric, const std::string& output) {
    return read_command_metric(parse_command_metric(metric, "metric"), folder_.write("log.txt", output));
  }

  TemporaryDirectory folder_;
};

TEST_F(CommandMetricTest, ReadsEveryLineThatMatches) {
  EXPECT_EQ(read("speed ([0-9.]+)", "speed 1\nother\rspeed 2.5\rspeed 3e0\n"), (std::vector<double>{1, 2.5, 3}));
  EXPECT_EQ(read("(\\d+) img", std::string(100'000, 'x') + "\n7 img"), (std::vector<double>{7}));
}

TEST_F(CommandMetricTest, ReadsJsonLines) {
  EXPECT_EQ(read("json:a.b", "text\n{\"a\": {\"b\": 2}}\n{\"c\": 1}\n{broken\n{\"a\": {\"b\": [3, \"4\"]}}\n"),
            (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(read("json:a", "{\"text\": \"" + std::string(100'000, 'x') + "\", \"a\": 5}"), (std::vector<double>{5}));
}

TEST_F(CommandMetricTest, SaysWhatIsMissingOrNoFigure) {
  const auto message = [&](const std::string& metric, const std::string& output) {
    return get_error([&] { read(metric, output); });
  };
  EXPECT_EQ(message("speed (.+)", "nothing"), "the metric \"speed (.+)\" is not in the output");
  EXPECT_EQ(message("speed (.+)", "speed -1"), "the metric \"speed (.+)\" is \"-1\", expected a number above 0");
  const std::string cut = std::string(4090, 'x') + " speed 12345";
  EXPECT_EQ(
      message("speed ([0-9]+)", cut),
      "the metric \"speed ([0-9]+)\" is not in the first 4096 bytes of a line of the output: print it on a line of "
      "its own");
  EXPECT_EQ(message("json:a", "{\"b\": 1}"), "the metric \"a\" is not in the JSON lines of the output");
}

TEST_F(CommandMetricTest, NamesItsUnit) {
  const auto unit = [](const std::string& metric) { return parse_command_metric(metric, "metric").guess_unit(); };
  EXPECT_EQ(unit("images/s: ([0-9.]+)"), "images/s");
  EXPECT_EQ(unit("json:speed"), "1/s");
  EXPECT_EQ(unit(""), "runs/s");
}

}  // namespace
}  // namespace ptrain
