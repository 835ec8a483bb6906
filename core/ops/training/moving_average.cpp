#include "core/ops/training/moving_average.h"

#include <fmt/format.h>

#include <stdexcept>

namespace ptrain {

std::string MovingAverage::attributes() const { return fmt::format("decay={}", decay_); }

std::vector<TensorDesc> MovingAverage::infer(std::span<const TensorDesc> inputs) const {
  if (inputs[average].shape != inputs[x].shape) throw std::invalid_argument("the two tensors differ in shape");
  if (inputs[updates] != TensorDesc{DType::f32, Shape{1}}) throw std::invalid_argument("updates is not f32[1]");
  return {};
}

}  // namespace ptrain
