// Boxes around lines of text in images: as files describe them, as tensors, and as maps that a network learns from by
// differentiable binarization (Liao et al. 2020, "Real-time scene text detection with differentiable binarization").
#pragma once

#include "core/data/boxes/quad.h"
#include "core/data/dataset.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

namespace tensor_names {
// Targets.
inline constexpr const char* text_boxes =
    "text_boxes";                                    // f32 [N,M,9]: corners in px of the frame; 1: ignored, -1: none
inline constexpr const char* text_map = "text_map";  // f32 [N,H,W]: 1 text, 0 none, -1 not learnt
inline constexpr const char* threshold_map = "threshold_map";  // f32 [N,H,W]: 0.3 to 0.7; -1 where it is not learnt

// Outputs of models.
inline constexpr const char* threshold_logits = "threshold_logits";      // [N,H,W,1], in training
inline constexpr const char* text_probabilities = "text_probabilities";  // f32 [N,H,W]
}  // namespace tensor_names

struct TextBox {
  Quad corners{};        // px
  bool ignored = false;  // neither learnt nor required: nobody could read it
};

struct TextBoxImage {
  std::string file;  // its path
  std::vector<TextBox> boxes;
  std::int64_t line = 0;  // of the list, from 1; 0: not listed
};

/// Parses PaddleOCR's list of images: a path below `folder`, a tab and a JSON list of objects with `transcription`,
/// "###" or "*" for text to ignore, and `points`, the four corners [x, y], a line. Throws Error{failed} naming `name`,
/// the line and what was expected.
std::vector<TextBoxImage> parse_text_box_list(std::string_view text, const std::string& name,
                                              const std::string& folder);
/// Parses ICDAR's file of an image: x1,y1,x2,y2,x3,y3,x4,y4,text a line, "###" for text to ignore. Throws likewise.
std::vector<TextBox> parse_icdar_boxes(std::string_view text, const std::string& name);

/// Removes boxes without area, and those whose corners are in no order; returns their number.
std::int64_t remove_unusable(std::vector<TextBox>& boxes);

/// Adds the targets of images, the first of `inputs`, with at most `most` boxes each, and their placements.
std::vector<TensorSpec> with_text_boxes(std::vector<TensorSpec> inputs, std::size_t most);
/// Writes the targets of boxes in px of a frame of `size`, of which there may be more than the sample has. Each pixel
/// is learnt by its centre. In the text map a box is text as far as d = A (1 - 0.4^2) / L inside its sides, for an area
/// A and a perimeter L. The threshold map is 0.7 at the sides and falls to 0.3 at a distance of d from them; it is
/// learnt in boxes and up to d around them.
void write_text_targets(std::span<const TextBox> boxes, ImageSize size, const SampleRow& out);
/// Reads the rows of one sample's text_boxes that have a box.
std::vector<TextBox> read_text_boxes(std::span<const float> rows);

}  // namespace ptrain
