// Formats predictions as text, JSON lines or CSV.
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

/// The header line of a format, with line end; empty without one. `columns` are the task's.
std::string format_header(PredictionFormat format, const std::vector<std::string>& columns);
/// One line, with line end. Control characters in an input are escaped or quoted as in the format.
std::string format_prediction(PredictionFormat format, const std::string& input, const Prediction& answer);

}  // namespace ptrain
