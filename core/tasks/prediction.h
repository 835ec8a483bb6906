// A model's prediction for one sample, in forms for people and for programs.
#pragma once

#include "core/data/batch.h"
#include "core/data/image/png_image.h"
#include "core/tasks/detected_box.h"
#include "core/tasks/found_text.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct Prediction {
  using Json = nlohmann::ordered_json;

  std::int64_t index = 0;                                // in the data set
  Json answer, label;                                    // a class's name, a value, ...; null: the label is unknown
  Json details;                                          // an object: the whole prediction, as fields of a JSON line
  std::string text;                                      // the whole prediction on one line, for people
  std::vector<std::string> cells;                        // the whole prediction as CSV, one cell per column of the task
  std::optional<double> probability, label_probability;  // of the prediction and of the label, if the model computes
                                                         // them
  std::optional<IndexImage> label_map = {};              // the class of each pixel, if requested
  std::vector<DetectedBox> objects = {};                 // in px of the original image, by descending score
  std::vector<FoundText> texts = {};                     // likewise, from top to bottom
  double error = 0;  // larger for worse predictions; 0: correct, or the label is unknown

  bool has_label() const { return !label.is_null(); }
  bool is_wrong() const { return has_label() && label != answer; }
};

/// The number of classes that a label map can have.
inline constexpr int most_label_map_classes = 256;

/// Options for the contents of predictions.
struct PredictionOptions {
  std::size_t top = 1;                   // number of most likely classes to list
  std::vector<std::string> class_names;  // by number
  bool label_maps = false;               // whether predictions of segmentation have their label map
};

/// Position in the data set of a batch's row; the row itself for batches that were not loaded from one.
inline std::int64_t index_of_row(const Batch& batch, std::int64_t row) {
  return batch.sample_indices.empty() ? row : batch.sample_indices[static_cast<std::size_t>(row)];
}

/// The corners of a box for programs, [[x, y], ...], and for people, "x,y x,y x,y x,y".
Prediction::Json list_corners(const Quad& quad);
std::string format_corners(const Quad& quad);

/// A prediction or a label for people and tables: "cat", "3.25".
std::string format_answer(const Prediction::Json& answer);

}  // namespace ptrain
