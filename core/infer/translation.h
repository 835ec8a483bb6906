// Translates the texts of a command line.
#pragma once

#include "core/infer/prediction_format.h"
#include "core/runtime/decoding/beam_search.h"
#include "core/runtime/deployed_model.h"
#include "core/runtime/loaded_model.h"

#include <functional>

namespace ptrain {

struct TranslatedText {
  std::string source, text;
  std::int64_t tokens = 0;  // of `text`
};

/// Reads texts: the lines of files and of standard input ("-"), blank ones too; any other argument is itself a text.
/// Adds to `notes` the encodings found. Throws Error{failed} naming an argument that is missing or no text.
std::vector<std::string> read_sources(const std::vector<std::string>& arguments, std::vector<std::string>& notes);

/// Translates the texts in the model's batches and calls `done` for each, in order; blank ones stay blank. Returns the
/// seconds that it took once the model was open. Throws
/// Error{failed} naming a text of more tokens than the model reads, if the model has no vocabulary, and as Translator
/// does; Interrupted.
double translate_texts(const LoadedModel& opened, Backend& backend, const DeployOptions& options,
                       const SearchOptions& search, const std::vector<std::string>& texts,
                       const std::function<void(const TranslatedText&)>& done);

/// Like format_header and format_prediction.
std::string translation_header(PredictionFormat format);
std::string translation_line(PredictionFormat format, const TranslatedText& translated);

}  // namespace ptrain
