// Answers as users read them: the likeliest classes of each input, as text, JSON lines or CSV.
#pragma once

#include "core/base/choices.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

enum class AnswerFormat { text, jsonl, csv };
template <>
struct Choices<AnswerFormat> {
  static constexpr std::array<std::string_view, 3> names{"text", "jsonl", "csv"};
};

struct RankedClass {
  std::int32_t index = 0;
  float probability = 0;
};

/// The `top` likeliest classes, ties by index.
std::vector<RankedClass> rank_classes(std::span<const float> probabilities, std::size_t top);

struct Answer {
  std::string input;
  std::vector<RankedClass> classes;
  std::int32_t truth = -1;               // no_truth where there is none
  std::optional<float> value = {};       // of a regression, which has no classes
  std::optional<float> true_value = {};  // where it is known
};

/// The first line of a format, with its line end; empty where it has none. `top` is 0 of values.
std::string answers_header(AnswerFormat format, std::size_t top);
/// One line, with its line end. Control characters in an input are escaped or quoted as the format has it.
std::string answer_line(AnswerFormat format, const Answer& answer, const std::vector<std::string>& class_names);

}  // namespace ptrain
