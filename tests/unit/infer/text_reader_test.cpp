// The order in which texts of an image are read, and the forms in which they are written.
#include "core/infer/text_reader.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

FoundText text_at(double x, double y, double score = 1) {
  return {{{{x, y}, {x + 40, y}, {x + 40, y + 12}, {x, y + 12}}}, score};
}

std::vector<double> read_scores(std::vector<FoundText> texts) {
  sort_for_reading(texts);
  std::vector<double> scores;
  for (const FoundText& one : texts) scores.push_back(one.score);
  return scores;
}

TEST(ReadingOrder, IsLineByLineAndFromLeftToRight) {
  EXPECT_EQ(read_scores({text_at(10, 50, 4), text_at(60, 10, 2), text_at(10, 10, 1), text_at(110, 10, 3)}),
            (std::vector<double>{1, 2, 3, 4}));
}

TEST(ReadingOrder, TakesCornersLessThanTenPixelsApartForOneLine) {
  EXPECT_EQ(read_scores({text_at(110, 10, 3), text_at(10, 19, 1), text_at(60, 14, 2)}), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(read_scores({text_at(110, 10, 1), text_at(10, 20, 2)}), (std::vector<double>{1, 2}));
}

const std::vector<ReadText> two{{text_at(1, 2, 0.9), "one, \"two\"", 0.75}, {text_at(3, 40, 0.8), "three", 0.5}};

TEST(ReadingLines, HaveBoxTextAndProbability) {
  EXPECT_EQ(reading_header(PredictionFormat::text), "");
  EXPECT_EQ(reading_lines(PredictionFormat::text, "a.png", two),
            "a.png: one, \"two\" 0.7500 at 1,2 41,2 41,14 1,14\na.png: three 0.5000 at 3,40 43,40 43,52 3,52\n");
  EXPECT_EQ(reading_lines(PredictionFormat::text, "a.png", {}), "a.png: nothing\n");
  EXPECT_EQ(reading_header(PredictionFormat::csv), "input,text,probability,score,x1,y1,x2,y2,x3,y3,x4,y4\n");
  EXPECT_EQ(reading_lines(PredictionFormat::csv, "a.png", two),
            "a.png,\"one, \"\"two\"\"\",0.75,0.9,1,2,41,2,41,14,1,14\na.png,three,0.5,0.8,3,40,43,40,43,52,3,52\n");
  EXPECT_EQ(reading_lines(PredictionFormat::csv, "a.png", {}), "");
  const auto line = nlohmann::json::parse(reading_lines(PredictionFormat::jsonl, "a.png", two));
  EXPECT_EQ(line["input"], "a.png");
  EXPECT_EQ(line["texts"][0]["text"], "one, \"two\"");
  EXPECT_EQ(line["texts"][1]["probability"], 0.5);
  EXPECT_EQ(line["texts"][1]["score"], 0.8);
  EXPECT_EQ(line["texts"][1]["points"][2], (std::vector<double>{43, 52}));
  EXPECT_TRUE(nlohmann::json::parse(reading_lines(PredictionFormat::jsonl, "a.png", {}))["texts"].empty());
}

}  // namespace
}  // namespace ptrain
