#include "core/ops/image/normalize_image.h"

#include "core/ops/quantization/require_int8.h"

namespace ptrain {
namespace {

constexpr std::int64_t most_padding = 3;  // channels

}  // namespace

std::string NormalizeImage::attributes() const {
  std::string text = fmt::format("channels={} dtype={}", attributes_.channels, to_string(attributes_.dtype));
  if (attributes_.format) text += fmt::format(" y={}", attributes_.format->to_string());
  return text;
}

std::vector<TensorDesc> NormalizeImage::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  const Shape& x = inputs[0].shape;
  require(inputs[0].dtype == DType::u8 && x.rank() == 4 && x[3] > 0 && x[3] % 3 == 0,
          "expected pixels u8[N,H,W,3k], got {}", inputs[0].to_string());
  require(attributes_.channels >= x[3] && attributes_.channels <= x[3] + most_padding,
          "expected {} to {} output channels, got {}", x[3], x[3] + most_padding, attributes_.channels);
  if (attributes_.format) {
    require_format(*attributes_.format, "y");
    require(attributes_.dtype == attributes_.format->dtype, "expected the format's dtype, got {}",
            to_string(attributes_.dtype));
  } else {
    require(is_floating(attributes_.dtype), "expected a floating-point output, got {}", to_string(attributes_.dtype));
  }
  return {{attributes_.dtype, {x[0], x[1], x[2], attributes_.channels}}};
}

Cost NormalizeImage::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2 * static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
