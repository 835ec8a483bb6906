// A batch as the loader hands it over: host buffers in the layout that the model's input takes.
#pragma once

#include <cstdint>
#include <vector>

namespace ptrain {

/// Rows from `count` on are padding: zero pixels, one [PAD] token of length 1, or numbers 0 with the first row's
/// categories, so that no row of a table is read that no sample has; label 0.
struct Batch {
  std::int64_t epoch = 0;
  std::int64_t index = 0;                  // within the epoch
  std::int64_t count = 0;                  // valid rows of this rank; 0 is possible on the last batch of an evaluation
  std::int64_t image_size = 0;             // images: H = W, px
  std::vector<std::uint8_t> pixels;        // images: [batch, H, W, 3]; clips: [batch, frames, H, W, 3]
  std::vector<std::int32_t> ids;           // text: [batch, max_length]
  std::vector<std::int32_t> token_types;   // text: [batch, max_length]
  std::vector<std::int32_t> lengths;       // text: [batch]
  std::vector<float> numbers;              // tables: [batch, numbers]
  std::vector<std::int32_t> categories;    // tables: [batch, categories]
  std::vector<std::int32_t> labels;        // [batch]
  std::vector<float> values;               // [batch] of samples that have values; NaN of padding
  std::vector<std::int32_t> other_labels;  // [batch] of images that were mixed with others; empty: none were
  float own_share = 1;                     // what `labels` have of them
  std::vector<std::int64_t> sample_indices;  // [batch], position in the data set; -1 for padding
};

}  // namespace ptrain
