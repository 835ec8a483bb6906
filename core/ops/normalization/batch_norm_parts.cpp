#include "core/ops/normalization/batch_norm_parts.h"

#include "core/ops/normalization/batch_norm.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

/// Checks data [...,C]; returns the descriptor of its per-channel values.
TensorDesc require_data(const TensorDesc& x) {
  require_floating(x, "x");
  require(x.shape.rank() >= 2, "expected data [...,C], got {}", x.to_string());
  return {DType::f32, {x.shape[-1]}};
}

}  // namespace

std::string BatchNormFinalize::attributes() const {
  return fmt::format("count={} epsilon={:g} momentum={:g}", attributes_.count, attributes_.epsilon,
                     attributes_.momentum);
}

std::vector<TensorDesc> BatchNormFinalize::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 6, 6);
  require(attributes_.count > 1, "batch statistics need more than one value per channel");
  require(inputs[sum].shape.rank() == 1, "expected sums [C], got {}", inputs[sum].to_string());
  const TensorDesc channels{DType::f32, inputs[sum].shape};
  require_channels(inputs, sum, running_var, channels);
  return {channels, channels, channels, channels};
}

std::string BatchNormApply::attributes() const {
  return attributes_.activation == Activation::none ? "" : std::string(to_string(attributes_.activation));
}

std::vector<TensorDesc> BatchNormApply::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 6, 6);
  require_norm_activation(attributes_.activation);
  const TensorDesc channels = require_data(inputs[x]);
  require_channels(inputs, scale, offset, channels);
  if (!is_absent(inputs[residual])) require_desc(inputs[residual], inputs[x], "residual");
  require(is_absent(inputs[residual_scale]) == is_absent(inputs[residual_offset]),
          "expected a residual's scale and offset, or neither");
  if (!is_absent(inputs[residual_scale])) {
    require(!is_absent(inputs[residual]), "a scale without its residual");
    require_channels(inputs, residual_scale, residual_offset, channels);
  }
  if (!attributes_.mask) return {inputs[x]};
  require_gate(attributes_.activation, inputs[x]);
  return {inputs[x], mask_desc(inputs[x])};
}

Cost BatchNormApply::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const double operations = 2 + (attributes_.activation != Activation::none) + !is_absent(inputs[residual]) +
                            2 * !is_absent(inputs[residual_scale]);
  return {operations * static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> BatchNormGradApply::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 7, 7);
  const TensorDesc channels = require_data(inputs[x]);
  require_desc(inputs[dz], inputs[x], "dz");
  require_channels(inputs, gamma, dbeta, channels);
  return {inputs[x]};
}

Cost BatchNormGradApply::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {5 * static_cast<double>(inputs[x].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
