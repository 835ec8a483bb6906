#include "core/ops/training/optimizer_update.h"

#include <fmt/format.h>

#include <stdexcept>

namespace ptrain {

int moment_count(const OptimizerSettings& settings) {
  const int velocity = settings.momentum == 0.0f ? 0 : 1;
  switch (settings.kind) {
    case OptimizerKind::adamw:
    case OptimizerKind::lamb:
    case OptimizerKind::adam:
    case OptimizerKind::muon:
      return 2;
    case OptimizerKind::sgd:
      return 0;
    case OptimizerKind::momentum:
    case OptimizerKind::lars:
      return velocity;
    case OptimizerKind::adagrad:
      return 1;
    case OptimizerKind::rmsprop:
      return 1 + velocity + (settings.centered ? 1 : 0);
  }
  throw std::logic_error("internal error: unknown optimizer");
}

std::string OptimizerUpdate::attributes() const {
  const std::string scale = settings_.lr_scale == 1.0f ? "" : fmt::format(" lr_scale={}", settings_.lr_scale);
  return fmt::format("{} parameters={} weight_decay={} clip_norm={}{}{}", enum_name(settings_.kind), segments_.size(),
                     settings_.weight_decay, settings_.clip_norm, scale,
                     counted_ == UpdateCount::later ? " not_last" : "");
}

std::vector<TensorDesc> OptimizerUpdate::infer(std::span<const TensorDesc> inputs) const {
  if (inputs.size() != count) throw std::invalid_argument("wrong number of inputs");
  return {};
}

Cost OptimizerUpdate::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> /*outputs*/) const {
  const int moments = !is_absent(inputs[moment1]) + !is_absent(inputs[moment2]) + !is_absent(inputs[moment3]);
  const auto element = [&](int input) {
    return static_cast<double>(element_size(inputs[static_cast<std::size_t>(input)].dtype));
  };
  Cost cost;
  for (const ParameterSegment& segment : segments_) {
    const auto elements = static_cast<double>(segment.count);
    const bool has_low = segment.low_offset >= 0;
    cost.flops += elements * (moments >= 2 ? 14 : 6);
    cost.bytes += elements * (2 * element(master) * (1 + moments) + element(has_low ? grad_low : grad_f32) +
                              (has_low ? element(low) : 0));
  }
  return cost;
}

}  // namespace ptrain
