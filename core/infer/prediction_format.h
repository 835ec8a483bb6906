// Answers as users read them: as text, JSON lines or CSV.
#pragma once

#include "core/base/enums.h"
#include "core/tasks/prediction.h"

#include <string>
#include <vector>

namespace ptrain {

enum class PredictionFormat { text, jsonl, csv };
template <>
struct EnumNames<PredictionFormat> {
  static constexpr std::array<std::string_view, 3> names{"text", "jsonl", "csv"};
};

/// The first line of a format, with its line end; empty where it has none. `columns` are the task's.
std::string format_header(PredictionFormat format, const std::vector<std::string>& columns);
/// One line, with its line end. Control characters in an input are escaped or quoted as the format has it.
std::string format_prediction(PredictionFormat format, const std::string& input, const Prediction& answer);

}  // namespace ptrain
