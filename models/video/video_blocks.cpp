#include "models/video/video_blocks.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/ops/linear.h"
#include "core/ops/tensor/select.h"

#include <fmt/ranges.h>

#include <cmath>

namespace ptrain {
namespace {

ModelVariable matrix(const std::string& name, std::int64_t inputs, std::int64_t outputs, const Initializer& start) {
  return make_variable(name + ".weight", Shape{outputs, inputs}, start);
}

}  // namespace

bool is_tiny(const Config& config) {
  if (config.model.size != ModelSize::tiny && config.model.size != ModelSize::base) {
    fail_usage("model.size: {} has {}, got {}", config.model.entry.name, fmt::join(video_size_names, " and "),
               enum_name(config.model.size));
  }
  return config.model.size == ModelSize::tiny;
}

VideoSpec video_spec(const Config& config, const DatasetInfo& data) {
  return {config.model.classes, data.max_frames, static_cast<float>(config.model.dropout)};
}

void VideoBlocks::add_inputs(std::int64_t rows) {
  rows_ = rows;
  const auto add_input = [&](const char* name, Shape shape) {
    return graph_.add_input(name, {DType::f32, std::move(shape)});
  };
  rgb_ = add_input(tensor_names::rgb_features, {rows, max_frames_, rgb_features_per_frame});
  audio_ = add_input(tensor_names::audio_features, {rows, max_frames_, audio_features_per_frame});
  mask_ = add_input(tensor_names::frame_mask, {rows, max_frames_});
  add_rng();
}

Initializer VideoBlocks::start(std::int64_t inputs) { return normal_start(std::sqrt(2 / static_cast<float>(inputs))); }

ValueId VideoBlocks::project(const std::string& name, ValueId x, std::int64_t outputs) {
  const ValueId weight = parameter(matrix(name, channels(x), outputs, start(channels(x))));
  return add(name, std::make_shared<Linear>(), {x, weight});
}

ValueId VideoBlocks::dense(const std::string& name, ValueId x, std::int64_t outputs) {
  return linear(name, x, matrix(name, channels(x), outputs, start(channels(x))),
                make_variable(name + ".bias", Shape{outputs}, constant_start(0)));
}

ValueId VideoBlocks::exclude_padding(const std::string& name, ValueId x, Shape shape) {
  constexpr float excluded = -3e4f;  // fp16 has it
  const auto is_padding = std::make_shared<Compare>(CompareAttributes{Comparison::equal, 0});
  const ValueId padding = add(name + ".padding", is_padding, {reshape(name + ".frames", mask_, std::move(shape))});
  return add(name, std::make_shared<Where>(WhereAttributes{excluded}), {padding, no_value, x});
}

}  // namespace ptrain
