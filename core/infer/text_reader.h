// Reads the texts of photographs: a detector's boxes, cut out and given to a recognizer.
#pragma once

#include "core/data/image/resize.h"
#include "core/infer/prediction_format.h"
#include "core/runtime/loaded_model.h"
#include "core/runtime/predictor.h"
#include "core/tasks/found_text.h"

#include <string>
#include <vector>

namespace ptrain {

struct ReadText {
  FoundText box;           // its corners clockwise from the upper left one
  std::string text;        // UTF-8
  double probability = 0;  // of the text, as the recognizer's predictions have it
};

/// PaddleOCR's order: by the upper left corners from top to bottom; neighbours whose corners are less than 10 px apart
/// in height are in one line, which is read from left to right. The corners of each must be in their order.
void sort_for_reading(std::vector<FoundText>& texts);

class TextReader {
 public:
  /// Opens `recognizer`, a model whose predictions are texts; it and the backend must outlive the reader. Throws as
  /// DeployedModel does.
  TextReader(const LoadedModel& recognizer, Backend& backend, DeployOptions options);

  /// Reads the texts in boxes of an image, in their reading order. Boxes in which nothing is read are left out. Each is
  /// resized to the height of the recognizer's images; one that is wider then is read in an image of two, three, ... at
  /// most 16 times their width. Throws Error{failed} if scores are not finite.
  std::vector<ReadText> read(const DecodedImage& image, std::vector<FoundText> found);

 private:
  /// The texts of cut-out images that fill images `widths` times as wide as the recognizer's.
  void read_together(std::span<const std::size_t> chosen, std::int64_t widths, std::vector<ReadText>& texts,
                     std::span<const DecodedImage> images);

  const LoadedModel& recognizer_;
  Predictor predictor_;
  Scratch scratch_;
};

/// Like format_header and format_prediction; in text and CSV a line for each text.
std::string reading_header(PredictionFormat format);
std::string reading_lines(PredictionFormat format, const std::string& image, const std::vector<ReadText>& texts);

}  // namespace ptrain
