// The kinds of inputs, and what both find in names of classes and in standard input.
#pragma once

#include "core/infer/inputs.h"

namespace ptrain {

std::unique_ptr<InputSet> open_image_inputs(const TrainedModel& model, const std::vector<std::string>& arguments);
std::unique_ptr<InputSet> open_clip_inputs(const TrainedModel& model, const std::vector<std::string>& arguments);
std::unique_ptr<InputSet> open_text_inputs(const TrainedModel& model, const std::vector<std::string>& arguments,
                                           const InputOptions& options);

std::unique_ptr<InputSet> open_table_inputs(const TrainedModel& model, const std::vector<std::string>& arguments);

struct InputLine {
  std::string text;
  std::int64_t number = 0;  // from 1
};

/// The lines that are not empty. `name` is for messages. Throws Error{failed} naming the line that is not UTF-8.
std::vector<InputLine> lines_of(std::string_view text, const std::string& name);
/// All of standard input, to its end.
std::string read_standard_input();

/// The class of that name, or no_truth.
std::int32_t class_of(const DatasetInfo& data, std::string_view name);

}  // namespace ptrain
