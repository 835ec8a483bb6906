#include "core/report/metrics_tail.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace ptrain {
namespace {

std::string make_line(std::int64_t step) {
  StepLine line;
  line.step = step;
  return to_json(line).dump();
}

void append(const std::filesystem::path& file, const std::string& text) { std::ofstream(file, std::ios::app) << text; }

std::vector<std::int64_t> get_steps(const MetricsTail::News& news) {
  std::vector<std::int64_t> steps;
  for (const MetricsLine& line : news.lines) steps.push_back(std::get<StepLine>(line).step);
  return steps;
}

using Steps = std::vector<std::int64_t>;

TEST(MetricsTail, ReadsEachLineOnceItIsWhole) {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "metrics.jsonl";
  MetricsTail tail(file);
  EXPECT_EQ(get_steps(tail.read()), Steps{});
  const std::string second = make_line(2);
  append(file, make_line(1) + "\n" + second.substr(0, 10));
  EXPECT_EQ(get_steps(tail.read()), Steps{1});
  EXPECT_EQ(get_steps(tail.read()), Steps{});
  append(file, second.substr(10));
  EXPECT_EQ(get_steps(tail.read()), Steps{});
  append(file, "\nno JSON\n{}\n" + make_line(3) + "\n");
  const MetricsTail::News news = tail.read();
  EXPECT_EQ(get_steps(news), (Steps{2, 3}));
  EXPECT_FALSE(news.restarted);
}

TEST(MetricsTail, BeginsAnewWithAFileThatWasReplacedOrRemoved) {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "metrics.jsonl", other = folder.path() / "other";
  MetricsTail tail(file);
  append(file, make_line(1) + "\n" + make_line(2) + "\n");
  EXPECT_EQ(get_steps(tail.read()), (Steps{1, 2}));
  append(other, make_line(1) + "\n" + make_line(2) + "\n" + make_line(3) + "\n");
  std::filesystem::rename(other, file);
  MetricsTail::News news = tail.read();
  EXPECT_TRUE(news.restarted);
  EXPECT_EQ(get_steps(news), (Steps{1, 2, 3}));
  std::ofstream(file) << make_line(7) + "\n";  // shorter
  news = tail.read();
  EXPECT_TRUE(news.restarted);
  EXPECT_EQ(get_steps(news), Steps{7});
  std::filesystem::remove(file);
  EXPECT_TRUE(tail.read().restarted);
  EXPECT_FALSE(tail.read().restarted);
}

}  // namespace
}  // namespace ptrain
