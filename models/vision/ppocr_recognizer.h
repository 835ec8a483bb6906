// The recogniser of lines of text of PP-OCRv6, small (PaddleOCR: PPLCNetV4 with the neck LightSVTR): convolutions make
// columns of an image, two blocks of attention compare them, and a linear layer scores characters at each.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

struct PpocrRecognizerSpec : ImageSpec {
  std::string name = "ppocrv6_rec_small";
  std::int64_t channels = 96;  // of the first blocks; the last have four times as many
  std::int64_t neck_channels = 120;
  int heads = 8;
  std::int64_t max_length = 1;  // characters of the data's longest text
};

/// The published form.
PpocrRecognizerSpec ppocrv6_rec_small_spec(const Config& config, const DatasetInfo& data);
/// A narrow one that learns in minutes, for tests; not the tiny one of PaddleOCR.
PpocrRecognizerSpec ppocr_rec_tiny_spec(const Config& config, const DatasetInfo& data);

/// Outputs logits [N, T, classes] for T steps from left to right, an eighth of the image's width. Throws Error{usage}
/// for images whose height is no multiple of 16 px or whose width is none of 8 px, and where the longest text has more
/// characters than there are steps.
std::unique_ptr<Model> make_ppocr_recognizer(const PpocrRecognizerSpec& spec);

}  // namespace ptrain
