#include "core/train/measure/device_figures.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ptrain {
namespace {

struct Notes final : TrainObserver {
  std::vector<std::string> lines;

  void on_note(const std::string& line) override { lines.push_back(line); }
};

/// The result of peak_beside_steps for successive measurements; `found` becomes the number that it took.
double get_peak(double achieved, std::vector<double> measured, std::size_t& found, Notes& notes) {
  found = 0;
  return peak_beside_steps(
      achieved, [&] { return measured.at(found++); }, [](bool mine) { return mine; }, notes);
}

TEST(Peak, IsMeasuredAgainWhereStepsPassIt) {
  Notes notes;
  std::size_t measurements = 0;
  EXPECT_EQ(get_peak(90, {100, 120}, measurements, notes), 100);
  EXPECT_EQ(measurements, 1u);
  EXPECT_TRUE(notes.lines.empty());
  EXPECT_EQ(get_peak(110, {100, 120, 130}, measurements, notes), 120);
  EXPECT_EQ(measurements, 2u);
  ASSERT_EQ(notes.lines.size(), 1u);
  EXPECT_NE(notes.lines[0].find("measured again"), std::string::npos);
}

TEST(Peak, ThatStepsPassAllTheSameIsSaid) {
  Notes notes;
  std::size_t measurements = 0;
  EXPECT_EQ(get_peak(110, {100, 90, 105}, measurements, notes), 105);
  EXPECT_EQ(measurements, 3u);
  ASSERT_EQ(notes.lines.size(), 1u);
  EXPECT_NE(notes.lines[0].find("mfu is above 1"), std::string::npos);
}

}  // namespace
}  // namespace ptrain
