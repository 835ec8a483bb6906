// The text detector of PP-OCRv6, small (PaddleOCR: PPLCNetV4 with the neck RepLKFPN and DB's heads): feature maps of
// four sizes are added from the coarsest on, mixed by 7x7 convolutions, and joined at a quarter of the image's size.
// Variables have the names that PaddleOCR gives them; see lcnet.h.
#pragma once

#include "models/vision/image_model.h"

namespace ptrain {

struct PpocrDetectorSpec : ImageSpec {
  std::string name = "ppocrv6_det_small";
  std::int64_t channels = 48;       // of the first blocks; the last have eight times as many
  std::int64_t neck_channels = 96;  // of the added maps, a multiple of 16
};

/// The published form.
PpocrDetectorSpec ppocrv6_det_small_spec(const Config& config, const DatasetInfo& data);
/// A narrow one that learns in a minute, for tests; not the tiny one of PaddleOCR.
PpocrDetectorSpec ppocr_det_tiny_spec(const Config& config, const DatasetInfo& data);

/// Outputs logits [N,H,W,1] of text and, in training, threshold_logits [N,H,W,1]. Throws Error{usage} for images whose
/// sides are no multiples of 32 px.
std::unique_ptr<Model> make_ppocr_detector(const PpocrDetectorSpec& spec);

}  // namespace ptrain
