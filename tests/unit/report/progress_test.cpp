#include "core/report/progress.h"

#include "core/base/errors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace ptrain {
namespace {

/// What was written to `file`, which is closed.
std::string written_to(std::FILE* file) {
  std::rewind(file);
  std::string text(100000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

/// What a progress reporter writes to a file for steps 1..`steps`.
std::string get_output(ProgressStyle style, std::int64_t every, std::int64_t steps) {
  std::FILE* file = std::tmpfile();
  const auto progress = make_progress(style, every, file);
  for (std::int64_t step = 1; step <= steps; ++step) progress->show_step({step, steps, 0.5, 1.25, 0.1, 812, 0.03, {}});
  progress->print_line("top1 0.91");
  progress->finish();
  return written_to(file);
}

/// Its line in `width` columns, without the time of the end, which differs from minute to minute.
std::string line_in(std::size_t width) {
  const std::string line = progress_line({120, 938, 0.128, 0.61234, 0.05, 812.4, 0.034, 65536.0}, 62, width);
  return line.substr(0, line.find(", at "));
}

TEST(Progress, LineHoldsWhatMatters) {
  EXPECT_EQ(line_in(200), "step 120/938  epoch 0.13  loss 0.6123  812 samples/s  reader 3 %  scale 65536  ETA 1:02");
}

TEST(Progress, ANarrowLineKeepsStepAndEta) {
  EXPECT_EQ(line_in(79), "step 120/938  loss 0.6123  812 samples/s  reader 3 %  scale 65536  ETA 1:02");
  EXPECT_EQ(line_in(70), "step 120/938  loss 0.6123  812 samples/s  scale 65536  ETA 1:02");
  EXPECT_EQ(line_in(10), "step 120/938  ETA 1:02");
}

TEST(Progress, WorkBesideStepsIsShownWhereItIsLong) {
  double now = 0;
  std::FILE* file = std::tmpfile();
  const auto progress = make_progress(ProgressStyle::plain, 10, file, [&] { return now; });
  for (std::int64_t done = 1; done <= 10; ++done, now += 2) progress->show_activity("evaluating", done * 100, 1000);
  progress->show_activity("measuring", 0, 0);
  now += 60;
  progress->show_activity("choosing fusions", 7, 0);
  EXPECT_EQ(written_to(file), "evaluating 400/1000  ETA 12 s\nchoosing fusions 7\n");
}

TEST(Progress, WorkBesideStepsIsDrawnInTheBarsPlace) {
  std::FILE* file = std::tmpfile();
  const auto progress = make_progress(ProgressStyle::bar, 10, file);
  progress->show_activity("measuring the device", 0, 0);
  progress->print_line("done");
  EXPECT_EQ(written_to(file), "\rmeasuring the device\x1b[K\r\x1b[Kdone\n");
}

TEST(Progress, ClockText) {
  EXPECT_EQ(clock_text(41.6), "42 s");
  EXPECT_EQ(clock_text(59.9), "1:00");
  EXPECT_EQ(clock_text(7384), "2:03:04");
  EXPECT_EQ(clock_text(86399.2), "23:59:59");
  EXPECT_EQ(clock_text(3 * 86400 + 5 * 3600 + 1800), "3 d 5 h");
}

TEST(Progress, IsPlainLinesInAFile) {
  const std::string text = get_output(ProgressStyle::automatic, 10, 25);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);  // steps 10, 20, 25 and the message
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_NE(text.find("step 25/25"), std::string::npos);
}

TEST(Progress, PlainLinesComeWhereAMultipleIsPassedToo) {
  std::FILE* file = std::tmpfile();
  const auto progress = make_progress(ProgressStyle::plain, 10, file);
  for (const std::int64_t done : {8, 16, 18, 32, 35}) {
    progress->show(done, 35, [&](double) { return fmt::format("{} images", done); });
  }
  EXPECT_EQ(written_to(file), "16 images\n32 images\n35 images\n");
}

TEST(Progress, APlainResumedRunStartsWithTheNextMultiple) {
  std::FILE* file = std::tmpfile();
  const auto progress = make_progress(ProgressStyle::plain, 10, file);
  for (std::int64_t step = 18; step < 31; ++step)
    progress->show(step, 100, [&](double) { return std::to_string(step); });
  EXPECT_EQ(written_to(file), "20\n30\n");
}

TEST(Progress, TheFirstStepShowsWhenTheEndWillBe) {
  double now = 100;
  std::FILE* file = std::tmpfile();
  const auto progress = make_progress(ProgressStyle::plain, 10, file, [&] { return now; });
  const auto step = [&](std::int64_t done, double seconds) {
    now += seconds;
    progress->show(done, 25, [&](double eta) { return fmt::format("{} {:.0f}", done, eta); });
  };
  progress->begin(0);
  step(1, 7);  // after seven seconds the first line, with the pace of the one step there is
  step(2, 4);  // from here on the first step does not count
  for (std::int64_t done = 3; done <= 10; ++done) step(done, 4);
  step(11, 70);  // a step so slow that it is shown by itself
  EXPECT_EQ(written_to(file), "1 168\n10 60\n11 148\n");
}

TEST(Progress, StepsTellTheTimeOfTheEnd) {
  EXPECT_EQ(end_time(60).size(), std::string("20:41").size());
  EXPECT_EQ(end_time(1e6).size(), std::string("2026-01-01 20:41").size());
}

TEST(Progress, BarRedrawsOneLineAndEndsWithTheLastStep) {
  const std::string text = get_output(ProgressStyle::bar, 10, 25);
  EXPECT_NE(text.find("[####################] step 25/25"), std::string::npos);
  EXPECT_EQ(text.find("step 2/25"), std::string::npos);  // too soon after the first
}

TEST(Progress, NoneIsSilent) { EXPECT_EQ(get_output(ProgressStyle::none, 1, 5), ""); }

TEST(Progress, RefusesUnknownStyles) { EXPECT_THROW(progress_style_from_name("fancy"), Error); }

}  // namespace
}  // namespace ptrain
