#include "models/vision/text_recognizer.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"

namespace ptrain {

void declare_characters(Graph& graph, Mode mode, std::int64_t rows, std::int64_t max_length) {
  if (!is_deployed(mode)) graph.add_input(tensor_names::characters, {DType::i32, Shape{rows, max_length}});
}

void require_steps(const std::string& name, ImageSize size, std::int64_t steps, std::int64_t max_length) {
  if (max_length <= steps) return;
  fail_usage(
      "data.max_length: {} characters need {} steps, but {} makes {} of images {} px wide; expected at most {}, or "
      "wider images (data.image_size)",
      max_length, max_length, name, steps, size.width, steps);
}

}  // namespace ptrain
