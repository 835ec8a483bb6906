// Opens each kind of input; helpers for class names and standard input.
#pragma once

#include "core/infer/inference_dataset.h"

namespace ptrain {

/// Inputs of one kind each from files, folders, texts or standard input ("-"). They throw Error{failed} naming an
/// argument that is missing or of another kind.
std::unique_ptr<InferenceDataset> open_image_inputs(const ModelArtifact& model,
                                                    const std::vector<std::string>& arguments,
                                                    const InferenceDataOptions& options);
/// Whether `path` is a folder with COCO's or PASCAL VOC's annotations of evaluation samples.
bool holds_annotations(const std::string& path);
/// The evaluation samples of such a folder, which has to be the only argument. Throws Error{usage} otherwise, and
/// Error{failed} where its classes are not the model's.
std::unique_ptr<InferenceDataset> open_annotated_inputs(const ModelArtifact& model,
                                                        const std::vector<std::string>& arguments);
std::unique_ptr<InferenceDataset> open_clip_inputs(const ModelArtifact& model,
                                                   const std::vector<std::string>& arguments);
std::unique_ptr<InferenceDataset> open_text_inputs(const ModelArtifact& model,
                                                   const std::vector<std::string>& arguments,
                                                   const InferenceDataOptions& options);

/// Clicks in the format that the model was trained on, with or without label. Throws as the others do.
std::unique_ptr<InferenceDataset> open_table_inputs(const ModelArtifact& model,
                                                    const std::vector<std::string>& arguments);

/// Videos in YouTube-8M's records: files, or "-" for a path per line of standard input. Throws as the others do.
std::unique_ptr<InferenceDataset> open_video_inputs(const ModelArtifact& model,
                                                    const std::vector<std::string>& arguments);

struct InputLine {
  std::string text;
  std::int64_t number = 0;  // from 1
};

/// Splits text into lines; empty ones are lines too. `name` is for messages. Throws Error{failed} naming a line that is
/// not UTF-8.
std::vector<InputLine> split_lines(std::string_view text, const std::string& name);
/// Files whose lines are inputs: those that end in .txt, or any, such as "test.en".
enum class TextFiles { txt, any };
/// Lines of a command-line argument: of a file, of standard input ("-"), or the argument itself. Adds to `notes` the
/// file's encoding. Throws as split_lines does, and naming a file of another kind; `expected`: alternatives to
/// standard input, for the message.
std::vector<InputLine> lines_of_argument(const std::string& argument, std::string_view expected,
                                         std::vector<std::string>& notes, TextFiles files = TextFiles::txt);
/// Lines of standard input that are paths. Throws as split_lines does, and naming an empty one.
std::vector<std::string> read_paths();
/// Reads standard input to its end.
std::string read_standard_input();

/// The class of this name, or no_label.
std::int32_t find_class(const DatasetInfo& data, std::string_view name);

}  // namespace ptrain
