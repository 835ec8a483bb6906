#include "core/ops/quantization/quantize.h"

#include "core/ops/quantization/require_int8.h"

namespace ptrain {

std::vector<TensorDesc> Quantize::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "x");
  require_format(attributes_, "y");
  return {{attributes_.dtype, inputs[0].shape}};
}

std::vector<TensorDesc> Dequantize::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_quantized(inputs[0], attributes_, "x");
  return {{DType::f32, inputs[0].shape}};
}

}  // namespace ptrain
