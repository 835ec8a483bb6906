// The kinds of inputs, and what both find in names of classes and in standard input.
#pragma once

#include "core/infer/inference_dataset.h"

namespace ptrain {

/// Inputs of one kind each from files, folders, texts or standard input ("-"). They throw Error{failed} naming the
/// argument that is not there or not of the kind.
std::unique_ptr<InferenceDataset> open_image_inputs(const ModelArtifact& model,
                                                    const std::vector<std::string>& arguments);
std::unique_ptr<InferenceDataset> open_clip_inputs(const ModelArtifact& model,
                                                   const std::vector<std::string>& arguments);
std::unique_ptr<InferenceDataset> open_text_inputs(const ModelArtifact& model,
                                                   const std::vector<std::string>& arguments,
                                                   const InferenceDataOptions& options);

/// Rows of Criteo's form, with a label or without. Throws as the others do.
std::unique_ptr<InferenceDataset> open_table_inputs(const ModelArtifact& model,
                                                    const std::vector<std::string>& arguments);

struct InputLine {
  std::string text;
  std::int64_t number = 0;  // from 1
};

/// The lines that are not empty. `name` is for messages. Throws Error{failed} naming the line that is not UTF-8.
std::vector<InputLine> split_lines(std::string_view text, const std::string& name);
/// The lines of an argument of the command line: a .txt file's, those of standard input ("-"), or its own. Adds to
/// `notes` what was found of the file's encoding. Throws as split_lines does, and naming a file of another kind;
/// `expected`: what else than standard input it should be.
std::vector<InputLine> lines_of_argument(const std::string& argument, std::string_view expected,
                                         std::vector<std::string>& notes);
/// All of standard input, to its end.
std::string read_standard_input();

/// The class of that name, or no_label.
std::int32_t find_class(const DatasetInfo& data, std::string_view name);

}  // namespace ptrain
