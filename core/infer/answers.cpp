#include "core/infer/answers.h"

#include "core/infer/inputs.h"
#include "core/report/csv.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace ptrain {
namespace {

const std::string& name_of_class(const std::vector<std::string>& names, std::int32_t index) {
  return names[static_cast<std::size_t>(index)];
}

std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

std::string text_line(const Answer& answer, const std::vector<std::string>& names) {
  std::string line = on_one_line(answer.input) + ": ";
  for (std::size_t i = 0; i < answer.classes.size(); ++i) {
    const auto& [index, probability] = answer.classes[i];
    line += fmt::format("{}{} {:.4f}", i == 0 ? "" : ", ", name_of_class(names, index), probability);
  }
  if (answer.truth != no_truth && answer.truth != answer.classes.front().index) {
    line += fmt::format("  (is {})", name_of_class(names, answer.truth));
  }
  return line + "\n";
}

std::string json_line(const Answer& answer, const std::vector<std::string>& names) {
  nlohmann::ordered_json line{{"input", answer.input}, {"classes", nlohmann::ordered_json::array()}};
  for (const auto& [index, probability] : answer.classes) {
    line["classes"].push_back({{"name", name_of_class(names, index)}, {"index", index}, {"probability", probability}});
  }
  if (answer.truth != no_truth) line["truth"] = name_of_class(names, answer.truth);
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string csv_line(const Answer& answer, const std::vector<std::string>& names) {
  std::string line = csv_field(answer.input) + ",";
  if (answer.truth != no_truth) line += csv_field(name_of_class(names, answer.truth));
  for (const auto& [index, probability] : answer.classes) {
    line += fmt::format(",{},{:.6g}", csv_field(name_of_class(names, index)), probability);
  }
  return line + "\n";
}

std::string value_line(AnswerFormat format, const Answer& answer) {
  const auto number = [](std::optional<float> value) { return value ? fmt::format("{:.6g}", *value) : ""; };
  switch (format) {
    case AnswerFormat::text:
      return fmt::format("{}: {:.4f}{}\n", on_one_line(answer.input), *answer.value,
                         answer.true_value ? fmt::format("  (is {})", number(answer.true_value)) : "");
    case AnswerFormat::jsonl: {
      nlohmann::ordered_json line{{"input", answer.input}, {"value", *answer.value}};
      if (answer.true_value) line["truth"] = *answer.true_value;
      return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    }
    case AnswerFormat::csv:
      return fmt::format("{},{},{}\n", csv_field(answer.input), number(answer.true_value), number(answer.value));
  }
  return {};
}

}  // namespace

std::vector<RankedClass> rank_classes(std::span<const float> probabilities, std::size_t top) {
  std::vector<std::int32_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  const auto more = [&](std::int32_t a, std::int32_t b) {
    const float of_a = probabilities[static_cast<std::size_t>(a)], of_b = probabilities[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  };
  const std::size_t count = std::min(top, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), more);
  std::vector<RankedClass> ranked;
  for (std::size_t i = 0; i < count; ++i) {
    ranked.push_back({order[i], probabilities[static_cast<std::size_t>(order[i])]});
  }
  return ranked;
}

std::string answers_header(AnswerFormat format, std::size_t top) {
  if (format != AnswerFormat::csv) return {};
  std::string header = top > 0 ? "input,truth" : "input,truth,value";
  for (std::size_t i = 1; i <= top; ++i) header += fmt::format(",class{},probability{}", i, i);
  return header + "\n";
}

std::string answer_line(AnswerFormat format, const Answer& answer, const std::vector<std::string>& class_names) {
  if (answer.value) return value_line(format, answer);
  switch (format) {
    case AnswerFormat::text:
      return text_line(answer, class_names);
    case AnswerFormat::jsonl:
      return json_line(answer, class_names);
    case AnswerFormat::csv:
      return csv_line(answer, class_names);
  }
  return {};
}

}  // namespace ptrain
