#include "core/ops/training/muon_update.h"

#include "core/ops/math/muon.h"
#include "core/ops/require.h"

namespace ptrain {

std::string MuonUpdate::attributes() const {
  const OptimizerSettings& s = attributes_.settings;
  return fmt::format("{}x{} {} momentum={} weight_decay={} clip_norm={}", attributes_.rows, attributes_.columns,
                     enum_name(s.muon_scale), s.momentum, attributes_.segment.decay ? s.weight_decay : 0.0f,
                     s.clip_norm);
}

std::vector<TensorDesc> MuonUpdate::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, OptimizerUpdate::count, OptimizerUpdate::count);
  require(attributes_.segment.count == attributes_.rows * attributes_.columns, "{} elements do not fit {}x{}",
          attributes_.segment.count, attributes_.rows, attributes_.columns);
  require(!is_absent(inputs[Input::moment1]), "momentum is missing");
  return {};
}

Cost MuonUpdate::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> /*outputs*/) const {
  const auto elements = static_cast<double>(attributes_.segment.count),
             side = static_cast<double>(gram_side(attributes_));
  const double products = 4 * elements * side + 2 * side * side * side;
  const bool low = attributes_.segment.low_offset >= 0;
  const auto gradient = static_cast<double>(element_size(inputs[low ? Input::grad_low : Input::grad_f32].dtype));
  const double moved = elements * (4 * sizeof(float) + gradient);
  return {NewtonSchulz::steps * products + 10 * elements,
          moved + NewtonSchulz::steps * (6 * elements + 4 * side * side) * sizeof(float)};
}

}  // namespace ptrain
